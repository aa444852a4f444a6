// Where a node gets what the housekeeper has found for it. Thread: any.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "service/names/record.h"

namespace exs::svc {

class Sink {
 public:
  struct Found {
    std::uint64_t search = 0;
    std::optional<Record> record;             // what the service says itself, if it was asked
    std::vector<sockaddr_storage> addresses;  // none: nobody until the limit
  };
  // `ring` is called until close() returns, with the sink's lock and the housekeeper's held, so it may call neither. False: it could
  // not, and is to be called again.
  explicit Sink(std::function<bool()> ring) : ring_(std::move(ring)) {}
  void put(Found found);
  bool ring();
  std::vector<Found> take();
  void close();

 private:
  std::mutex lock_;
  std::function<bool()> ring_;
  std::vector<Found> found_;
};

}  // namespace exs::svc
