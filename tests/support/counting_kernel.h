// A kernel interface that counts the calls of threads that ask for it. Linked in place of src/base/kernel.cc.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace exs::test {

// From here on the calls of this thread count, from nought.
void count_kernel_calls();
// They count no longer. How often each was made, by name.
std::map<std::string, std::uint64_t> counted_kernel_calls();

}  // namespace exs::test
