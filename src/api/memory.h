// Registered and allocated memory.
#pragma once

#include <cstddef>

namespace exs {

class Library;

// Whether every page of the range is mapped, with any rights.
bool is_mapped(const void* address, std::size_t length_bytes);

// Whether its first and its last page may be written, which is no more than a hint for a range of several mappings.
bool is_writable(const void* address, std::size_t length_bytes);

// For the last exs_fini, when no operation is left.
void free_all(Library& library);

}  // namespace exs
