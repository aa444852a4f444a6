// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/between/program_side.h"

namespace exs::sockets::between {
namespace {

ProgramSide program{};

}  // namespace

void set_program(const ProgramSide& given) noexcept {
  program = given;
}

bool finish_sending(HostLink& link) noexcept {
  return program.finish_sending(link.slot, *link.segment, link.descriptor);
}

void leave_program() noexcept {
  program.leave();
}

bool takes_any_path() noexcept {
  return program.any_path;
}

void reset_program(const HostLink& link, const char* cause) noexcept {
  if (link.descriptor >= 0) program.reset(link.slot, link.descriptor, cause);
}

}  // namespace exs::sockets::between
