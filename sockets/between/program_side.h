// The pump's calls into the program's side of a connection, which lies above the lane between hosts. Thread: the
// pump's, after the constructor.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "sockets/between/link.h"

namespace exs::sockets::between {

struct ProgramSide {
  // Ends the ring's sending for good. False: the slot is busy now.
  bool (*finish_sending)(std::uint32_t slot, Segment& segment, int descriptor);
  void (*reset)(std::uint32_t slot, int descriptor, const char* cause);
  bool any_path;  // for tests: streams may use exs's iwarp provider, over TCP
  // The process ends: its connections say goodbye.
  void (*leave)();
};
// Called once, at the start.
void set_program(const ProgramSide& program) noexcept;

// False: the connection is busy now.
bool finish_sending(HostLink& link) noexcept;
void leave_program() noexcept;
bool takes_any_path() noexcept;
void reset_program(const HostLink& link, const char* cause) noexcept;

}  // namespace exs::sockets::between
