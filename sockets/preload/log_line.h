// What the layer says on the standard error of a program that did not ask for it: lines that neither stop the program nor end it, and
// not many of one kind, as a peer may give cause again and again.
#pragma once

namespace exs::sockets {

// "exs-sockets: ...". Of each format eight lines in ten seconds; the next one tells how many were left out. What standard error does not
// take at once is lost. Thread: any; also in a handler of a signal.
void log_line(const char* format, ...) noexcept __attribute__((format(printf, 1, 2)));
// Without that limit: what the user has asked for.
void tell_line(const char* format, ...) noexcept __attribute__((format(printf, 1, 2)));

}  // namespace exs::sockets
