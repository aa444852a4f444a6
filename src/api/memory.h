// Registered and allocated memory.
#pragma once

namespace exs {

class Library;

// For the last exs_fini: no operation is left.
void free_all(Library& library);

}  // namespace exs
