// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/settings/program.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace exs::sockets {
namespace {

// An interpreter may itself be a script, and so on.
constexpr int kInterpretersMax = 4;
constexpr unsigned kPartsMax = 64;
#if defined(__x86_64__)
constexpr unsigned kMachine = EM_X86_64;
#else
constexpr unsigned kMachine = EM_AARCH64;
#endif

class ProgramFile {
 public:
  explicit ProgramFile(const char* path) noexcept : descriptor_(open(path, O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) return;
    const ssize_t count = pread(descriptor_, head_, sizeof head_ - 1, 0);
    bytes_ = count < 0 ? 0 : static_cast<std::size_t>(count);
  }
  ~ProgramFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  ProgramFile(const ProgramFile&) = delete;
  ProgramFile& operator=(const ProgramFile&) = delete;

  [[nodiscard]] bool is_open() const noexcept { return descriptor_ >= 0; }
  [[nodiscard]] bool gives_rights() const noexcept {
    struct stat about {};
    if (fstat(descriptor_, &about) != 0) return true;
    if ((about.st_mode & S_ISUID) != 0 && about.st_uid != geteuid()) return true;
    if ((about.st_mode & S_ISGID) != 0 && about.st_gid != getegid()) return true;
    return geteuid() != 0 && fgetxattr(descriptor_, "security.capability", nullptr, 0) > 0;
  }
  // The path after "#!"; null: no script.
  [[nodiscard]] const char* interpreter() noexcept {
    if (bytes_ < 3 || head_[0] != '#' || head_[1] != '!') return nullptr;
    head_[bytes_] = '\0';
    char* const path = head_ + 2 + std::strspn(head_ + 2, " \t");
    path[std::strcspn(path, " \t\n")] = '\0';
    return path;
  }
  [[nodiscard]] Unserved examine_elf() noexcept {
    if (bytes_ < sizeof header_) return Unserved::kNotAProgram;
    std::memcpy(&header_, head_, sizeof header_);
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) return Unserved::kNotAProgram;
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_machine != kMachine)
      return Unserved::kOtherMachine;
    if (header_.e_phentsize != sizeof(Elf64_Phdr) || header_.e_phnum > kPartsMax)
      return Unserved::kNotAProgram;
    parts_count_ = header_.e_phnum;
    if (!read_at(header_.e_phoff, parts_, parts_count_ * sizeof *parts_)) return Unserved::kNotAProgram;
    if (is_go()) return Unserved::kGo;
    const Elf64_Phdr* const linker = part(PT_INTERP);
    if (linker == nullptr) return Unserved::kStatic;
    if (!text_contains(linker->p_offset, linker->p_filesz, "/ld-linux-")) return Unserved::kOtherLibc;
    if (needs("libasan.so") || needs("libclang_rt.asan")) return Unserved::kSanitized;
    return needs("liburing.so") ? Unserved::kIoUring : Unserved::kNot;
  }

 private:
  [[nodiscard]] bool read_at(std::uint64_t offset, void* to, std::size_t count) const noexcept {
    return pread(descriptor_, to, count, static_cast<off_t>(offset)) == static_cast<ssize_t>(count);
  }
  [[nodiscard]] bool text_contains(std::uint64_t offset, std::uint64_t bytes,
                                   const char* what) const noexcept {
    char text[64] = {};
    return bytes > 0 && bytes < sizeof text && read_at(offset, text, bytes) &&
           std::strstr(text, what) != nullptr;
  }
  [[nodiscard]] const Elf64_Phdr* part(unsigned type) const noexcept {
    for (unsigned i = 0; i < parts_count_; ++i)
      if (parts_[i].p_type == type) return &parts_[i];
    return nullptr;
  }
  // Go's linker leaves a note with its name.
  [[nodiscard]] bool is_go() const noexcept {
    for (unsigned i = 0; i < parts_count_; ++i) {
      Elf64_Nhdr note{};
      char name[4] = {};
      if (parts_[i].p_type == PT_NOTE && read_at(parts_[i].p_offset, &note, sizeof note) &&
          note.n_namesz == sizeof name && read_at(parts_[i].p_offset + sizeof note, name, sizeof name) &&
          std::strcmp(name, "Go") == 0)
        return true;
    }
    return false;
  }
  // Maps an address of the loaded program to an offset in its file; 0: no segment has it.
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t address) const noexcept {
    for (unsigned i = 0; i < parts_count_; ++i) {
      const Elf64_Phdr& load = parts_[i];
      if (load.p_type == PT_LOAD && address >= load.p_vaddr && address - load.p_vaddr < load.p_filesz)
        return load.p_offset + (address - load.p_vaddr);
    }
    return 0;
  }
  [[nodiscard]] bool needs(const char* library) const noexcept {
    const Elf64_Phdr* const dynamic = part(PT_DYNAMIC);
    if (dynamic == nullptr) return false;
    const std::uint64_t count = dynamic->p_filesz / sizeof(Elf64_Dyn);
    std::uint64_t names = 0;
    for (const bool is_second : {false, true}) {
      for (std::uint64_t i = 0; i < count && i < kWordsMax; ++i) {
        Elf64_Dyn word{};
        if (!read_at(dynamic->p_offset + i * sizeof word, &word, sizeof word) || word.d_tag == DT_NULL) break;
        if (word.d_tag == DT_STRTAB) names = offset_of(word.d_un.d_ptr);
        if (is_second && names != 0 && word.d_tag == DT_NEEDED &&
            begins_with(names + word.d_un.d_val, library))
          return true;
      }
    }
    return false;
  }
  [[nodiscard]] bool begins_with(std::uint64_t offset, const char* text) const noexcept {
    char name[16] = {};
    const std::size_t length = std::strlen(text);
    return length <= sizeof name && read_at(offset, name, length) && std::memcmp(name, text, length) == 0;
  }
  static constexpr std::uint64_t kWordsMax = 512;

  int descriptor_;
  std::size_t bytes_ = 0;
  char head_[512] = {};
  Elf64_Ehdr header_{};
  Elf64_Phdr parts_[kPartsMax] = {};
  unsigned parts_count_ = 0;
};

Unserved examine(const char* path, int level) noexcept {
  ProgramFile program(path);
  if (!program.is_open()) return errno == EACCES ? Unserved::kNotReadable : Unserved::kMissing;
  const char* const interpreter = program.interpreter();
  // The kernel ignores setuid and the like on scripts.
  if (interpreter != nullptr)
    return level == kInterpretersMax ? Unserved::kNotAProgram : examine(interpreter, level + 1);
  return program.gives_rights() ? Unserved::kGivesRights : program.examine_elf();
}

}  // namespace

Unserved examine_program(const char* path) noexcept {
  const int error = errno;
  const Unserved result = examine(path, 0);
  errno = error;
  return result;
}

}  // namespace exs::sockets
