// Registered and allocated memory.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

namespace exs {

class Library;

// Every page of the range is mapped, with any rights.
bool is_mapped(const void* address, std::size_t length_bytes);

// Its first and its last page are writable; a mere hint for a range of several mappings.
bool is_writable(const void* address, std::size_t length_bytes);

// For the last exs_fini, when no operation is open.
void free_all(Library& library);

}  // namespace exs
