// Where the name thread puts the search results of a node. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/drive_lock.h"
#include "service/names/record.h"

namespace exs::svc {

class Sink {
 public:
  struct Found {
    std::uint64_t search = 0;
    std::optional<Record> record;             // from the service itself, if it was asked
    std::vector<sockaddr_storage> addresses;  // empty: nothing was found within the limit
  };
  // `ring` is called until close() returns, with the locks of the sink and the name thread held, so it may call neither. It returns false
  // if it failed and has to be called again.
  explicit Sink(std::function<bool()> ring) : ring_(std::move(ring)) {}
  void put(Found found);
  bool ring();
  std::vector<Found> take();
  void close();

 private:
  Mutex lock_;
  std::function<bool()> ring_ EXS_GUARDED_BY(lock_);
  std::vector<Found> found_ EXS_GUARDED_BY(lock_);
};

}  // namespace exs::svc
