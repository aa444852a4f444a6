// Unix sockets to which any process of the host may have sent. The names of the meeting are no secret.
//
// A message may have descriptors. NumberClosing the last descriptor of a stranger's socket or file can take as long
// as the stranger likes (SO_LINGER, a file system that he serves). So a socket with descriptors of anything
// but memory files is never closed: it stays open, hidden. A process with several of these leaves no more
// cards. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace exs::sockets {

// Closes a socket of a meeting, or a listening one with its waiting connections. A socket with a stranger's
// descriptors stays open.
void close_guest(int descriptor) noexcept;
// Closes a descriptor that a peer passed, if it is a memory file.
void close_passed(int descriptor) noexcept;
// False: strangers have left so many descriptors that this process meets no peer any more.
bool may_have_guests() noexcept;

}  // namespace exs::sockets
