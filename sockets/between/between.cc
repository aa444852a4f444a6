// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/between/between.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "sockets/between/pump.h"
#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/kernel/spin.h"
#include "sockets/preload/table/hidden.h"

namespace exs::sockets::between {
namespace {

HostLink* claim(int number, Fault& fault) noexcept {
  fault = Fault::kTooMany;
  HostLink* const link = take_link();
  if (link == nullptr) return nullptr;
  link->fault.store(Fault::kNone);
  link->released.store(false);
  link->finish_wanted.store(false);
  link->turned.store(0);
  link->has_final.store(false);
  link->answered.store(false);
  link->lost_bytes.store(false);
  link->told_consumed.store(0);
  link->told_passed.store(0);
  link->segment = nullptr;
  link->bells_awaited = 0;
  link->pump = {};
  link->pump.socket = -1;
  link->pump.region = EXS_MHANDLE_INVALID;
  const long descriptor = raw::sys(SYS_fcntl, number, F_DUPFD_CLOEXEC, 0);
  if (descriptor >= 0) {
    link->descriptor = hide(static_cast<int>(descriptor));
    return link;
  }
  link->state.store(State::kFree);
  fault = Fault::kMemory;
  return nullptr;
}

// Hands the link to the pump, which begins its work.
HostLink* hand_over(HostLink& link, State state, Fault& fault) noexcept {
  if (!start_pump(fault)) {
    close_hidden(link.descriptor);
    link.state.store(State::kFree);
    return nullptr;
  }
  link.state.store(state);
  post_wake(link);
  return &link;
}

// Waits for is_done(). A negative limit waits for ever. False: time is over.
template <typename Done>
bool await_news(HostLink& link, int limit_ms, const Done& is_done) noexcept {
  const std::uint64_t end =
      monotonic_ns() + static_cast<std::uint64_t>(limit_ms < 0 ? 0 : limit_ms) * kNsPerMs;
  for (;;) {
    const std::uint32_t known = link.news.load();
    if (is_done()) return true;
    if (limit_ms >= 0 && monotonic_ns() >= end) return false;
    // Short sleeps, so that a missed notification costs little.
    const timespec moment = to_timespec(10 * kNsPerMs);
    raw::sys(SYS_futex, &link.news, FUTEX_WAIT_PRIVATE, known, &moment, nullptr, 0);
  }
}

bool is_over(const HostLink& link) noexcept {
  const State state = link.state.load();
  return state == State::kOver || state == State::kFree;
}

}  // namespace

bool has_device() noexcept {
  const long folder =
      raw::sys(SYS_openat, AT_FDCWD, "/sys/class/infiniband", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (folder < 0) return false;
  // Two entries are "." and "..".
  alignas(8) char entries[1024];
  const long bytes = raw::sys(SYS_getdents64, folder, entries, sizeof entries);
  raw::sys(SYS_close, folder);
  int count = 0;
  for (long at = 0; at < bytes; ++count) {
    std::uint16_t length = 0;
    std::memcpy(&length, entries + at + 16, sizeof length);
    at += length;
  }
  return count > 2;
}

bool has_agent() noexcept {
  const long probe = raw::sys(SYS_socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return false;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path + 1, kAgentName, sizeof kAgentName - 1);
  constexpr auto kLength = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + sizeof kAgentName);
  const bool found = raw::sys(SYS_connect, probe, &name, kLength) == 0;
  raw::sys(SYS_close, probe);
  return found;
}

HostLink* call(int number, std::uint32_t slot, const Place16& own, const Place16& peer,
               std::uint16_t agent_port, Fault& fault) noexcept {
  HostLink* const link = claim(number, fault);
  if (link == nullptr) return nullptr;
  link->is_caller = true;
  link->slot = slot;
  link->own = own;
  link->peer = peer;
  link->agent_port = agent_port;
  return hand_over(*link, State::kListens, fault);
}

HostLink* answer(int number, std::uint32_t slot, const HostInvitation& invitation, Segment& segment,
                 std::size_t capacity, std::uint8_t bell, Fault& fault) noexcept {
  HostLink* const link = claim(number, fault);
  if (link == nullptr) return nullptr;
  link->is_caller = false;
  link->slot = slot;
  link->meets_at = invitation.meets_at;
  link->token = invitation.token;
  link->segment = &segment;
  link->capacity = capacity;
  link->bell = bell;
  HostLink* const handed = hand_over(*link, State::kDials, fault);
  if (handed == nullptr) link->segment = nullptr;
  return handed;
}

void join(HostLink& link) noexcept {
  link.state.store(State::kJoins);
  post_wake(link);
}

void wake(HostLink& link) noexcept {
  post_wake(link);
}

void note_received(HostLink& link) noexcept {
  constexpr unsigned kParts = 4;  // as in link_out.cc
  const Direction& in = link.incoming();
  const bool passed = in.passed.load() != link.told_passed.load(std::memory_order_relaxed);
  if (passed) link.told_passed.store(in.passed.load(), std::memory_order_relaxed);
  if (passed ||
      in.consumed.load() - link.told_consumed.load(std::memory_order_relaxed) >= link.capacity / kParts)
    post_wake(link);
}

int await_turn(HostLink& link, int limit_ms) noexcept {
  if (link.segment == nullptr) return 1;  // the ends have not met
  const Direction& out = link.outgoing();
  const auto has_turned = [&] { return link.turned.load() == out.epoch.load(); };
  if (has_turned()) return 1;
  post_wake(link);
  constexpr int kLookMs = 2000;
  while (
      !await_news(link, limit_ms < 0 ? kLookMs : limit_ms, [&] { return has_turned() || is_over(link); })) {
    if (limit_ms >= 0) return 0;
    // An ended peer still answers, unless it was killed and its device does not report that.
    if (!is_tcp_established(link.descriptor)) return -2;
  }
  return has_turned() ? 1 : -1;
}

bool await_over(HostLink& link, int limit_ms) noexcept {
  const Direction& in = link.incoming();
  return await_news(link, limit_ms, [&] { return is_over(link) || in.final.load() != 0; });
}

void await_room(HostLink& link, std::uint64_t consumed, int limit_ms) noexcept {
  const Direction& out = link.outgoing();
  await_news(link, limit_ms,
             [&] { return is_over(link) || out.consumed.load() != consumed || out.closed.load() != 0; });
}

bool end_both(HostLink& link, int limit_ms) noexcept {
  // The peer does not know yet that we are ready.
  for (State before : {State::kDials, State::kSettles})
    if (link.state.compare_exchange_strong(before, State::kOver)) return true;
  if (link.state.load() != State::kRuns) return true;
  link.finish_wanted.store(true);
  post_wake(link);
  const Direction& out = link.outgoing();
  const Direction& in = link.incoming();
  const bool ended = await_news(link, limit_ms, [&] {
    return is_over(link) || (link.turned.load() == out.epoch.load() && link.has_final.load() &&
                             in.final.load() != 0 && link.answered.load());
  });
  return ended && !link.lost_bytes.load();
}

void release(HostLink& link, std::uint32_t bells_awaited) noexcept {
  link.bells_awaited = bells_awaited;
  link.released_ns = monotonic_ns();
  link.released.store(true);
  post_wake(link);
}

void await_released(int limit_ms) noexcept {
  const std::uint64_t end = monotonic_ns() + static_cast<std::uint64_t>(limit_ms) * kNsPerMs;
  for (HostLink& link : taken_links()) {
    while (link.released.load() && link.descriptor >= 0 && link.state.load() != State::kFree) {
      if (monotonic_ns() >= end) return;
      sleep_1ms();
    }
  }
}

void forget_in_child() noexcept {
  forget_pump();
  forget_asking();
  forget_callers();
}

}  // namespace exs::sockets::between
