// Closing sockets, one or all.
#pragma once

namespace exs {

class Library;

// For the last exs_fini: every socket at once, each with a short linger.
void close_all(Library& library);

}  // namespace exs
