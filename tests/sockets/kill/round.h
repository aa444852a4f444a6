// One round: two programs are brought to a moment, the victim is killed, or stopped for a while, at a place in its step, and the
// survivor tells what it sees. Thread: the only one of a process that has the library preloaded, or not.
#pragma once

#include <cstdint>

#include "tests/sockets/kill/script.h"
#include "tests/sockets/kill/tracer.h"

namespace killing {

enum class What : std::uint32_t {
  kKill,
  kStop,         // the victim goes on when the survivor has made its calls, and is killed where its step ends
  kFindChanges,  // no kill: the places at which one could make a difference
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
  char fault[240] = {};     // what no system may show
  std::uint32_t instructions = 0;
  std::uint32_t places = 0;
  Place at[kPlacesMax] = {};
};

void play(const Request& request, Report& report);

}  // namespace killing
