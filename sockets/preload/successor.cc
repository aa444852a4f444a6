#include "sockets/preload/successor.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sockets/preload/raw.h"

namespace exs::sockets {
namespace {

constexpr int kInterpretersMax = 4;  // of a script, that of its interpreter, ...
#if defined(__x86_64__)
constexpr unsigned kMachine = EM_X86_64;
#else
constexpr unsigned kMachine = EM_AARCH64;
#endif

const char* value_of(const char* name, char* const* environment) noexcept {
  const std::size_t length = std::strlen(name);
  for (; environment != nullptr && *environment != nullptr; ++environment)
    if (std::strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
      return *environment + length + 1;
  return "";
}

// The beginning of a file, and what is needed of the rest.
class Program {
 public:
  explicit Program(const char* path) noexcept
      : descriptor_(static_cast<int>(raw::sys(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0))) {
    if (descriptor_ < 0) return;
    const long count = raw::sys(SYS_pread64, descriptor_, head_, sizeof head_ - 1, 0);
    bytes_ = count < 0 ? 0 : static_cast<std::size_t>(count);
  }
  ~Program() {
    if (descriptor_ >= 0) raw::sys(SYS_close, descriptor_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // The dynamic linker ignores LD_PRELOAD for a program that gives its caller more rights.
  [[nodiscard]] bool gives_rights() const noexcept {
    struct stat about {};
    if (raw::sys(SYS_fstat, descriptor_, &about) != 0 || (about.st_mode & (S_ISUID | S_ISGID)) != 0)
      return true;
    return raw::sys(SYS_fgetxattr, descriptor_, "security.capability", nullptr, 0) > 0;
  }
  // The interpreter of a script; null: it is none.
  [[nodiscard]] const char* script_interpreter() noexcept {
    if (bytes_ < 3 || head_[0] != '#' || head_[1] != '!') return nullptr;
    head_[bytes_] = '\0';
    char* const path = head_ + 2 + std::strspn(head_ + 2, " \t");
    path[std::strcspn(path, " \t\n")] = '\0';
    return path;
  }
  // Dynamic, of this machine and of this C library.
  [[nodiscard]] bool is_dynamic() const noexcept {
    Elf64_Ehdr header{};
    if (bytes_ < sizeof header) return false;
    std::memcpy(&header, head_, sizeof header);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_machine != kMachine || header.e_phentsize != sizeof(Elf64_Phdr))
      return false;
    for (unsigned i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr part{};
      if (!read_at(header.e_phoff + i * sizeof part, &part, sizeof part)) return false;
      if (part.p_type == PT_INTERP) return has_our_linker(part);
    }
    return false;
  }

 private:
  [[nodiscard]] bool read_at(std::uint64_t offset, void* to, std::size_t count) const noexcept {
    return raw::sys(SYS_pread64, descriptor_, to, count, offset) == static_cast<long>(count);
  }
  [[nodiscard]] bool has_our_linker(const Elf64_Phdr& part) const noexcept {
    char name[64] = {};
    if (part.p_filesz == 0 || part.p_filesz >= sizeof name || !read_at(part.p_offset, name, part.p_filesz))
      return false;
    return std::strstr(name, "/ld-linux-") != nullptr;
  }

  int descriptor_;
  std::size_t bytes_ = 0;
  char head_[512] = {};
};

bool loads_us(const char* path, int level) noexcept {
  Program program(path);
  if (program.gives_rights()) return false;
  const char* const interpreter = program.script_interpreter();
  if (interpreter == nullptr) return program.is_dynamic();
  return level < kInterpretersMax && loads_us(interpreter, level + 1);
}

}  // namespace

bool is_preloaded(const char* path, char* const* environment) noexcept {
  return path != nullptr &&
         std::strstr(value_of("LD_PRELOAD", environment), "libexs_sockets.so") != nullptr &&
         std::strncmp(value_of("EXS_SOCKETS", environment), "off", 3) != 0 && loads_us(path, 0);
}

bool is_preloaded_by_name(const char* name, char* const* environment) noexcept {
  if (name == nullptr || std::strchr(name, '/') != nullptr) return is_preloaded(name, environment);
  const char* list = std::getenv("PATH");
  if (list == nullptr) list = "/bin:/usr/bin";
  for (;; ++list) {
    const std::size_t length = std::strcspn(list, ":");
    char path[PATH_MAX];
    const int told =
        std::snprintf(path, sizeof path, "%.*s/%s", static_cast<int>(length), length == 0 ? "." : list, name);
    const bool fits = told > 0 && told < static_cast<int>(sizeof path);
    if (fits && raw::sys(SYS_faccessat, AT_FDCWD, path, 1, 0) == 0) return is_preloaded(path, environment);
    list += length;
    if (*list == '\0') return false;
  }
}

}  // namespace exs::sockets
