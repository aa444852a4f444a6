#include "event/engine/engine.h"

#include <poll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <system_error>

#include "event/engine/shard.h"
#include "src/base/clock.h"
#include "src/base/kernel.h"
#include "src/base/log.h"

namespace exs {
namespace {

constexpr std::uint64_t kGraceMaxNs = 4'000'000;
constexpr std::uint64_t kPushNs = 800'000;  // setting a timer costs microseconds in a virtual machine

constexpr std::uint64_t kTurnNs = 100'000;  // how long bytes are held back when no thread comes

}  // namespace

Status Engine::start() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // inherited by the thread
  Status status;
  try {
    thread_ = std::thread([this] { run(); });
    bound_.wait(false);
  } catch (const std::system_error& error) {
    log(LogLevel::kError, "engine thread: %s; raise the limit of processes (ulimit -u)", error.what());
    status = Status(EAGAIN);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return status;
}

void Engine::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  wake();
  thread_.join();
}

void Engine::set_alarm(std::uint64_t after_ns) {
  const itimerspec when{{0, 0}, to_timespec(after_ns)};
  kernel::timerfd_settime(alarm_fd_.get(), 0, &when, nullptr);
}

// The flag last: while it is up no leader sets the alarm, so it must not outlive an alarm that was read away.
void Engine::clear_alarm() {
  std::uint64_t expirations = 0;
  [[maybe_unused]] const auto taken = kernel::read(alarm_fd_.get(), &expirations, sizeof expirations);
  alarm_set_ = false;
}

void Engine::leader_left() {
  if (parked_ && !alarm_set_.exchange(true)) set_alarm(grace_ns_.load(std::memory_order_relaxed));
}

void Engine::run() {
  pthread_setname_np(pthread_self(), "exs-engine");
  {
    LockGuard guard(shard_.lock_);
    for (Shard::Place& place : shard_.places_) {
      if (SingleIssuer* const issuer = place.port->single_issuer()) issuer->bind_thread();
    }
  }
  bound_ = true;
  bound_.notify_all();
  std::uint64_t seen_drives = 0;
  std::uint64_t seen_glances = 0;
  while (!stopping_) {
    shard_.end_overdue_turn();
    const std::uint64_t glances = shard_.waiter_glances_.load(std::memory_order_relaxed);
    if (shard_.led_) {
      park();
      rang_.set();
    } else if (shard_.waiter_drives_.load(std::memory_order_relaxed) != seen_drives ||
               glances != seen_glances) {
      stand_by();
      rang_.set();
      // The alarm went off, so nobody has driven for a while; who only glances does not push it on.
      seen_drives = shard_.waiter_drives_.load(std::memory_order_relaxed);
      seen_glances = glances;
    } else {
      watch();
    }
  }
}

// Leaders that come and go all the time are trusted to come back for longer than the first one.
void Engine::park() {
  const std::uint64_t seen = shard_.waiter_glances_ + shard_.waiter_drives_;
  parked_ = true;
  if (shard_.led_ && !stopping_) {
    pollfd alarm{alarm_fd_.get(), POLLIN, 0};
    kernel::poll(&alarm, 1, -1);
  }
  parked_ = false;
  clear_alarm();
  const bool came_back = shard_.waiter_glances_ + shard_.waiter_drives_ != seen;
  const std::uint64_t grace_ns = grace_ns_.load(std::memory_order_relaxed);
  grace_ns_ = came_back ? std::min(2 * grace_ns, kGraceMaxNs) : kTakeOverNs;
}

void Engine::stand_by() {
  set_alarm(kTakeOverNs);
  standing_by_ = true;
  pollfd alarm{alarm_fd_.get(), POLLIN, 0};
  if (!stopping_) kernel::poll(&alarm, 1, -1);
  standing_by_ = false;
  clear_alarm();
}

void Engine::turn_must_end(bool at_once) {
  if (at_once || !standing_by_) set_alarm(kTurnNs);
}

void Engine::waiter_drives(std::uint64_t now_ns) {
  if (!standing_by_.load(std::memory_order_relaxed) || now_ns - pushed_ns_ < kPushNs) return;
  pushed_ns_ = now_ns;
  set_alarm(kTakeOverNs);
}

void Engine::watch() {
  std::uint64_t deadline_ns = 0;
  std::uint64_t now_ns = monotonic_ns();
  shard_.lock_.lock();
  shard_.drive(now_ns, rang_);
  deadline_ns = shard_.next_deadline_ns();
  shard_.sleeping_until_ns_ = deadline_ns;
  const bool armed = shard_.begin_sleep();
  Shard::WatchedFds watched;
  const nfds_t count = shard_.watched_fds(watched, alarm_fd_.get());
  shard_.release_and_combine();
  rang_.set();
  if (!armed) return;

  timespec limit{};
  if (deadline_ns != kNoDeadline) {
    now_ns = monotonic_ns();
    limit = to_timespec(deadline_ns > now_ns ? deadline_ns - now_ns : 0);
  }
  kernel::ppoll(watched.data(), count, deadline_ns == kNoDeadline ? nullptr : &limit, nullptr);
  --shard_.sleepers_;
  rang_ = Shard::rang_among(watched, count);
  if (watched[count - 1].revents != 0) clear_alarm();
}

}  // namespace exs
