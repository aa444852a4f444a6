// SPDX-License-Identifier: BSD-2-Clause
#include "tools/directory/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>

namespace exs::svc {
namespace {

constexpr std::string_view kHeld = "held";
constexpr std::string_view kFenced = "fenced";
constexpr std::string_view kLost = "lost";
constexpr std::size_t kLinesMin = 1024;  // fewer are not worth rewriting

// Both kinds have the record: the epoch of a lost one stays known.
std::string line_of(const Leases::Entry& entry) {
  const std::string_view word = !entry.is_held ? kLost : entry.is_fenced ? kFenced : kHeld;
  return std::string(word) + " " + hex(entry.bytes) + "\n";
}

Status write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t bytes = kernel::write(file, text.data(), text.size());
    if (bytes < 0 && errno != EINTR) return Status(errno);
    if (bytes > 0) text.remove_prefix(static_cast<std::size_t>(bytes));
  }
  return {};
}

// Locks the file for one directory at a time. If another one has rewritten the file meanwhile, the path names another file, and the loop
// opens that.
Result<UniqueFd> open_locked(const std::string& path, int flags) {
  for (;;) {
    UniqueFd opened(kernel::open(path.c_str(), flags | O_CLOEXEC | O_CREAT, 0600));
    if (!opened.valid() || ::flock(opened.get(), LOCK_EX | LOCK_NB) != 0) return failure(errno);
    struct stat named {};
    struct stat locked {};
    if (kernel::fstat(opened.get(), &locked) != 0) return failure(errno);
    if (kernel::stat(path.c_str(), &named) != 0 || named.st_ino != locked.st_ino) continue;
    return opened;
  }
}

}  // namespace

Status Journal::open(Leases& leases, std::uint64_t grace_ns, std::uint64_t now) {
  if (path_.empty()) return {};
  Result<UniqueFd> file = open_locked(path_, O_RDWR | O_APPEND);
  if (!file) return file.error();
  file_ = std::move(*file);
  std::ifstream stream(path_);
  for (std::string line; std::getline(stream, line);) {
    is_torn_ = stream.eof();
    if (!read_line(line, leases, grace_ns, now) && !line.empty()) is_doubtful_ = true;
    ++lines_;
  }
  is_doubtful_ = is_doubtful_ || is_torn_;
  return {};
}

bool Journal::read_line(const std::string& line, Leases& leases, std::uint64_t grace_ns, std::uint64_t now) {
  const std::string_view all = line;
  const std::size_t space = all.find(' ');
  const std::string_view word = all.substr(0, space);
  const std::string_view digits = space == std::string_view::npos ? "" : all.substr(space + 1);
  if (word != kHeld && word != kFenced && word != kLost) return false;
  std::vector<std::uint8_t> bytes(digits.size() / 2);
  if (bytes.size() > kRecordMax || !parse_hex(digits, bytes)) return false;
  std::optional<Record> record = decode_record(bytes);
  if (!record) return false;
  leases.restore(
      {std::move(*record), std::move(bytes), 0, grace_ns, now + grace_ns, word != kLost, word == kFenced});
  return true;
}

Status Journal::write(const Leases::Entry& entry) {
  if (!file_.valid()) return {};
  ++lines_;
  const off_t end = ::lseek(file_.get(), 0, SEEK_END);
  const Status written = write_all(file_.get(), (is_torn_ ? "\n" : "") + line_of(entry));
  // A partial line is removed, or else the next one begins on a new line.
  if (written.ok()) {
    is_torn_ = false;
  } else if (end < 0 || kernel::ftruncate(file_.get(), end) != 0) {
    is_torn_ = true;
  }
  return written;
}

// The new file is locked before it gets its name, so the name is never unlocked.
Status Journal::compact(const Leases& leases) {
  if (!file_.valid() || lines_ < kLinesMin || lines_ < 2 * leases.entries().size()) return {};
  const std::string path = path_ + ".new";
  Result<UniqueFd> file = open_locked(path, O_WRONLY | O_APPEND | O_TRUNC);
  if (!file) return file.error();
  std::string text;
  for (const auto& [id, entry] : leases.entries()) text += line_of(entry);
  if (const Status written = write_all(file->get(), text); !written.ok()) return written;
  if (kernel::fsync(file->get()) != 0 || std::rename(path.c_str(), path_.c_str()) != 0) return Status(errno);
  file_ = std::move(*file);
  is_torn_ = false;
  lines_ = leases.entries().size();
  return {};
}

}  // namespace exs::svc
