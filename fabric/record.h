// The state of a transfer until its completion is reported.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "base/check.h"
#include "exs/msg.h"

namespace exs::fabric {

struct TransferState {
  void* context = nullptr;
  std::uint64_t flags = 0;   // of the completion: FI_SEND or FI_RECV, FI_TAGGED or FI_MSG
  std::uint64_t room = 0;    // of receives: bytes of the buffer; FI_MULTI_RECV: those that are left
  std::byte* at = nullptr;   // FI_MULTI_RECV: where the next message goes
  int peer = 0;              // FI_MULTI_RECV: and its sender
  std::size_t min_room = 0;  // with less room left the buffer is returned
  exm_request_t request = 0;
  bool reports = false;       // also if it succeeds
  bool is_dropped = false;    // receives nothing, however long the message is
  bool is_multi = false;      // FI_MULTI_RECV: one message after the other, until little room is left
  bool is_cancelled = false;  // FI_MULTI_RECV: no other message follows
  bool is_free = true;
};

struct TransferRecord : TransferState {
  exm_completion_t end{};          // in an UnreportedList: what is to be reported
  TransferRecord* next = nullptr;  // of free records, or of an UnreportedList
};

// Thread: one at a time.
class RecordPool {
 public:
  // Throws std::bad_alloc, and nothing has changed.
  TransferRecord& acquire() {
    make_ready();
    TransferRecord& record = *std::exchange(first_free_, first_free_->next);
    EXS_CHECK(record.is_free);
    static_cast<TransferState&>(record) = {};
    record.is_free = false;
    return record;
  }
  // The next acquire() needs no memory.
  void make_ready() {
    if (first_free_ == nullptr) first_free_ = &made_.emplace_back();
  }
  void release(TransferRecord& record) noexcept {
    EXS_CHECK(!record.is_free);
    record.is_free = true;
    record.next = first_free_;
    first_free_ = &record;
  }
  // Returns NULL if there is none.
  template <typename Test>
  TransferRecord* find(Test&& test) {
    for (TransferRecord& record : made_) {
      if (!record.is_free && test(record)) return &record;
    }
    return nullptr;
  }

 private:
  std::deque<TransferRecord> made_;  // a deque, so records do not move
  TransferRecord* first_free_ = nullptr;
};

// Transfers that have completed, oldest first, for whose report there was no memory. It needs none itself. Thread: one at a time.
class UnreportedList {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  void push_back(TransferRecord& record, const exm_completion_t& end) noexcept {
    EXS_CHECK(!record.is_free);
    record.end = end;
    record.next = nullptr;
    (empty() ? first_ : last_->next) = &record;
    last_ = &record;
  }
  // A record that is reported may be used again at once, so it leaves the list before.
  TransferRecord& take_front() noexcept { return *std::exchange(first_, first_->next); }
  // The record that take_front() returned.
  void put_back(TransferRecord& record) noexcept {
    if (empty()) last_ = &record;
    record.next = std::exchange(first_, &record);
  }

 private:
  TransferRecord* first_ = nullptr;
  TransferRecord* last_ = nullptr;
};

}  // namespace exs::fabric
