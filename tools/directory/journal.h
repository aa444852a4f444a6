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
  // A line says nothing: what it said before may have been granted, and is not known.
  [[nodiscard]] bool is_doubtful() const noexcept { return is_doubtful_; }
  // Those of write(2): what happens is not kept, and what follows is.
  int write(const Leases::Entry& entry);
  // Writes it anew, if it has become much longer than what it says.
  int compact(const Leases& leases);
  [[nodiscard]] std::size_t lines() const noexcept { return lines_; }

 private:
  // False: it says nothing.
  bool read_line(const std::string& line, Leases& leases, std::int64_t grace_ns, std::int64_t now);

  const std::string path_;
  Descriptor file_;
  std::size_t lines_ = 0;
  bool is_doubtful_ = false;
  bool is_torn_ = false;  // the last line has no end
};

}  // namespace exs::svc
