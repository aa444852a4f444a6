// SPDX-License-Identifier: BSD-2-Clause
#include "event/engine/simulated_time.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "base/kernel.h"
#include "base/unique_fd.h"

namespace exs {
namespace {

constexpr std::uint64_t kPatienceMs = 20;
constexpr std::size_t kWatchedMax = 8;

void raise(int event) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = kernel::write(event, &one, sizeof one);
}

void lower(int event) {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto taken = kernel::read(event, &count, sizeof count);
}

// Returns how many descriptors are ready now. Lets the signals in.
Result<int> look(std::span<pollfd> watched, const sigset_t* signals) {
  timespec none{};
  const int ready = kernel::ppoll(watched.data(), watched.size(), &none, signals);
  if (ready < 0) return failure(errno);
  return ready;
}

// A thread that may wake counts as awake.
bool is_ready(std::span<const pollfd> watched) {
  std::array<pollfd, kWatchedMax> now{};
  std::copy(watched.begin(), watched.end(), now.begin());
  return kernel::poll(now.data(), watched.size(), 0) > 0;
}

}  // namespace

struct SimulatedTime::Sleep {
  std::span<const pollfd> watched;
  std::uint64_t until_ns = kNoDeadline;
  UniqueFd kick;  // wakes the sleeper when the clock has moved; none while that was not needed
};

// Ends the participation of a thread when the thread ends.
struct SimulatedTime::Participation {
  Participation() = default;
  Participation(const Participation&) = delete;
  Participation& operator=(const Participation&) = delete;
  ~Participation() {
    if (time != nullptr) time->leave(round);
  }
  SimulatedTime* time = nullptr;
  std::uint64_t round = 0;
};

class SimulatedTime::SimulatedAlarm final : public Alarm {
 public:
  SimulatedAlarm(SimulatedTime& time, UniqueFd event) : time_(time), event_(std::move(event)) {
    LockGuard guard(time_.mutex_);
    time_.alarms_.push_back(this);
  }
  ~SimulatedAlarm() override {
    LockGuard guard(time_.mutex_);
    std::erase(time_.alarms_, this);
  }
  SimulatedAlarm(const SimulatedAlarm&) = delete;
  SimulatedAlarm& operator=(const SimulatedAlarm&) = delete;

  [[nodiscard]] int descriptor() const noexcept override { return event_.get(); }
  void set(std::uint64_t after_ns) override {
    LockGuard guard(time_.mutex_);
    lower(event_.get());
    due_ns = time_.clock_.now_ns() + after_ns;
  }
  void ring() override {
    LockGuard guard(time_.mutex_);
    go_off();
  }
  void clear() override { lower(event_.get()); }
  void go_off() {
    due_ns = kNoDeadline;
    raise(event_.get());
  }

  std::uint64_t due_ns = kNoDeadline;  // guarded by the mutex of its time

 private:
  SimulatedTime& time_;
  const UniqueFd event_;
};

SimulatedTime::Participation& SimulatedTime::participation() {
  thread_local Participation own;
  return own;
}

SimulatedTime::~SimulatedTime() {
  if (participation().time == this) participation().time = nullptr;
}

TimeSource SimulatedTime::source() {
  const auto read = [](void* time) { return static_cast<SimulatedTime*>(time)->clock_.look(); };
  return {.clock = Clock(read, this), .sleeper = *this, .is_simulated = true};
}

Result<std::unique_ptr<Alarm>> SimulatedTime::make_alarm() {
  UniqueFd event(kernel::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event.valid()) return failure(errno);
  return std::make_unique<SimulatedAlarm>(*this, std::move(event));
}

void SimulatedTime::join() {
  Participation& own = participation();
  if (own.time == this && own.round == round_) return;
  own.time = this;
  own.round = round_;
  ++members_;
}

void SimulatedTime::leave(std::uint64_t round) {
  LockGuard guard(mutex_);
  if (round != round_) return;
  --members_;
  if (sleeps_.size() >= members_) move_on();
}

bool SimulatedTime::move_on() {
  const std::uint64_t now_ns = clock_.now_ns();
  std::uint64_t next_ns = kNoDeadline;
  for (const Sleep* const sleep : sleeps_) {
    if (sleep->until_ns <= now_ns || is_ready(sleep->watched)) return true;
    next_ns = std::min(next_ns, sleep->until_ns);
  }
  for (const SimulatedAlarm* const alarm : alarms_) next_ns = std::min(next_ns, alarm->due_ns);
  if (next_ns == kNoDeadline) return false;
  clock_.advance_to(next_ns);
  for (SimulatedAlarm* const alarm : alarms_) {
    if (alarm->due_ns <= next_ns) alarm->go_off();
  }
  for (const Sleep* const sleep : sleeps_) {
    if (sleep->until_ns <= next_ns) raise(sleep->kick.get());
  }
  return true;
}

Result<int> SimulatedTime::sleep(std::span<pollfd> watched, std::uint64_t& left_ns, const sigset_t* signals) {
  if (interrupts_()) return failure(EINTR);
  Result<int> ready = look(watched, signals);
  if (!ready || *ready > 0) return ready;
  Sleep own{watched, kNoDeadline, UniqueFd()};
  LockGuard guard(mutex_);
  join();
  if (left_ns != kNoDeadline)
    own.until_ns = clock_.now_ns() + std::min(left_ns, kNoDeadline - clock_.now_ns());
  sleeps_.push_back(&own);
  while (ready && *ready == 0 && clock_.now_ns() < own.until_ns) {
    const bool all_sleep = sleeps_.size() >= members_;
    const bool moved = all_sleep && move_on();
    if (clock_.now_ns() >= own.until_ns) break;
    // Alone, it need not wait for those whom an alarm has woken.
    ready =
        moved && members_ == 1 ? look(watched, signals) : wait(own, watched, signals, all_sleep && !moved);
  }
  std::erase(sleeps_, &own);
  const std::uint64_t now_ns = clock_.now_ns();
  if (own.until_ns != kNoDeadline) left_ns = own.until_ns > now_ns ? own.until_ns - now_ns : 0;
  return ready;
}

// Sleeps in real time, until the clock has moved or a descriptor is ready.
Result<int> SimulatedTime::wait(Sleep& own, std::span<pollfd> watched, const sigset_t* signals,
                                bool for_ever) {
  std::array<pollfd, kWatchedMax> polled{};
  std::copy(watched.begin(), watched.end(), polled.begin());
  if (!own.kick.valid()) own.kick = UniqueFd(kernel::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  polled[watched.size()] = {own.kick.get(), POLLIN,
                            0};  // without a descriptor for it, patience ends the sleep
  const bool has_limit = !for_ever || !own.kick.valid();
  timespec patience = to_timespec(kPatienceMs * kNsPerMs);
  const std::uint64_t round = round_;
  mutex_.unlock();
  const int woken =
      kernel::ppoll(polled.data(), watched.size() + 1, has_limit ? &patience : nullptr, signals);
  const int error = errno;
  mutex_.lock();
  lower(own.kick.get());
  if (woken == 0 && round == round_ && sleeps_.size() < members_) leave_out_others();
  participation().round = round_;  // it is counted as one that sleeps
  if (woken < 0) return failure(error);
  return woken == 0 ? Result<int>(0) : look(watched, nullptr);
}

void SimulatedTime::leave_out_others() {
  ++round_;
  members_ = sleeps_.size();
  for (const Sleep* const sleep : sleeps_) raise(sleep->kick.get());
}

}  // namespace exs
