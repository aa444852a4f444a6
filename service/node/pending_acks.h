// Acknowledgements that are due: each source has accepted something and has not acknowledged it. Thread: holder of the node's lock.
//
// Design notes
//  1. One acknowledgement covers all that arrived in one step.
//  2. A request is usually answered soon, and its reply acknowledges the request. The receiver of a reply often sends the next request,
//     which acknowledges the reply. So these get an acknowledgement of their own only if nothing has left by the next wait.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

#include "base/check.h"
#include "base/room.h"

namespace exs::svc {

class AckSource {
 public:
  // Acknowledges all that is still due.
  virtual void acknowledge() = 0;
  bool is_due = false;       // of PendingAcks: listed for this step
  bool is_deferred = false;  // listed for the next wait

 protected:
  ~AckSource() = default;
};

// There is room for all sources, so add() needs no memory.
class PendingAcks {
 public:
  // Call it for each source, once, and forget() when it goes.
  void enroll() {
    make_room(due_, sources_ + 1);
    make_room(deferred_, sources_ + 1);
    ++sources_;
  }
  void add(AckSource& source) noexcept { add(due_, source, source.is_due); }
  void add_deferred(AckSource& source) noexcept { add(deferred_, source, source.is_deferred); }
  void forget(AckSource& source) {
    if (source.is_due) std::erase(due_, &source);
    if (source.is_deferred) std::erase(deferred_, &source);
    source.is_due = source.is_deferred = false;
    EXS_CHECK(sources_ > 0);
    --sources_;
  }
  void flush() { flush(due_, &AckSource::is_due); }
  // Called before the program waits.
  void flush_deferred() { flush(deferred_, &AckSource::is_deferred); }

 private:
  static void add(std::vector<AckSource*>& list, AckSource& source, bool& is_listed) noexcept {
    if (is_listed) return;
    list.push_back(&source);
    is_listed = true;
  }
  static void flush(std::vector<AckSource*>& list, bool AckSource::*is_listed) {
    while (!list.empty()) {
      AckSource* const source = list.back();
      EXS_DEBUG_CHECK(source->*is_listed);
      list.pop_back();
      source->*is_listed = false;
      source->acknowledge();
    }
  }
  std::size_t sources_ = 0;
  std::vector<AckSource*> due_;
  std::vector<AckSource*> deferred_;
};

}  // namespace exs::svc
