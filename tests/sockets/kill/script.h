// What two programs with a connection do up to a moment, and what one of them, the victim, does then, until it is killed.
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
  kTryReceive,  // what is there
  kDrain,       // up to the end
  kPoll,
  kAwaitHangUp,  // for a moment
  kSettle,       // the same of the peer's end, unseen by a preloaded library
  kWatch,        // by an epoll set
  kAskSet,       // whether it is readable
  kSleepInSet,   // the same, after a moment's sleep
  kTrustSet,     // whether a receive finds nothing though it is
  kLimitFiles,   // so that nothing can be taken along
  kGiveUpRing,   // by an option that TCP alone can serve
  kShutdown,
  kClose,
  kFork,
  kExec,
  kExit,
  kStep,  // all of the victim's step
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
  bool has_child = false;  // of the victim, which goes on
  bool watches = false;    // the survivor has the connection in an epoll set
  bool has_exec = false;   // its instructions are not counted: there are too many
  bool may_sleep = true;   // the survivor; false: there are bytes for it, which are under way
  bool can_go_on = true;   // a victim that was stopped has a connection afterwards
};

const std::vector<Script>& scripts();

// How the survivor finds out.
enum class Attitude : std::uint8_t { kReads, kWrites, kSleeps };
inline constexpr Attitude kAttitudes[] = {Attitude::kReads, Attitude::kWrites, Attitude::kSleeps};
const char* name_of(Attitude attitude);

}  // namespace killing
