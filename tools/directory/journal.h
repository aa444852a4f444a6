// The file of a directory: a line for each record that was claimed or lost, appended as it happens, and written anew when most of it is
// of no use. Records prove themselves, so a line that is torn, or that somebody has changed, says nothing. Thread: one.
#pragma once

#include <string>

#include "service/names/descriptor.h"
#include "tools/directory/leases.h"

namespace exs::svc {

class Journal {
 public:
  // Empty: there is no file.
  explicit Journal(std::string path) : path_(std::move(path)) {}

  // Reads what there is, and goes on behind it. errno: another directory has the file (EWOULDBLOCK), and those of open(2) and read(2).
  int open(Leases& leases, std::int64_t grace_ns, std::int64_t now);
  // Those of write(2): what happens is not kept.
  int write(const Leases::Entry& entry);
  // Writes it anew, if it has become much longer than what it says.
  int compact(const Leases& leases);
  [[nodiscard]] std::size_t lines() const noexcept { return lines_; }

 private:
  void read_line(const std::string& line, Leases& leases, std::int64_t grace_ns, std::int64_t now);

  const std::string path_;
  Descriptor file_;
  std::size_t lines_ = 0;
};

}  // namespace exs::svc
