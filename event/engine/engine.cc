// SPDX-License-Identifier: BSD-2-Clause
#include "event/engine/engine.h"

#include <algorithm>
#include <cstdint>
#include <new>
#include <system_error>

#include "base/no_signals.h"
#include "event/engine/wait_limit.h"
#include "src/log/log.h"

namespace exs {
namespace {

constexpr std::uint64_t kGraceMaxNs = 4'000'000;
constexpr std::uint64_t kPostponeNs = 800'000;  // to set a timer costs microseconds in a virtual machine

constexpr std::uint64_t kBurstNs = 100'000;  // how long bytes are held back when no thread polls

}  // namespace

Status Engine::start() {
  Status status;
  try {
    const NoSignals signals;
    thread_ = std::thread([this] { run(); });
    started_.wait(false);
  } catch (const std::system_error& error) {
    log(LogLevel::kError,
        "engine thread: {}; raise the limit of processes (ulimit -u), or of locked memory (ulimit -l) if the "
        "program locks all its memory",
        error.what());
    status = Status(ENOMEM);  // the kernel's EAGAIN would mean a full queue
  } catch (const std::bad_alloc&) {
    status = Status(ENOMEM);
  }
  return status;
}

void Engine::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  wake();
  thread_.join();
}

// Clears the flag last: while it is set no leader sets the alarm, so it must not stay set without an alarm.
void Engine::clear_alarm() {
  alarm_->clear();
  alarm_set_ = false;
}

void Engine::leader_left() {
  if (parked_ && !alarm_set_.exchange(true)) alarm_->set(grace_ns_.load(std::memory_order_relaxed));
}

void Engine::run() {
  pthread_setname_np(pthread_self(), "exs-engine");
  client_.engine_started();
  started_ = true;
  started_.notify_all();
  std::uint64_t seen_drives = 0;
  std::uint64_t seen_memory_polls = 0;
  while (!stopping_) {
    client_.end_overdue_burst();
    const std::uint64_t memory_polls = watch_.waiter_memory_polls();
    if (watch_.is_led()) {
      park();
      ready_.set();
    } else if (watch_.waiter_drives() != seen_drives || memory_polls != seen_memory_polls) {
      stand_by();
      ready_.set();
      // The alarm went off, so no thread has driven for a while; a thread that polls only memory does not
      // postpone the alarm.
      seen_drives = watch_.waiter_drives();
      seen_memory_polls = memory_polls;
    } else {
      watch_ports();
    }
  }
}

// The engine waits longer for the next leader if leaders come and go all the time.
void Engine::park() {
  const std::uint64_t seen = watch_.waiter_polls();
  parked_ = true;
  if (watch_.is_led() && !stopping_) sleep_until_alarm();
  parked_ = false;
  clear_alarm();
  const bool came_back = watch_.waiter_polls() != seen;
  const std::uint64_t grace_ns = grace_ns_.load(std::memory_order_relaxed);
  grace_ns_ = came_back ? std::min(2 * grace_ns, kGraceMaxNs) : kTakeOverNs;
}

void Engine::stand_by() {
  alarm_->set(kTakeOverNs);
  standing_by_ = true;
  if (!stopping_) sleep_until_alarm();
  standing_by_ = false;
  clear_alarm();
}

void Engine::sleep_until_alarm() {
  pollfd alarm{alarm_->descriptor(), POLLIN, 0};
  std::uint64_t no_limit = kNoDeadline;
  [[maybe_unused]] const auto woken = time_.sleeper.sleep({&alarm, 1}, no_limit, nullptr);
}

void Engine::end_burst_soon(bool at_once) {
  if (at_once || !standing_by_) alarm_->set(kBurstNs);
}

void Engine::note_waiter_drive(std::uint64_t now_ns) {
  if (!standing_by_.load(std::memory_order_relaxed) || now_ns - postponed_ns_ < kPostponeNs) return;
  postponed_ns_ = now_ns;
  alarm_->set(kTakeOverNs);
}

void Engine::watch_ports() {
  PortSleep sleep;
  const bool sleeps = client_.drive_before_sleep(ready_, sleep);
  ready_.set();
  if (!sleeps) return;

  sleep.watched.add(alarm_->descriptor());
  std::uint64_t left_ns = kNoDeadline;
  if (sleep.due_ns != kNoDeadline) left_ns = WaitLimit::until(sleep.due_ns).left_ns(time_.clock.now_ns());
  [[maybe_unused]] const auto woken = time_.sleeper.sleep(sleep.watched.descriptors(), left_ns, nullptr);
  watch_.end_sleep();
  ready_ = sleep.watched.ready();
  if (sleep.watched.own_is_ready()) clear_alarm();
}

}  // namespace exs
