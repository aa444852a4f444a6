// How a thread waits for requests, messages and the ends of peers: it drives the shard for a moment, then sleeps until that rings.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>
#include <new>

#include "event/message/endpoint.h"
#include "event/queue/callers_events.h"

namespace exs {
namespace {

// Asking for the time costs as much as a look at shared memory.
constexpr unsigned kLooksPerTime = 8;
// A long message is read no slower than that, where it pays to look for its end.
constexpr std::uint64_t kSlowestBytesPerNs = 4;
constexpr std::uint64_t kPatienceNsMost = 2'000'000;
// Looks before the engine takes over for a program that sleeps on the descriptor.
constexpr int kLooksPerArm = 4;

}  // namespace

// The condition of a waiting thread.
class Endpoint::Waiting {
 public:
  // Works without the lock. Once true, it stays true.
  virtual bool is_over() = 0;
  // Makes the shard ring `nap` when the condition may have become true. Thread: shard. False: it is true
  // already. `is_early`: at the first sign of it.
  virtual bool watch(Nap& nap, bool is_early) = 0;
  virtual void unwatch(Nap& nap) = 0;
  // How much longer than usual a thread is to look for it: nothing may arrive before all of a long message has been read.
  [[nodiscard]] virtual std::uint64_t patience_ns() const { return 0; }

