// One round. It brings two programs to a moment, and kills the victim, or stops it for a while, at a place in
// its step. The survivor reports what it sees. Thread: the only one of a process, with the library preloaded
// or without.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "tests/sockets/kill/script.h"
#include "tests/sockets/kill/tracer.h"

namespace killing {

enum class What : std::uint32_t {
  kKill,
  // The victim continues after the survivor's calls, and is killed at the end of its step.
  kStop,
  kFindChanges,  // no kill: finds the places at which one could make a difference
};

struct Request {
  What what;
  std::uint32_t script;
  Attitude attitude;
  Place place;
};

inline constexpr std::size_t kPlacesMax = 2000;

struct Report {
  bool goes_on = false;     // the place is in the step, not behind it
  std::uint32_t phase = 0;  // odd: inside a call of the program
  char seen[240] = {};      // by the survivor, in words
  char fault[240] = {};     // what must not happen on any system
  std::uint32_t instructions = 0;
  std::uint32_t places = 0;
  Place at[kPlacesMax] = {};
};

void play(const Request& request, Report& report);

}  // namespace killing
