// Which file is missing when the kernel says "No such file or directory" of a program: its own, its interpreter's, or that of the
// loader which its ELF header names. The file may hold anything.
#pragma once

#include <string>

namespace run {

struct MissingFile {
  std::string text;  // empty: all are there
  std::string cure;
};

MissingFile find_missing_file(const std::string& program);

// "cannot execute PROGRAM: " and the system's words for `error`, or what is missing where the program itself is there.
std::string words_of_failed_execution(const std::string& program, int error);

}  // namespace run
