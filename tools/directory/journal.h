// The file of a directory: a line for each record that was claimed or lost. Lines are appended, and the file is rewritten when most of it
// is obsolete. Records prove themselves, so a torn or changed line has no effect. Thread: one.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "service/names/descriptor.h"
#include "tools/directory/leases.h"

namespace exs::svc {

class Journal {
 public:
  // An empty path means: no file.
  explicit Journal(std::string path) : path_(std::move(path)) {}

  // Reads the file and appends from now on. Returns 0 or an errno value: EWOULDBLOCK another directory has the file; those of open(2) and
  // read(2).
  int open(Leases& leases, std::int64_t grace_ns, std::int64_t now);
  // A line is unreadable: it may have granted a lease that is unknown now.
  [[nodiscard]] bool is_doubtful() const noexcept { return is_doubtful_; }
  // Returns 0 or an errno value of write(2): this entry is not kept; later ones may be.
  int write(const Leases::Entry& entry);
  // Rewrites the file if it has become much longer than its content needs.
  int compact(const Leases& leases);
  [[nodiscard]] std::size_t lines() const noexcept { return lines_; }

 private:
  // Returns false if the line is invalid.
  bool read_line(const std::string& line, Leases& leases, std::int64_t grace_ns, std::int64_t now);

  const std::string path_;
  Descriptor file_;
  std::size_t lines_ = 0;
  bool is_doubtful_ = false;
  bool is_torn_ = false;  // the last line has no newline
};

}  // namespace exs::svc
