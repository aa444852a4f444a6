// Whether the program that a process is about to run will load this library, and take over what we hand it. Thread: any.
#pragma once

#include <cstddef>

namespace exs::sockets {

enum class Successor {
  kOurs,
  kOther,      // or nobody can tell
  kRefusesUs,  // its dynamic linker would end it, or complain, for us
  kNone,  // there is no such program, so this one goes on: who looks for a program tries some that are not there
};

// `path` is looked up from the working directory.
Successor successor_of(const char* path, char* const* environment) noexcept;
// The same of a name without a slash, which PATH of this process finds.
Successor successor_by_name(const char* name, char* const* environment) noexcept;

// The environment of one that refuses us: in `room`, of as many pointers as it has itself, with LD_PRELOAD, if others are to be
// loaded, in `word` of preload_bytes().
std::size_t preload_bytes(char* const* environment) noexcept;
char* const* without_us(char* const* environment, char** room, char* word) noexcept;

}  // namespace exs::sockets
