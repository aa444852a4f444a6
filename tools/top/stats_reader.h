// The statistics page of another process (base/stats_page.h), mapped for reading. The process may be anybody's and its page a forgery:
// what is read is copied, checked, and made fit for a terminal. Thread: the owner's.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/stats_page.h"
#include "tools/common/proc_folder.h"
#include "tools/top/shown_connection.h"

namespace top {

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
  // The target of a descriptor is a page.
  static bool is_page(std::string_view target);
  // Empty: the descriptor is no page of the process, or none that this user may read.
  static std::optional<StatsReader> map(const tools::ProcFolder& folder, int descriptor);
  StatsReader(StatsReader&& other) noexcept;
  StatsReader& operator=(StatsReader&& other) noexcept;
  ~StatsReader();

  // The process still has the page.
  [[nodiscard]] bool is_there(const tools::ProcFolder& folder) const;
  [[nodiscard]] Snapshot read() const;

 private:
  StatsReader(const std::byte* start, int descriptor) : start_(start), descriptor_(descriptor) {}

  const std::byte* start_;
  int descriptor_;  // of the process
};

}  // namespace top
