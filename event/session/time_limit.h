// SO_ASYNC_SEND_TIMEOUT and SO_ASYNC_RECV_TIMEOUT: how long the operations of one direction may take.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>
#include <memory>

#include "event/engine/deadline.h"
#include "event/queue/notice.h"
#include "event/session/post_times.h"

namespace exs {

// The limit that was asked for; accepted sockets inherit it.
struct TimeLimitWish {
  exs_timeout_t timeout{};  // ns is 0: no limit
  std::shared_ptr<EventQueue> queue;

  [[nodiscard]] bool is_set() const noexcept { return timeout.ns > 0; }
};

// The limit of one socket. Holds a slot of the queue for its notices.
class TimeLimit {
 public:
  // Null: no slot is free. Thread: any.
  static std::shared_ptr<TimeLimit> create(const TimeLimitWish& wish, proto::Direction direction,
                                           const std::shared_ptr<KernelDescriptor>& number);
  // A limit without notices.
  explicit TimeLimit(const TimeLimitWish& wish) : TimeLimit(wish, nullptr) {}
  TimeLimit(const TimeLimitWish& wish, std::shared_ptr<Notice> notice)
      : timeout_(wish.timeout), notice_(std::move(notice)) {}
  ~TimeLimit() {
    if (notice_) notice_->end();
  }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  [[nodiscard]] std::uint64_t ns() const noexcept { return static_cast<std::uint64_t>(timeout_.ns); }
  [[nodiscard]] bool once() const noexcept { return (timeout_.flags & EXS_TIMEOUT_ONCE) != 0; }
  [[nodiscard]] bool cancels() const noexcept { return (timeout_.flags & EXS_TIMEOUT_CANCEL) != 0; }
  // Thread: shard.
  void report_late(std::uint32_t late) const {
    if (notice_) notice_->report({.bytes = 0, .last_offset = 0, .transfers = late});
  }

 private:
  const exs_timeout_t timeout_;
  const std::shared_ptr<Notice> notice_;
};

// The session whose operations are watched. Thread: shard.
class LateOperations {
 public:
  // Ends the operations that were posted until `posted_until_ns`. True: some end when the peer has answered, and
  // are to be looked at again.
  virtual bool end_late(proto::Direction direction, std::uint64_t posted_until_ns) = 0;
  // Calls `report`, which may end for want of memory.
  virtual void contain_report(const std::function<void()>& report) = 0;

 protected:
  ~LateOperations() = default;
};

// Watches the operations of one direction of a session. Only operations with a time of their post count:
// without a limit none has one, so that a post reads no clock. Thread: shard.
class LateWatch {
 public:
  LateWatch(Shard& shard, LateOperations& operations, proto::Direction direction)
      : shard_(shard), operations_(operations), direction_(direction) {}

  // Null: no limit. `owner` as for Deadline. The thread that makes the session may also call it, before other
  // threads know the session.
  void set(std::shared_ptr<TimeLimit> limit, const std::shared_ptr<void>& owner);
  [[nodiscard]] const std::shared_ptr<TimeLimit>& limit() const noexcept { return limit_; }

  void posted(std::uint64_t posted_ns, const std::shared_ptr<void>& owner);
  void ended(std::uint64_t posted_ns) {
    shard_.assert_held();
    times_.remove(posted_ns);
  }

 private:
  void report_if_late(std::uint64_t now_ns);
  void wait_until(std::uint64_t at_ns);

  Shard& shard_;
  LateOperations& operations_;
  const proto::Direction direction_;
  bool awaits_peer_ = false;
  std::shared_ptr<TimeLimit> limit_;
  std::weak_ptr<void> owner_;
  PostTimes times_;
  Deadline due_{[this](std::uint64_t now_ns) {
    operations_.contain_report([this, now_ns] { report_if_late(now_ns); });
  }};
  std::uint64_t told_until_ns_ = 0;  // the operations posted until then are in a notice
};

}  // namespace exs
