// A kernel interface that counts the calls of threads that ask for it. Linked in place of base/kernel.cc.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace exs::test {

// Counts this thread's calls from now on, from 0.
void count_kernel_calls();
// Ends the counting. Returns the number of calls by name.
std::map<std::string, std::uint64_t> counted_kernel_calls();

}  // namespace exs::test
