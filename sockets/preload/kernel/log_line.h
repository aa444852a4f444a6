// Lines on the standard error of a program that did not ask for them. They neither block nor end the program.
// Lines of one kind are few, because a peer may cause them again and again.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace exs::sockets {

// Writes "exs-sockets: ..." for at most eight lines of each format in ten seconds. The next line reports the
// number that was left out. A line that standard error does not take at once is lost. Thread: any; also in a
// signal handler.
void log_line(const char* format, ...) noexcept __attribute__((format(printf, 1, 2)));
// Has no such limit: the user asked for the line.
void tell_line(const char* format, ...) noexcept __attribute__((format(printf, 1, 2)));

}  // namespace exs::sockets
