// Predicts whether the program that a process is about to run loads this library and takes connections over.
// Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

namespace exs::sockets {

enum class Successor {
  kOurs,
  kOther,      // another program, or unknown
  kRefusesUs,  // its dynamic linker would end it, or complain, because of us
  // There is no such program, so this one goes on. Searches along a path try files that do not exist.
  kNone,
};

// `path` is relative to the working directory.
Successor successor_of(const char* path, char* const* environment) noexcept;
// Accepts a name without a slash, which PATH of this process finds.
Successor successor_by_name(const char* name, char* const* environment) noexcept;

// Builds the environment for a program that refuses us. `room` has space for as many pointers as the
// environment. If LD_PRELOAD names other libraries, its new value goes to `word`, of preload_bytes().
std::size_t preload_bytes(char* const* environment) noexcept;
char* const* without_us(char* const* environment, char** room, char* word) noexcept;

}  // namespace exs::sockets
