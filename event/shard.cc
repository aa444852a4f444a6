#include "event/shard.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "event/engine.h"
#include "event/session.h"

namespace exs {
namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
// Who has not looked at the network for so long does something else.
constexpr std::uint64_t kLateNs = 100'000;

}  // namespace

std::uint64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t deadline_after(std::uint64_t ns) {
  const std::uint64_t now_ns = monotonic_ns();
  return ns > kNoDeadline - now_ns ? kNoDeadline : now_ns + ns;
}

Result<std::shared_ptr<Shard>> Shard::create(Provider& provider) {
  UniqueFd wake_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  UniqueFd alarm_fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!wake_fd.valid() || !alarm_fd.valid()) return failure(errno);
  auto port = provider.open_port();
  if (!port) return failure(port.error());
  std::shared_ptr<Shard> shard(new Shard(provider, std::move(*port), std::move(wake_fd)));
  shard->engine_ = std::make_unique<Engine>(*shard, std::move(alarm_fd));
  return shard;
}

Shard::Shard(Provider& provider, std::unique_ptr<Port> port, UniqueFd wake_fd)
    : provider_(provider), port_(std::move(port)), wake_fd_(std::move(wake_fd)) {}

Shard::~Shard() {
  stop_engine();
  LockGuard guard(lock_);
  clients_.clear();
  detached_.clear();
}

Status Shard::start_engine() {
  LockGuard guard(engine_mutex_);
  if (engine_runs_) return Status();
  const Status status = engine_->start();
  engine_runs_ = status.ok();
  return status;
}

void Shard::stop_engine() {
  LockGuard guard(engine_mutex_);
  engine_->stop();
}

Port& Shard::port() {
  lock_.assert_held();
  return *port_;
}

// ---------------------------------------------------------------- posting

void Shard::post(const std::shared_ptr<Session>& session, proto::Direction direction,
                 const proto::Operation& operation) {
  if (!lock_.try_lock()) {
    submit(Command{session, direction, operation, nullptr});
    return;
  }
  run_commands();
  session->carry_out(direction, operation);
  settle();
  release_and_combine();
}

void Shard::execute(std::unique_ptr<Task> task) {
  submit(Command{nullptr, proto::Direction::kSend, {}, std::move(task)});
}

void Shard::submit(Command command) {
  commands_.push(std::move(command));
  if (!lock_.try_lock()) return;  // the holder finds it after letting go
  run_commands();
  settle();
  release_and_combine();
}

void Shard::release_and_combine() {
  bool more = true;
  while (more) {
    lock_.unlock();
    more = commands_.waiting() && lock_.try_lock();
    if (!more) return;
    run_commands();
    settle();
  }
}

void Shard::run_commands() {
  while (commands_.waiting()) {
    commands_.take(running_);
    for (Command& command : running_) run(command);
    running_.clear();
  }
}

void Shard::run(Command& command) {
  if (command.session) {
    command.session->carry_out(command.direction, command.operation);
  } else {
    command.task->run(*this);
  }
}

// ---------------------------------------------------------------- driving

void Shard::drive(std::uint64_t now_ns) {
  looked_ns_ = now_ns;
  run_commands();
  end_turn();
  port_->progress(now_ns);
  arrivals_.store(port_->arrivals(), std::memory_order_relaxed);
  settle();
  if (timers_.next_deadline_ns() > now_ns) return;
  timers_.fire(now_ns);
  settle();
}

// Until nothing follows from anything any more. Ends, because no new input is taken from the network here.
void Shard::settle() {
  for (;;) {
    port_->flush();
    const std::size_t count = port_->poll(completions_);
    if (count == 0) break;
    for (std::size_t i = 0; i < count; ++i) {
      const auto client = clients_.find(completions_[i].link);
      if (client != clients_.end()) client->second->complete(completions_[i]);
    }
  }
  remains_.clear();
  detached_.clear();
}

std::uint64_t Shard::next_deadline_ns() {
  return std::min(timers_.next_deadline_ns(), port_->next_deadline_ns());
}

