// The kernel descriptor behind an exs descriptor, and so its number. The socket and its session own it, and every event that names the
// number keeps it: the kernel may hand the number out again only when all are gone.
//
// Events come and go millions of times a second, so they are no owners. A queue counts those of its own in the descriptor, under its
// own lock, and the last owner leaves the descriptor to the queues that still hold events of it. There is room for the counts of two
// queues, those of sends and of receives; an event in another one keeps a DescriptorHold.
//
// An adopted descriptor is the application's, which may close it and get its number for another socket at any
// time: call is_there() before every use. A close between is_there() and the use cannot be excluded. The number
// of one of the library's own may be closed by mistake: whatever means to end it asks, too.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/drive_lock.h"
#include "base/socket_cookie.h"
#include "base/unique_fd.h"

namespace exs {

class NumberKeeper;

// Thread: any.
class KernelDescriptor {
 public:
  // A queue's count of the events that name the number.
  class Events {
   public:
    explicit Events(KernelDescriptor& owner) noexcept : owner_(owner) {}
    [[nodiscard]] KernelDescriptor& owner() const noexcept { return owner_; }
    // --- Requires the lock of the queue ---
    void add() noexcept {
      state_.store(state_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    // One has been dequeued. True: it was the last, and no owner is left: call KernelDescriptor::leave().
    [[nodiscard]] bool remove() noexcept {
      const std::uint32_t left = state_.load(std::memory_order_relaxed) - 1;
      // The last owner takes no lock if it finds the queue gone.
      state_.store(left, std::memory_order_release);
      return left == kAwaited;
    }
    // Likewise of a queue that nobody else refers to any more.
    [[nodiscard]] bool remove_at_end() noexcept {
      return state_.fetch_sub(1, std::memory_order_acq_rel) == (kAwaited | 1);
    }

    // No owner is left. True: there are events.
    [[nodiscard]] bool await() noexcept { return state_.fetch_or(kAwaited, std::memory_order_acq_rel) != 0; }

   private:
    friend class KernelDescriptor;
    static constexpr std::uint32_t kAwaited = 1U << 31;

    KernelDescriptor& owner_;
    std::atomic<std::uint64_t> queue_id_{0};
    std::atomic<std::uint32_t> state_{0};
    std::weak_ptr<NumberKeeper> queue_;
  };

  static std::shared_ptr<KernelDescriptor> own(UniqueFd descriptor);
  static std::shared_ptr<KernelDescriptor> adopt(int number, std::uint64_t cookie);
  KernelDescriptor(const KernelDescriptor&) = delete;
  KernelDescriptor& operator=(const KernelDescriptor&) = delete;

  // --- Requires the lock of `queue` ---
  // Null: there is no room for its count.
  [[nodiscard]] Events* events_in(NumberKeeper& queue, std::uint64_t queue_id) noexcept {
    if (EventCounts* const counts = counts_.load(std::memory_order_acquire)) {
      for (Events& events : counts->of_queues) {
        if (events.queue_id_.load(std::memory_order_relaxed) == queue_id) return &events;
      }
    }
    return make_events_in(queue, queue_id);
  }
  void hold() noexcept { users_.fetch_add(1, std::memory_order_relaxed); }
  // Ends a hold(), or: the last event of a queue has gone after the last owner.
  void leave() noexcept {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  [[nodiscard]] int number() const noexcept { return number_; }
  [[nodiscard]] bool adopted() const noexcept { return adopted_; }

  // Adopted: the identity of the socket.
  [[nodiscard]] std::uint64_t cookie() const noexcept { return cookie_.value_or(0); }
  // The number still means the socket it meant. A system call.
  [[nodiscard]] bool is_there() const noexcept { return means(cookie_); }
  // Ours: the number was closed by a plain close, so EXS_EVT_CLOSE says EBADF. Called once, before the close begins.
  void set_lost() noexcept { lost_.store(true, std::memory_order_release); }
  [[nodiscard]] bool is_lost() const noexcept { return lost_.load(std::memory_order_acquire); }
  // Adopted: the application has called exs_close, so the number is the library's from now on. Called once,
  // by the thread that removed the socket from the descriptor table.
  void take_over() noexcept {
    descriptor_ = UniqueFd(number_);
    ours_.store(true, std::memory_order_release);
  }
  // Adopted: if it was taken over, closes the socket at once. The number stays taken until the last reference
  // to this object is gone.
  void close_socket() const noexcept;
  // Ours: a listening socket listens no more, so another one may have its port although the number stays taken.
  void stop_listening() const noexcept;

 private:
  using Cookie = std::optional<std::uint64_t>;
  // Of the last owner.
  struct Retire {
    void operator()(KernelDescriptor* descriptor) const noexcept { descriptor->retire(); }
  };

  explicit KernelDescriptor(UniqueFd descriptor) noexcept
      : number_(descriptor.get()), cookie_(socket_cookie(number_)), descriptor_(std::move(descriptor)) {}
  KernelDescriptor(int number, std::uint64_t cookie) noexcept
      : number_(number), cookie_(cookie), adopted_(true) {}
  ~KernelDescriptor();
  [[nodiscard]] Events* make_events_in(NumberKeeper& queue, std::uint64_t queue_id) noexcept;
  void retire() noexcept;
  [[nodiscard]] bool means(const Cookie& cookie) const noexcept;

  const int number_;
  const Cookie cookie_;  // ours: empty if the kernel did not say, and then nothing is noticed
  const bool adopted_ = false;
  UniqueFd descriptor_;
  std::atomic<bool> lost_{false};
  std::atomic<bool> ours_{false};                      // adopted: taken over; written once, read by the shard
  mutable std::atomic<std::uint64_t> placeholder_{0};  // cookie of what has taken the socket's place
  // Made for the first event of a transfer: an idle socket has none.
  struct EventCounts {
    explicit EventCounts(KernelDescriptor& owner) noexcept : of_queues{Events(owner), Events(owner)} {}
    std::array<Events, 2> of_queues;
    LeafLock lock;  // of whoever gives a place to another queue
  };
  std::atomic<EventCounts*> counts_{nullptr};
  std::atomic<std::uint32_t> users_{1};  // the owners together, each hold, and each queue that was left it
};

// A queue whose events a descriptor counts.
class NumberKeeper : public std::enable_shared_from_this<NumberKeeper> {
 public:
  // Events::await(), with the lock of the queue held.
  virtual bool await_events(KernelDescriptor::Events& events) noexcept = 0;

 protected:
  NumberKeeper() = default;
  ~NumberKeeper() = default;
};

// Keeps the descriptor, but owns nothing. Its end takes no lock, so it may come while one of a queue is held.
class DescriptorHold {
 public:
  DescriptorHold() = default;
  explicit DescriptorHold(KernelDescriptor* descriptor) noexcept : descriptor_(descriptor) {
    if (descriptor_ != nullptr) descriptor_->hold();
  }
  DescriptorHold(DescriptorHold&& other) noexcept : descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  DescriptorHold& operator=(DescriptorHold&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~DescriptorHold() {
    if (descriptor_ != nullptr) descriptor_->leave();
  }

 private:
  KernelDescriptor* descriptor_ = nullptr;
};

}  // namespace exs
