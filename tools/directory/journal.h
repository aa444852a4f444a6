// The file of a directory: a line for each record that was claimed or lost. Lines are appended, and the file is rewritten when most of it
// is obsolete. Records prove themselves, so a torn or changed line has no effect. Thread: one.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "base/status.h"
#include "base/unique_fd.h"
#include "tools/directory/leases.h"

namespace exs::svc {

class Journal {
 public:
  // An empty path means: no file.
  explicit Journal(std::string path) : path_(std::move(path)) {}

  // Reads the file and appends from now on. EWOULDBLOCK another directory has the file; and the errors of open(2) and read(2).
  Status open(Leases& leases, std::uint64_t grace_ns, std::uint64_t now);
  // A line is unreadable: it may have granted a lease that is unknown now.
  [[nodiscard]] bool is_doubtful() const noexcept { return is_doubtful_; }
  // Errors are those of write(2): this entry is not kept; later ones may be.
  Status write(const Leases::Entry& entry);
  // Rewrites the file if it has become much longer than its content needs.
  Status compact(const Leases& leases);
  [[nodiscard]] std::size_t lines() const noexcept { return lines_; }

 private:
  // Returns false if the line is invalid.
  bool read_line(const std::string& line, Leases& leases, std::uint64_t grace_ns, std::uint64_t now);

  const std::string path_;
  UniqueFd file_;
  std::size_t lines_ = 0;
  bool is_doubtful_ = false;
  bool is_torn_ = false;  // the last line has no newline
};

}  // namespace exs::svc
