// Finds the missing file when the kernel reports "No such file or directory" for a program: the program, its interpreter, or the loader
// that its ELF header names. The file may hold anything.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace run {

struct MissingFile {
  std::string text;  // empty: all are there
  std::string cure;
};

MissingFile find_missing_file(const std::string& program);

// Returns "cannot execute PROGRAM: " and the system's words for `error`, or the missing file if the program itself exists.
std::string words_of_failed_execution(const std::string& program, int error);

}  // namespace run
