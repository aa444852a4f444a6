// The two processes, and their messages beside the RDMA connection.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <memory>

#include "perf/baselines/verbs/methods.h"
#include "tools/common/child_process.h"
#include "tools/common/failure.h"

namespace verbs_baseline {

// One end of a socket pair that carries whole plain values.
class Line {
 public:
  explicit Line(int descriptor) : descriptor_(descriptor) {}
  ~Line() { close(descriptor_); }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  template <typename Value>
  void tell(const Value& value) const {
    if (send(descriptor_, &value, sizeof value, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof value))
      tools::fail("cannot tell the other end", errno);
  }
  // Throws Exit if the other end has gone; it has printed the reason.
  template <typename Value>
  Value hear() const {
    Value value{};
    hear(&value, sizeof value);
    return value;
  }

 private:
  void hear(void* value, std::size_t length) const;
  const int descriptor_;
};

// Starts `body` in a process of its own, pinned to the second core; this process goes to the first. A child that ends before this object
// is an error here, even in a call that sleeps.
class ProcessPair {
 public:
  ProcessPair(const Settings& settings, const std::function<void(const Line&)>& body);
  ~ProcessPair();
  ProcessPair(const ProcessPair&) = delete;
  ProcessPair& operator=(const ProcessPair&) = delete;

  [[nodiscard]] const Line& line() const { return *line_; }
  // Call before the connection ends: the child would report that as a fault.
  void end() { child_.reset(); }
  [[nodiscard]] bool pinned() const { return pinned_; }

 private:
  std::unique_ptr<Line> line_;
  std::unique_ptr<tools::ChildProcess> child_;
  bool pinned_;
};

}  // namespace verbs_baseline
