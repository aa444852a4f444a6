// Whether this is still the process that started exs here: a child of it has none of its connections. Thread: any.
#pragma once

namespace exs::rpc {

// Starts exs once for the process. False: errno.
bool start_library();
// False also before it has been started. No system call.
bool is_own_process() noexcept;

// The library keeps to four fifths of the descriptors that the process may have: the rest is the program's.
bool has_descriptors();

}  // namespace exs::rpc
