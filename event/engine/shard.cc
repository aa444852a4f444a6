// SPDX-License-Identifier: BSD-2-Clause
#include "event/engine/shard.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/backoff.h"
#include "base/contain.h"
#include "base/kernel.h"
#include "base/room.h"
#include "base/undo.h"
#include "src/proto/connection.h"

namespace exs {
namespace {

// A poster that has not polled the network for this long is busy with other work.
constexpr std::uint64_t kOverdueNs = 100'000;
constexpr int kPollsMax = 4;
constexpr unsigned kMemoryPollsPerDrive = 8;
// The limits of a burst: posts and bytes that are held back.
constexpr std::uint32_t kBurstPostsMax = 64;
constexpr std::size_t kBurstBytesMax = 65'536;

}  // namespace

Result<std::shared_ptr<Shard>> Shard::create(ProviderSet& providers, const TimeSource& time,
                                             std::shared_ptr<StatsPage> stats) {
  UniqueFd wake_fd(kernel::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_fd.valid()) return failure(errno);
  auto alarm = time.sleeper.make_alarm();
  if (!alarm) return failure(alarm.error());
  std::shared_ptr<Shard> shard(
      new Shard(providers, time, std::move(stats), std::move(wake_fd), std::move(*alarm)));
  if (const Status status = shard->ports_.open(providers, *shard); !status.ok()) return failure(status);
  return shard;
}

Shard::Shard(ProviderSet& providers, const TimeSource& time, std::shared_ptr<StatsPage> stats,
             UniqueFd wake_fd, std::unique_ptr<Alarm> alarm)
    : providers_(providers),
      stats_page_(std::move(stats)),
      time_(time),
      watch_(std::move(wake_fd)),
      engine_(*this, watch_, time, std::move(alarm)) {}

Shard::~Shard() {
  stop_engine();
  LockGuard guard(lock_);
  clients_.destroy_all();
}

Status Shard::start_engine_always() {
  LockGuard guard(engine_mutex_);
  if (engine_runs_) return Status();
  const Status status = engine_.start();
  engine_runs_ = status.ok();
  return status;
}

void Shard::stop_engine() {
  LockGuard guard(engine_mutex_);
  engine_.stop();
}

Port* Shard::port(Role role) {
  lock_.assert_held();
  return ports_.player(role);
}

// A thread that already sleeps on the ports does not watch the new one.
Result<Readiness*> Shard::readiness() {
  lock_.assert_held();
  if (Readiness* const open = ports_.readiness()) return open;
  auto opened = ports_.open_readiness();
  if (opened && watch_.has_sleepers()) {
    if (watch_.is_led()) watch_.wake_leader();
    engine_.wake();
  }
  return opened;
}

// ---------------------------------------------------------------- posting

void Shard::post(TransferClient& client, proto::Direction direction, const proto::Operation& operation) {
  if (!lock_.try_lock()) {
    submit(Command{client.shared_from_this(), direction, operation, nullptr});
    return;
  }
  const bool stirred = run_commands();
  const FollowUp follow_up = client.carry_out(direction, operation);
  const bool waits = follow_up == FollowUp::kAtLeisure && joins_burst(operation.memory.length_bytes);
  if (stirred || (follow_up != FollowUp::kNothing && !waits)) settle();
  release_and_combine();
}

// A thread that neither posts again nor polls for a while sends no burst.
bool Shard::joins_burst(std::size_t bytes) {
  const std::uint64_t now_ns = time_.clock.now_ns();
  const bool is_first = now_ns - last_post_ns_ > kSameBurstNs;
  last_post_ns_ = now_ns;
  ++posts_in_burst_;
  bytes_in_burst_ += bytes;
  if (is_first || bytes_in_burst_ > kBurstBytesMax || posts_in_burst_ % kBurstPostsMax == 0) {
    bytes_in_burst_ = 0;
    return false;
  }
  combining_pending();
  return true;
}

void Shard::execute(std::unique_ptr<Task> task) {
  submit(Command{nullptr, proto::Direction::kSend, {}, std::move(task)});
}

void Shard::submit(Command command) {
  commands_.push(std::move(command));
  if (!lock_.try_lock()) return;  // the holder carries it out after it has released the lock
  run_commands();
  settle();
  release_and_combine();
}

// They are other threads' commands: what this thread has done stays done, whatever becomes of them.
void Shard::combine() noexcept {
  while (commands_.waiting() && lock_.try_lock()) {
    contain(
        [this]() EXS_NO_THREAD_SAFETY_ANALYSIS {
          run_commands();
          settle();
        },
        [] {});
    lock_.unlock();
  }
}

bool Shard::run_commands() {
  if (!commands_.waiting()) return false;
  while (commands_.waiting()) {
    commands_.take_all(running_);
    for (Command& command : running_.commands) run(command);
    running_.commands.clear();
    while (const auto task = running_.late_tasks.pop_front()) task->run(*this);
  }
  return true;
}

void Shard::run(Command& command) {
  if (command.client) {
    command.client->carry_out(command.direction, command.operation);
  } else {
    command.task->run(*this);
  }
}

// ---------------------------------------------------------------- driving

void Shard::drive(std::uint64_t now_ns, bool keeps_engine_off, const ReadyPorts& ready) {
  if (!lock_.try_lock()) return;
  if (keeps_engine_off) {
    watch_.note_drive();
    engine_.note_waiter_drive(now_ns);
  }
  bursts_.set_poster_overdue(false);
  poll_and_settle(now_ns, ready);
  release_and_combine();
}

void Shard::poll_and_settle(std::uint64_t now_ns, const ReadyPorts& ready) {
  polled_ns_ = now_ns;
  ++polls_;
  const bool is_turn_of_all = memory_polls_ >= kMemoryPollsPerDrive;
  memory_polls_ = 0;
  run_commands();
  end_burst();
  ports_.poll_all(now_ns, is_turn_of_all ? all_ports() : ready);
  settle();
  if (!timers_.is_quiet(now_ns)) {
    timers_.fire(now_ns);
    settle();
  }
  keep_armed(now_ns);
}

// Stops while a thread sleeps on armed ports. They must be armed again then, which may need a poll of
// everything.
bool Shard::poll_memory_and_settle(const ReadyPorts& ready) {
  if (++memory_polls_ >= kMemoryPollsPerDrive || watch_.has_sleepers()) return false;
  ++polls_;
  run_commands();
  end_burst();
  const bool all = ports_.poll_memory(polled_ns_, ready);
  settle();
  ports_.disarm();
  return all;
}

bool Shard::look_briefly(unsigned looks, CallersEvents& caller, const bool& is_full) {
  if (!lock_.try_lock()) return false;
  const unsigned most = std::min(looks, ports_.looks_in_a_row());
  const bool is_brief = most > 0 && !commands_.waiting() && !watch_.has_sleepers();
  if (is_brief) {
    watch_.note_memory_poll();
    ++polls_;
    unsigned left = most;
    while (!ports_.has_news() && --left > 0 && !commands_.waiting()) continue;
    if (left > 0 && (take_news_for(caller, is_full) || has_remains())) settle();
    if (left != most) end_brief_look();
  }
  release_and_combine();
  return is_brief;
}

// What a look does besides, unless it found something at once.
void Shard::end_brief_look() {
  bursts_.set_poster_overdue(false);
  end_burst();
  ports_.disarm();
}

bool Shard::take_news() noexcept {
  lock_.assert_held();
  if (ports_.looks_in_a_row() == 0 || !ports_.has_news()) return false;
  contain(
      [this]() EXS_NO_THREAD_SAFETY_ANALYSIS {
        const bool is_enough = false;
        if (ports_.take_news(is_enough) || has_remains()) settle();
      },
      [] {});
  return true;
}

bool Shard::take_news_for(CallersEvents& caller, const bool& is_full) {
  caller_ = &caller;
  const Undo leave([this]() EXS_NO_THREAD_SAFETY_ANALYSIS { caller_ = nullptr; });
  return ports_.take_news(is_full);
}

// Repeats until no step has consequences. This ends because it takes no new input from the network.
void Shard::settle() {
  while (take_completions()) continue;
  retired_.clear();
  clients_.destroy_removed();
}

bool Shard::take_completions() {
  return ports_.take_completions([this](const Completion& completion) EXS_NO_THREAD_SAFETY_ANALYSIS {
    CompletionClient* const client = clients_.find(completion.link);
    if (client != nullptr) client->complete(completion);
  });
}

std::uint64_t Shard::next_deadline_ns() {
  return std::min(timers_.next_deadline_ns(), ports_.next_deadline_ns());
}

// ---------------------------------------------------------------- sleeping

// Other threads may sleep already, and this one may not poll again soon, so completions that a port has taken
// in meanwhile must be handled here.
bool Shard::begin_sleep() {
  const bool quiet = ports_.arm();
  if (quiet) {
    watch_.begin_sleep();
  } else {
    settle();
  }
  return quiet;
}

void Shard::keep_armed(std::uint64_t now_ns) {
  if (!watch_.has_sleepers()) return ports_.disarm();
  if (!ports_.is_armed()) return;
  for (int i = 0; i < kPollsMax; ++i) {
    if (ports_.arm()) return;
    ports_.poll_all(now_ns, all_ports());
    settle();
  }
  // Arrivals come too fast to sleep, so the sleeping threads are woken.
  if (watch_.is_led()) watch_.wake_leader();
  engine_.wake();
}

Status Shard::sleep_as_leader(WaitLimit& limit, const sigset_t* signals, ReadyPorts& ready) {
  ready.set();
  lock_.lock();
  const bool sleeps = begin_sleep();
  memory_polls_ = 0;
  const std::uint64_t due_ns = next_deadline_ns();
  sleeping_until_ns_ = due_ns;
  WatchedPorts watched = ports_.watched();
  release_and_combine();
  if (!sleeps) return Status();  // the caller polls again

  const std::uint64_t now_ns = due_ns != kNoDeadline || limit.is_moment() ? time_.clock.now_ns() : 0;
  const std::uint64_t due_in_ns = WaitLimit::until(due_ns).left_ns(now_ns);
  const std::uint64_t asked_ns = std::min(due_in_ns, limit.left_ns(now_ns));
  std::uint64_t left_ns = asked_ns;
  watched.add(watch_.wake_fd());
  const Result<int> woken = time_.sleeper.sleep(watched.descriptors(), left_ns, signals);
  watch_.end_sleep();
  if (asked_ns != kNoDeadline) limit.slept(asked_ns - left_ns);
  if (!woken) return woken.error();
  if (*woken > 0 && due_in_ns > 0) ready = watched.ready();
  if (watched.own_is_ready()) watch_.clear_wake();
  return Status();
}

bool Shard::begin_outside_sleep() {
  lock_.assert_held();
  run_commands();
  end_burst();
  if (!begin_sleep()) return false;
  memory_polls_ = 0;
  if (const std::uint64_t due_ns = next_deadline_ns(); due_ns == kNoDeadline || due_ns > time_.clock.now_ns())
    return true;
  watch_.end_sleep();
  return false;
}

void Shard::end_outside_sleep() {
  lock_.assert_held();
  watch_.end_sleep();
}

WatchedPorts Shard::watched_ports() {
  lock_.assert_held();
  return ports_.watched();
}

void Shard::stop_leading() {
  watch_.stop_leading();
  if (watch_.has_followers()) {
    engine_.wake();  // no thread watches, but followers sleep, so the engine watches at once
  } else {
    engine_.leader_left();
  }
}

// ---------------------------------------------------------------- the engine thread's part

void Shard::engine_started() {
  LockGuard guard(lock_);
  ports_.bind_engine_thread();
}

// A thread that spins frees the lock for moments only, and would keep the engine from it for long.
bool Shard::lock_unless_driven() {
  const std::uint64_t drives = watch_.waiter_drives();
  for (Backoff backoff; !lock_.try_lock(); backoff.wait()) {
    if (watch_.waiter_drives() != drives) return false;
  }
  return true;
}

bool Shard::drive_before_sleep(const ReadyPorts& ready, PortSleep& sleep) {
  if (!lock_unless_driven()) return false;  // the engine stands by instead
  const std::uint64_t now_ns = time_.clock.now_ns();
  poll_and_settle(now_ns, ready);
  sleep.due_ns = next_deadline_ns();
  sleeping_until_ns_ = sleep.due_ns;
  const bool sleeps = begin_sleep();
  sleep.watched = ports_.watched();
  release_and_combine();
  return sleeps;
}

void Shard::end_overdue_burst() {
  if (!bursts_.holds_bytes()) return;
  if (!lock_unless_driven()) return;  // the driving thread ends it
  bursts_.set_poster_overdue(time_.clock.now_ns() - polled_ns_ >= kOverdueNs);
  end_burst();
  settle();
  release_and_combine();
}

// ---------------------------------------------------------------- what sessions use

std::uint64_t Shard::attach(std::shared_ptr<CompletionClient> client) {
  lock_.assert_held();
  // Room for the remains of each client: the link of its token, and perhaps that of an earlier token.
  make_room(retired_, retired_.size() + 2 * (clients_.slots() + 1));
  return clients_.add(std::move(client));
}

void Shard::detach(std::uint64_t token) {
  lock_.assert_held();
  clients_.remove(token);
}

void Shard::destroy_later(Retired retired) {
  lock_.assert_held();
  if (retired.link || retired.connection) retired_.push_back(std::move(retired));
}

void Shard::arm_timer(std::uint64_t deadline_ns, std::weak_ptr<TimerClient> client) {
  lock_.assert_held();
  timers_.arm(deadline_ns, std::move(client));
  if (deadline_ns >= sleeping_until_ns_) return;
  sleeping_until_ns_ = deadline_ns;  // so that the watching thread is woken once
  if (watch_.is_led()) watch_.wake_leader();
  engine_.wake();
}

void Shard::begin_burst(BurstClient& client) {
  lock_.assert_held();
  bursts_.join(client);
}

void Shard::leave_burst(BurstClient& client) {
  lock_.assert_held();
  bursts_.leave(client);
}

void Shard::combining_pending() {
  lock_.assert_held();
  if (bursts_.hold_bytes()) engine_.end_burst_soon(bursts_.poster_overdue());
}

// True: held-back bytes will leave soon: with the application's next poll or post, else by the engine that
// stands by.
bool Shard::is_expected() {
  lock_.assert_held();
  const bool is_first = bursts_.hold_bytes();
  if (engine_.stands_by() && !bursts_.poster_overdue()) return true;
  if (is_first) bursts_.hold_nothing();
  return false;
}

void Shard::end_burst() {
  posts_in_burst_ = 0;
  bytes_in_burst_ = 0;
  if (bursts_.end()) ports_.flush();
}

}  // namespace exs
