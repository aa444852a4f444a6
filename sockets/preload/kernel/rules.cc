// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/kernel/rules.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

#include "sockets/preload/kernel/log_line.h"
#include "sockets/preload/kernel/raw.h"

namespace exs::sockets {
namespace {

constexpr const char* kPath = "/etc/exs/sockets.conf";
constexpr std::size_t kBytesMax = std::size_t{64} << 10;

Policy policy;

// The file's text, in its own memory until it is parsed. The settings keep no reference to it.
class RulesText {
 public:
  explicit RulesText(const char* path) noexcept {
    // A start must not wait, whatever lies at the path.
    const long descriptor =
        raw::sys(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0) {
      error_ = static_cast<int>(-descriptor);
      return;
    }
    memory_ = static_cast<char*>(raw::memory_of(
        raw::sys(SYS_mmap, 0, kBytesMax, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
    if (memory_ == nullptr) {
      error_ = ENOMEM;
    } else {
      read_all(descriptor);
    }
    raw::sys(SYS_close, descriptor);
  }
  ~RulesText() {
    if (memory_ != nullptr) raw::sys(SYS_munmap, memory_, kBytesMax);
  }
  RulesText(const RulesText&) = delete;
  RulesText& operator=(const RulesText&) = delete;

  [[nodiscard]] int error() const noexcept { return error_; }
  [[nodiscard]] std::string_view text() const noexcept { return {memory_, bytes_}; }

 private:
  void read_all(long descriptor) noexcept {
    long count = 1;
    for (; count > 0 && bytes_ < kBytesMax; bytes_ += static_cast<std::size_t>(count)) {
      count = raw::sys(SYS_read, descriptor, memory_ + bytes_, kBytesMax - bytes_);
      if (count < 0) error_ = static_cast<int>(-count);
      if (count <= 0) return;
    }
    error_ = EFBIG;
  }

  char* memory_ = nullptr;
  std::size_t bytes_ = 0;
  int error_ = 0;
};

std::string_view name_of_file(char (&path)[PATH_MAX]) noexcept {
  constexpr std::string_view kDeleted = " (deleted)";
  const long length = raw::sys(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof path);
  if (length < 0) return {};
  std::string_view name = name_of_path({path, static_cast<std::size_t>(length)});
  if (name.ends_with(kDeleted)) name.remove_suffix(kDeleted.size());
  return name;
}

std::string_view name_at_start() noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel gives a number
  const auto* const path = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  return path == nullptr ? std::string_view() : name_of_path(path);
}

void complain(const char* path, const BadLines& bad) noexcept {
  for (std::uint32_t i = 0; i < bad.count; ++i) {
    const BadLines::Line& line = bad.lines[i];
    log_line("%s, line %u, which is passed over: \"%.*s\" %s", path, line.number,
             static_cast<int>(line.word.size()), line.word.data(), line.cause);
  }
  if (bad.left_out > 0) log_line("%s: %u more such lines", path, bad.left_out);
}

}  // namespace

const Policy& rules() noexcept {
  return policy;
}

void read_rules(const Environment& environment) noexcept {
  BadLines bad;
  char exe[PATH_MAX];
  const ProgramNames program{name_at_start(), name_of_file(exe)};
  parse_policy({}, program, environment, policy, bad);
  // A file cannot switch on what the environment has switched off.
  if (!policy.is_on()) return;
  const char* const given = secure_getenv("EXS_SOCKETS_CONF");
  const char* const path = given == nullptr || given[0] == '\0' ? kPath : given;
  const RulesText file(path);
  const bool is_there = file.error() != ENOENT || path == given;
  if (file.error() != 0 && is_there) log_line("%s: error %d, so its rules do not count", path, file.error());
  if (file.error() != 0) return;
  parse_policy(file.text(), program, environment, policy, bad);
  complain(path, bad);
}

}  // namespace exs::sockets