 protected:
  ~Waiting() = default;
};

void Endpoint::look_at_arrivals() {
  if (!shard_->poll_memory(true, ReadyPorts())) drive();
}

void Endpoint::drive() {
  brief_looks_.looked_at_all();
  shard_->drive(shard_->clock().now_ns(), true);
}

// Arrivals in shared memory are found at once, without asking for the time. `take` runs in the step that polls memory, if one does.
template <typename Take>
void Endpoint::look_first(unsigned looks, Take&& take) {
  if (!brief_looks_.are_due() || !(looks_briefly(looks) || shard_->poll_memory(true, ReadyPorts(), take)))
    drive();
}

// False: the thread has to drive.
bool Endpoint::looks_briefly(unsigned looks) {
  CallersEvents none;
  return shard_->look_briefly(looks, none, none.is_full);
}

bool Endpoint::found_at_first(Waiting& waiting) {
  look_first(kBriefLooks, [] {});
  return waiting.is_over();
}

bool Endpoint::found_by_driving(Waiting& waiting, std::uint64_t now_ns) {
  shard_->drive(now_ns, true);
  for (unsigned i = 1; i < kLooksPerTime && !waiting.is_over(); ++i) {
    if (!looks_briefly(kBriefLooks)) shard_->drive(now_ns, true);
  }
  return waiting.is_over();
}

// Returns when the wait is over, or the thread has looked long enough in vain.
std::uint64_t Endpoint::spin(Waiting& waiting, std::uint64_t start_ns, std::uint64_t deadline_ns) {
  const std::uint64_t spin_ns = options_.spin_ns + waiting.patience_ns();
  std::uint64_t now_ns = start_ns;
  std::uint64_t arrivals = shard_->arrivals();
  std::uint64_t end_ns = start_ns + spin_ns;
  do {
    if (found_by_driving(waiting, now_ns)) break;
    now_ns = shard_->clock().now_ns();
    // The rest of a partial message may arrive soon.
    if (arrivals != shard_->arrivals()) {
      arrivals = shard_->arrivals();
      end_ns = now_ns + spin_ns;
    }
  } while (now_ns < std::min(end_ns, deadline_ns));
  return now_ns;
}

Status Endpoint::wait_for(Waiting& waiting, std::int64_t timeout_ns) {
  if (waiting.is_over() || found_at_first(waiting)) {
    spin_choice_.took(1);
    return Status();
  }
  const std::uint64_t start_ns = shard_->clock().now_ns();
  const std::uint64_t deadline_ns =
      timeout_ns < 0 ? kNoDeadline : start_ns + static_cast<std::uint64_t>(timeout_ns);
  const bool spins = options_.spin_ns > 0 && spin_choice_.is_to_spin();
  std::uint64_t now_ns = start_ns;
  bool has_slept = false;  // in the end
  Status status;
  do {
    if (spins) now_ns = spin(waiting, now_ns, deadline_ns);
    has_slept = !waiting.is_over();
    if (has_slept && now_ns < deadline_ns) status = sleep_once(waiting, spins, now_ns, deadline_ns);
  } while (status.ok() && now_ns < deadline_ns && !waiting.is_over());
  if (!waiting.is_over()) return status.ok() ? Status(ETIMEDOUT) : status;
  spin_choice_.took(1);
  spin_choice_.ended(spins, has_slept, start_ns, now_ns);
  return Status();
}

// Moves `now_ns` on.
Status Endpoint::sleep_once(Waiting& waiting, bool spins_on, std::uint64_t& now_ns,
                            std::uint64_t deadline_ns) {
  auto nap = take_nap();
  Status status;
  nap->begin();
  bool is_due = false;
  shard_->inspect([&] { is_due = !waiting.watch(*nap, spins_on); });
  // Events from before watch() rang no nap.
  if (!is_due && !waiting.is_over()) status = nap->sleep(WaitLimit::until(deadline_ns));
  shard_->inspect([&] { waiting.unwatch(*nap); });
  nap->end();
  give_back(std::move(nap));
  now_ns = shard_->clock().now_ns();
  return status;
}

Status Endpoint::wait(std::span<Request* const> requests, std::size_t enough, std::int64_t timeout_ns) {
  class Ends final : public Waiting {
   public:
    Ends(std::span<Request* const> requests, std::size_t enough) : requests_(requests), enough_(enough) {}

    // Those at the front that have ended are not looked at again.
    bool is_over() override {
      while (front_ < requests_.size() && has_ended(requests_[front_])) ++front_;
      std::size_t ended = front_;
      for (std::size_t i = front_; ended < enough_ && !needs_all() && i < requests_.size(); ++i) {
        if (has_ended(requests_[i])) ++ended;
      }
      return ended >= enough_;
    }
    // Where all have to end, one wakes the thread: the first, or the last, before which the others have mostly ended.
    bool watch(Nap& nap, bool is_early) override {
      if (is_over()) return false;
      const auto watch_one = [&](Request* request) {
        if (has_ended(request)) return false;
        request->nap = &nap;
        return needs_all();
      };
      const auto open = requests_.subspan(front_);
      if (is_early) {
        static_cast<void>(std::any_of(open.begin(), open.end(), watch_one));
      } else {
        static_cast<void>(std::any_of(open.rbegin(), open.rend(), watch_one));
      }
      return true;
    }
    void unwatch(Nap& /*nap*/) override {
      for (Request* const request : requests_) {
        if (request != nullptr) request->nap = nullptr;
      }
    }
    [[nodiscard]] std::uint64_t patience_ns() const override {
      std::uint64_t longest = 0;
      for (const Request* const request : requests_.subspan(front_)) {
        if (!has_ended(request) && request->kind == Request::Kind::kSend)
          longest = std::max<std::uint64_t>(longest, request->operation.memory.length_bytes);
      }
      return std::min(longest / kSlowestBytesPerNs, kPatienceNsMost);
    }

   private:
    [[nodiscard]] bool needs_all() const noexcept { return enough_ == requests_.size(); }
    static bool has_ended(const Request* request) noexcept {
      return request == nullptr || request->state.load(std::memory_order_acquire) == Request::State::kEnded;
    }

    const std::span<Request* const> requests_;
    const std::size_t enough_;
    std::size_t front_ = 0;
  };
  Ends ends(requests, enough);
  return wait_for(ends, timeout_ns);
}

// For conditions without a request, which any step of the endpoint may make true.
template <typename Look>
Status Endpoint::wait_until(Look&& look, std::int64_t timeout_ns) {
  class Looking final : public Waiting {
   public:
    Looking(Endpoint& endpoint, Look& look) : endpoint_(endpoint), look_(look) {}

    bool is_over() override { return is_over_ = is_over_ || look_(); }
    bool watch(Nap& nap, bool /*is_early*/) override {
      endpoint_.watchers_.push_back(&nap);
      return true;
    }
    void unwatch(Nap& nap) override { std::erase(endpoint_.watchers_, &nap); }

   private:
    Endpoint& endpoint_;
    Look& look_;
    bool is_over_ = false;
  };
  Looking looking(*this, look);
  return wait_for(looking, timeout_ns);
}

Status Endpoint::probe_and_wait(const match::Criteria& criteria, exm_status_t* status, exm_message_t* taken,
                                std::int64_t timeout_ns) {
  Status gone;
  const Status waited = wait_until(
      [&] {
        if (probe(criteria, status, taken)) return true;
        int error = 0;
        shard_->inspect([&] { error = why_none_comes(criteria); });
        gone = Status(error);
        return error != 0;
      },
      timeout_ns);
  return waited.ok() ? gone : waited;
}

Status Endpoint::peek(exm_request_t* request, std::int64_t timeout_ns) {
  shard_->inspect([&] {
    if (is_peeked_) return;
    is_peeked_ = true;
    requests_.visit(Request::State::kEnded, [&](Request& one) { ended_.push_back(one.handle()); });
  });
  return wait_until(
      [&] {
        bool is_found = false;
        shard_->inspect([&] {
          while (!is_found && !ended_.empty()) {
            *request = ended_.pop_front();
            is_found = requests_.find(*request) != nullptr;
          }
        });
        return is_found;
      },
      timeout_ns);
}

// ---------------------------------------------------------------- requests that poll() tells of

void Endpoint::note_polled(Request& request) {
  request.next_ended = nullptr;
  (last_polled_ == nullptr ? first_polled_ : last_polled_->next_ended) = &request;
  last_polled_ = &request;
  polled_.store(polled_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  if (bell_) bell_->ring();
}

std::size_t Endpoint::take_polled(std::span<exm_completion_t> told) {
  std::size_t count = 0;
  for (; count < told.size() && first_polled_ != nullptr; ++count) {
    Request& request = *first_polled_;
    first_polled_ = request.next_ended;
    if (first_polled_ == nullptr) last_polled_ = nullptr;
    const bool is_receive = request.kind == Request::Kind::kReceive;
    told[count] = {.user = request.listener.user,
                   .match = request.label.bits,
                   .data = request.label.data,
                   .length = request.status.length,
                   .peer = request.status.source,
                   .error = request.status.error,
                   .flags = (is_receive ? EXM_RECEIVED : 0U) | (request.label.has_data ? EXM_DATA : 0U),
                   .reserved = 0};
    requests_.free(request);
  }
  polled_.store(polled_.load(std::memory_order_relaxed) - static_cast<std::uint32_t>(count),
                std::memory_order_relaxed);
  return count;
}

Result<std::size_t> Endpoint::poll(std::span<exm_completion_t> told, std::int64_t timeout_ns) {
  std::size_t count = 0;
  const auto take = [&] {
    if (polled_.load(std::memory_order_acquire) == 0) return false;
    shard_->inspect([&] { count = take_polled(told); });
    return count > 0;
  };
  if (!brief_looks_.take_needs_look() && take()) return count;
  look_first(1, [&] { count = take_polled(told); });
  if (count > 0 || take() || timeout_ns == 0) return count;
  const Status waited = wait_until(take, timeout_ns);
  if (!waited.ok() && waited != Status(ETIMEDOUT)) return failure(waited);
  return count;
}

Result<int> Endpoint::poll_descriptor() {
  Status status = shard_->start_engine_for_outsiders();
  if (!status.ok()) return failure(status);
  shard_->inspect([&] {
    if (bell_) return;
    auto made = Bell::make(shard_);
    if (made) {
      bell_ = std::move(*made);
    } else {
      status = made.error();
    }
  });
  if (!status.ok()) return failure(status);
  return bell_->descriptor();
}

bool Endpoint::arm_poll() {
  bool is_quiet = false;
  bool is_armed = false;
  for (int looks = 0; looks < kLooksPerArm && !is_armed; ++looks) {
    shard_->inspect([&] {
      if (bell_) bell_->silence();
    });
    shard_->drive(shard_->clock().now_ns(), false);
    shard_->inspect([&] {
      is_armed = bell_ == nullptr || first_polled_ != nullptr || bell_->arm();
      is_quiet = first_polled_ == nullptr;
    });
  }
  // Constant arrivals leave no moment to sleep, or another thread polls.
  if (!is_armed) shard_->leave_to_engine();
  return is_quiet;
}

Status Endpoint::wait_for_peers(std::int64_t timeout_ns) {
  return wait_until(
      [&] {
        bool is_over = true;
        shard_->inspect([&] {
          for (const auto& one : made_peers_) is_over = is_over && one->is_over();
        });
        return is_over;
      },
      timeout_ns);
}

std::unique_ptr<Nap> Endpoint::take_nap() {
  {
    LockGuard guard(naps_lock_);
    if (!naps_.empty()) {
      auto nap = std::move(naps_.back());
      naps_.pop_back();
      return nap;
    }
  }
  return std::make_unique<Nap>(shard_);
}

void Endpoint::give_back(std::unique_ptr<Nap> nap) noexcept {
  LockGuard guard(naps_lock_);
  try {
    naps_.push_back(std::move(nap));
  } catch (const std::bad_alloc&) {
    return;  // the next sleep makes one
  }
}

}  // namespace exs
