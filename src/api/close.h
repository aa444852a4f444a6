// Closing sockets, one or all.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace exs {

class Library;

// Closes every socket at the last exs_fini, all at once, each with a short linger.
void close_all(Library& library);

}  // namespace exs
