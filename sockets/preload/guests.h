// Unix sockets that any process of the host may have sent to: the names of the meeting are no secret.
//
// A message may hold descriptors, and to close the last one of a stranger's socket or file takes as long as he likes (SO_LINGER,
// a file system that he serves). So what holds descriptors that are no memory files is never closed: it stays open, hidden, and
// a process that has met a few of these leaves no more cards. Thread: any.
#pragma once

namespace exs::sockets {

// Closes a socket of a meeting, or a listening one with whoever waits there; one with a stranger's descriptors stays open.
void close_guest(int descriptor) noexcept;
// Closes what a peer passed, if that is a memory file.
void close_passed(int descriptor) noexcept;
// False: strangers have left so much that this process meets nobody any more.
bool may_have_guests() noexcept;

}  // namespace exs::sockets
