// The state of a transfer until its completion is reported.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "exs/msg.h"

namespace exs::fabric {

struct Record {
  void* context = nullptr;
  std::uint64_t flags = 0;   // of the completion: FI_SEND or FI_RECV, FI_TAGGED or FI_MSG
  std::uint64_t room = 0;    // of receives: bytes of the buffer; FI_MULTI_RECV: those that are left
  std::byte* at = nullptr;   // FI_MULTI_RECV: where the next message goes
  int peer = 0;              // FI_MULTI_RECV: and its sender
  std::size_t min_room = 0;  // with less room left the buffer is returned
  exm_request_t request = 0;
  bool reports = false;     // also if it succeeds
  bool is_dropped = false;  // receives nothing, however long the message is
  bool is_multi = false;    // FI_MULTI_RECV: one message after the other, until little room is left
  bool is_free = true;
  Record* next_free = nullptr;
};

// Thread: one at a time.
class RecordPool {
 public:
  Record& take() {
    if (first_free_ == nullptr) first_free_ = &made_.emplace_back();
    Record& record = *first_free_;
    first_free_ = record.next_free;
    record = {};
    record.is_free = false;
    return record;
  }
  void give_back(Record& record) noexcept {
    record.is_free = true;
    record.next_free = first_free_;
    first_free_ = &record;
  }
  // Returns NULL if there is none.
  template <typename Test>
  Record* find(Test&& test) {
    for (Record& record : made_) {
      if (!record.is_free && test(record)) return &record;
    }
    return nullptr;
  }

 private:
  std::deque<Record> made_;  // a deque, so records do not move
  Record* first_free_ = nullptr;
};

}  // namespace exs::fabric
