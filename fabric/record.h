// What is remembered of a transfer until its end is told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "exs/msg.h"

namespace exs::fabric {

struct Record {
  void* context = nullptr;
  std::uint64_t flags = 0;   // of the completion: FI_SEND or FI_RECV, FI_TAGGED or FI_MSG
  std::uint64_t room = 0;    // of receives: what is left of it, where there are many messages to one
  std::byte* at = nullptr;   // FI_MULTI_RECV: where the next message goes
  int peer = 0;              // and from whom it is
  std::size_t min_room = 0;  // with less left it is given back
  exm_request_t request = 0;
  bool reports = false;     // successes, too
  bool is_dropped = false;  // receives nothing, however long the message is
  bool is_multi = false;    // FI_MULTI_RECV: message after message, until there is little room left
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
  // Null: there is none.
  template <typename Test>
  Record* find(Test&& test) {
    for (Record& record : made_) {
      if (!record.is_free && test(record)) return &record;
    }
    return nullptr;
  }

 private:
  std::deque<Record> made_;  // places do not move
  Record* first_free_ = nullptr;
};

}  // namespace exs::fabric
