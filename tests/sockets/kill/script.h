// What two connected programs do up to a moment, and what one of them, the victim, does then until its death.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace killing {

enum class Op : std::uint8_t {
  kListen,
  kConnect,
  kAccept,
  kSend,
  kReceive,     // all of the bytes
  kTryReceive,  // the bytes that are there
  kDrain,       // up to the end
  kPoll,
  kAwaitHangUp,  // waits a moment for it
  kSettle,       // waits for the peer's end, unseen by a preloaded library
  kWatch,        // adds the connection to an epoll set
  kAskSet,       // asks whether the set reports it as readable
  kSleepInSet,   // sleeps a moment in the set, then asks
  kTrustSet,     // asks whether a receive finds nothing although the set reports bytes
  kLimitFiles,   // leaves no room to take unread bytes along
  kGiveUpRing,   // sets an option that only TCP can serve
  kShutdown,
  kClose,
  kFork,
  kExec,
  kExit,
  kStep,  // the victim's whole step
  kEnd,   // closes all but the connection
};

enum class Who : std::uint8_t { kVictim, kSurvivor, kChild };
inline constexpr std::size_t kActors = 3;

struct Cue {
  Who who;
  Op op;
  std::uint32_t bytes = 0;
};

// Thread: immutable value.
struct Script {
  std::string name;
  std::vector<Cue> before;
  std::vector<Cue> step;   // the victim's
  bool has_child = false;  // the victim has a child, which goes on
  bool watches = false;    // the survivor has the connection in an epoll set
  bool has_exec = false;   // its instructions are not counted: there are too many
  bool may_sleep = true;   // the survivor may sleep; false: bytes for it are in transit
  bool can_go_on = true;   // a stopped victim has a connection afterwards
};

const std::vector<Script>& scripts();

// How the survivor learns of the death.
enum class Attitude : std::uint8_t { kReads, kWrites, kSleeps };
inline constexpr Attitude kAttitudes[] = {Attitude::kReads, Attitude::kWrites, Attitude::kSleeps};
const char* name_of(Attitude attitude);

}  // namespace killing
