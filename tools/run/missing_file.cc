// SPDX-License-Identifier: BSD-2-Clause
#include "tools/run/missing_file.h"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace run {
namespace {

constexpr int kLevelsMax = 5;  // the kernel's limit for scripts whose interpreter is a script
constexpr std::size_t kFirstLineMax = 255;
constexpr unsigned kPartsMax = 64;
constexpr std::size_t kLoaderBytesMax = 4096;

enum class Kind { none, script, elf };
struct Interpreter {
  Kind kind = Kind::none;
  std::string path;
};

template <typename Value>
bool read_at(std::ifstream& file, std::uint64_t offset, Value& value) {
  file.clear();
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(&value), sizeof value);
  return static_cast<bool>(file);
}

std::string loader_of(std::ifstream& file) {
  Elf64_Ehdr header{};
  if (!read_at(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) return {};
  for (unsigned i = 0; i < std::min<unsigned>(header.e_phnum, kPartsMax); ++i) {
    Elf64_Phdr part{};
    if (!read_at(file, header.e_phoff + i * sizeof part, part)) return {};
    if (part.p_type != PT_INTERP || part.p_filesz < 2 || part.p_filesz > kLoaderBytesMax) continue;
    std::string path(part.p_filesz, '\0');
    file.seekg(static_cast<std::streamoff>(part.p_offset));
    file.read(path.data(), static_cast<std::streamsize>(path.size()));
    return file ? std::string(path.c_str()) : std::string();
  }
  return {};
}

// Strips blanks around the name; a carriage return belongs to it, as for the kernel.
std::string script_interpreter_of(std::ifstream& file) {
  std::string line(kFirstLineMax, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  if (!line.starts_with("#!")) return {};
  line.resize(std::min(line.find('\n'), line.size()));
  const std::size_t begin = line.find_first_not_of(" \t", 2);
  if (begin == std::string::npos) return {};
  return line.substr(begin, line.find_first_of(" \t", begin) - begin);
}

Interpreter interpreter_of(const std::string& program) {
  std::ifstream file(program, std::ios::binary);
  if (!file) return {};
  if (std::string path = script_interpreter_of(file); !path.empty()) return {Kind::script, std::move(path)};
  if (std::string path = loader_of(file); !path.empty()) return {Kind::elf, std::move(path)};
  return {};
}

// Returns 0 if the file is there.
int error_of(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 ? 0 : errno;
}

// Makes the path safe for a terminal.
std::string shown(const std::string& path) {
  std::string text;
  for (const char letter : path)
    text += letter == '\r' ? std::string("\\r") : std::string(1, letter < ' ' ? '?' : letter);
  return text;
}

MissingFile words_of(const Interpreter& missing, int error) {
  const std::string name = shown(missing.path);
  if (missing.kind == Kind::elf)
    return {"its dynamic loader " + name + " cannot be found: " + std::strerror(error),
            "install the C library that it was built with"};
  if (missing.path.ends_with('\r'))
    return {"the first line of the script ends as on Windows, so its interpreter is " + name,
            "take the carriage returns out: sed -i 's/\\r$//' FILE"};
  return {"its interpreter " + name + " cannot be found: " + std::strerror(error),
          "install that, or correct the script's first line"};
}

}  // namespace

MissingFile find_missing_file(const std::string& program) {
  if (const int error = error_of(program); error == ENOENT) {
    return {"there is no such file", "look at PATH"};
  } else if (error != 0) {
    return {std::strerror(error), "look at its path"};
  }
  std::string at = program;
  for (int level = 0; level < kLevelsMax; ++level) {
    const Interpreter next = interpreter_of(at);
    if (next.kind == Kind::none) break;
    if (const int error = error_of(next.path); error != 0) return words_of(next, error);
    at = next.path;
  }
  return {};
}

std::string words_of_failed_execution(const std::string& program, int error) {
  std::string words = "cannot execute " + program + ": ";
  const bool is_there = error == ENOENT && error_of(program) == 0;
  const MissingFile missing = is_there ? find_missing_file(program) : MissingFile();
  return words +
         (missing.text.empty() ? std::strerror(error) : missing.text + " (cure: " + missing.cure + ")");
}

}  // namespace run
