// Whether the program that a process is about to run will load this library, and take over what we hand it. Thread: any.
#pragma once

namespace exs::sockets {

// `path` is looked up from the working directory. False also when nobody can tell.
bool is_preloaded(const char* path, char* const* environment) noexcept;
// The same of a name without a slash, which PATH of this process finds.
bool is_preloaded_by_name(const char* name, char* const* environment) noexcept;

}  // namespace exs::sockets
