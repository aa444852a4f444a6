// The statistics page of another process (base/stats_page.h), mapped for reading. The process may be anybody's and its page a forgery:
// what is read is copied, checked, and made fit for a terminal. Thread: the owner's.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/stats_page.h"
#include "tools/common/proc_folder.h"

namespace top {

// A connection, as its record said at one moment. The texts are made when they are asked for, for there may be thousands of connections.
struct ShownConnection {
  std::uint32_t place = 0;  // of the record
  exs::stats::ConnectionRecord record;

  [[nodiscard]] std::string carrier() const;  // empty: not connected yet
  [[nodiscard]] std::string label() const;    // EXS_SO_LABEL
  [[nodiscard]] std::string kind() const;     // the label, or how its socket was made
  [[nodiscard]] std::string ours() const;     // an address
  [[nodiscard]] std::string peer() const;     // likewise
  [[nodiscard]] std::string refused() const;  // the faster way that does not carry it; empty: there is none
  [[nodiscard]] std::string fact() const;     // about that
  // "other-user"
  [[nodiscard]] const char* reason() const;
  [[nodiscard]] const char* cure() const;
};

// Errors that ended connections; those that differ in digits alone are one.
struct ShownError {
  std::uint64_t count = 0, first_ns = 0, last_ns = 0;
  int error = 0;
  std::string text;
};

struct Snapshot {
  std::string version;
  std::uint64_t began_ns = 0;
  std::uint64_t opened = 0;     // connections
  exs::stats::Counters closed;  // of those that have been closed
  std::vector<ShownConnection> connections;
  std::vector<ShownError> errors;  // the latest first
};

class StatsReader {
 public:
  // Empty: the process has no page, or none that this user may read.
  static std::optional<StatsReader> find(const tools::ProcFolder& folder);
  StatsReader(StatsReader&& other) noexcept;
  StatsReader& operator=(StatsReader&& other) noexcept;
  ~StatsReader();

  // The process still has the page.
  [[nodiscard]] bool is_there(const tools::ProcFolder& folder) const;
  [[nodiscard]] Snapshot read() const;

 private:
  StatsReader(const std::byte* start, int descriptor) : start_(start), descriptor_(descriptor) {}
  static std::optional<StatsReader> map(const tools::ProcFolder& folder, int descriptor);

  const std::byte* start_;
  int descriptor_;  // of the process
};

}  // namespace top
