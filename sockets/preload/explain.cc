#include "sockets/preload/explain.h"

#include <cinttypes>

#include "sockets/preload/arena.h"
#include "sockets/preload/runtime.h"

namespace exs::sockets {
namespace {

const char* words_of(Why why) noexcept {
  switch (why) {
    case Why::kNone: return "short-lived: fewer calls than it takes to ask for the peer";
    case Why::kPeerNotPreloaded: return "peer-not-preloaded";
    case Why::kOtherHost: return "other-host";
    case Why::kOtherUser: return "other-user: EXS_SHM_USERS allows users to share memory";
    case Why::kOtherNetns: return "other-netns";
    case Why::kShared: return "shared: several processes had it already";
    case Why::kPinnedExec: return "pinned-exec: a program that was executed has it";
    case Why::kPinnedPassed: return "pinned-passed: it went to another process in a message";
    case Why::kOption: return "option: the program set an option, or used a call, that TCP alone can serve";
    case Why::kIoUring: return "io-uring";
    case Why::kNoDescriptors: return "no-descriptors: the limit of open files, or memory";
    case Why::kBroken: return "broken: what the peer offered was not what it must be";
    case Why::kRule: return "off: a line of sockets.conf";
  }
  return "unknown";
}

}  // namespace

void explain_end(std::uint32_t index) noexcept {
  if (!settings().explain) return;
  const Slot& slot = slot_at(index);
  const auto count = [](const std::atomic<std::uint64_t>& value) {
    return value.load(std::memory_order_relaxed);
  };
  const bool had_lane = slot.capacity != 0;
  log_line("%s, sent %" PRIu64 " bytes by shared memory and %" PRIu64 " by TCP, received %" PRIu64
           " and %" PRIu64 ", %" PRIu64 " turns, %" PRIu64 " bells, %" PRIu64 " sleeps%s%s",
           slot.is_caller ? "connected" : "accepted", count(slot.ring_sent), count(slot.tcp_sent),
           count(slot.ring_received), count(slot.tcp_received), count(slot.turns), count(slot.bells),
           count(slot.sleeps), had_lane ? "" : "; ", had_lane ? "" : words_of(slot.why.load()));
}

}  // namespace exs::sockets