void Shard::drive_as_waiter(std::uint64_t now_ns, bool counts) {
  if (!lock_.try_lock()) return;
  if (counts) {
    waiter_drives_.store(waiter_drives_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    engine_->waiter_drives(now_ns);
  }
  late_ = false;
  drive(now_ns);
  release_and_combine();
}

// ---------------------------------------------------------------- turns

void Shard::join_turn(TurnClient& client) {
  lock_.assert_held();
  in_turn_.push_back(&client);
}

void Shard::leave_turn(TurnClient& client) {
  lock_.assert_held();
  std::erase(in_turn_, &client);
  std::replace(turn_ends_.begin(), turn_ends_.end(), &client, static_cast<TurnClient*>(nullptr));
}

void Shard::bytes_held() {
  lock_.assert_held();
  if (held_.load(std::memory_order_relaxed)) return;
  held_ = true;
  engine_->turn_must_end(late_);
}

std::uint64_t Shard::looked_ns() {
  lock_.assert_held();
  return looked_ns_;
}

void Shard::end_turn() {
  if (in_turn_.empty()) return;
  held_ = false;
  turn_ends_.swap(in_turn_);
  for (std::size_t i = 0; i < turn_ends_.size(); ++i) {
    if (turn_ends_[i] != nullptr) turn_ends_[i]->turn_ended();
  }
  turn_ends_.clear();
  port_->flush();
}

void Shard::end_overdue_turn() {
  if (!held_) return;
  lock_.lock();
  late_ = monotonic_ns() - looked_ns_ >= kLateNs;
  end_turn();
  settle();
  release_and_combine();
}

// ---------------------------------------------------------------- leading

bool Shard::try_lead() {
  return !led_.exchange(true);
}

Status Shard::sleep_as_leader(std::uint64_t limit_ns, const sigset_t& signals) {
  lock_.lock();
  const std::uint64_t due_ns = next_deadline_ns();
  sleeping_until_ns_ = due_ns;
  release_and_combine();

  const std::uint64_t until_ns = std::min(due_ns, limit_ns);
  timespec limit{};
  if (until_ns != kNoDeadline) {
    const std::uint64_t now_ns = monotonic_ns();
    const std::uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    limit = {static_cast<time_t>(left_ns / kNsPerSecond), static_cast<long>(left_ns % kNsPerSecond)};
  }
  pollfd watched[2] = {{port_->wait_fd(), POLLIN, 0}, {wake_fd_.get(), POLLIN, 0}};
  const int ready = ::ppoll(watched, 2, until_ns == kNoDeadline ? nullptr : &limit, &signals);
  if (ready < 0) return Status(errno);
  if (watched[1].revents != 0) {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto taken = ::read(wake_fd_.get(), &count, sizeof count);
  }
  return Status();
}

void Shard::stop_leading() {
  led_ = false;
  if (followers_ > 0) {
    engine_->wake();  // nobody watches now and somebody sleeps: no millisecond of grace
  } else {
    engine_->leader_left();
  }
}

bool Shard::start_following() {
  ++followers_;
  if (led_) return true;
  --followers_;
  return false;
}

void Shard::stop_following() {
  --followers_;
}

void Shard::wake_leader() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_fd_.get(), &one, sizeof one);
}

// ---------------------------------------------------------------- what sessions use

std::uint64_t Shard::attach(std::shared_ptr<CompletionClient> client) {
  lock_.assert_held();
  const std::uint64_t token = next_token_++;
  clients_.emplace(token, std::move(client));
  return token;
}

void Shard::detach(std::uint64_t token) {
  lock_.assert_held();
  const auto client = clients_.find(token);
  if (client == clients_.end()) return;
  detached_.push_back(std::move(client->second));
  clients_.erase(client);
}

void Shard::bury(Remains remains) {
  lock_.assert_held();
  remains_.push_back(std::move(remains));
}

void Shard::arm_timer(std::uint64_t deadline_ns, std::weak_ptr<TimerClient> client) {
  lock_.assert_held();
  timers_.arm(deadline_ns, std::move(client));
  if (deadline_ns >= sleeping_until_ns_) return;
  sleeping_until_ns_ = deadline_ns;  // whoever watches sleeps too long, and is told so once
  if (led_) wake_leader();
  engine_->wake();
}

}  // namespace exs
