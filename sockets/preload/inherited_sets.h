// Epoll sets that a program has from the one that ran here before, or that made it. Thread: the first of the program.
#pragma once

namespace exs::sockets {

// What the kernel tells of it: of bytes that were looked at before there is no bell, so the layer has to know who waits for them.
void adopt_epoll_set(int number) noexcept;

}  // namespace exs::sockets
