// The standard streams of stdio.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace exs::sockets {

// Call when a connection has become stdin, stdout or stderr. Sends then go by TCP, because stdio writes below
// our names. A stream of ours delivers the unread bytes.
void fit_standard_stream(int number) noexcept;

}  // namespace exs::sockets
