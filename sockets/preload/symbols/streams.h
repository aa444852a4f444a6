// The streams of stdio that a program has from the start.
#pragma once

namespace exs::sockets {

// A connection is stdin, stdout or stderr by now: what is sent goes by TCP, because stdio writes below our names, and what is unread
// comes by a stream of ours.
void fit_standard_stream(int number) noexcept;

}  // namespace exs::sockets
