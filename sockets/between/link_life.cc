// The life of a link: from meeting the peer to the end of its stream, and to its release by the program.
// SPDX-License-Identifier: BSD-2-Clause
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/check.h"
#include "base/clock.h"
#include "sockets/between/program_side.h"
#include "sockets/between/pump.h"
#include "sockets/between/socket_name.h"
#include "sockets/preload/kernel/log_line.h"
#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/table/hidden.h"

namespace exs::sockets::between {
namespace {

constexpr std::uint64_t kGraceNs = kNsPerSecond;       // for TCP to report a peer whose stream has ended
constexpr std::uint64_t kDrainNs = 10 * kNsPerSecond;  // for a peer to take the rest of a closed connection

int tcp_state(int descriptor) noexcept {
  tcp_info info{};
  socklen_t length = sizeof info;
  return raw::sys(SYS_getsockopt, descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 ? info.tcpi_state
                                                                                          : -1;
}

void reset(const HostLink& link) noexcept {
  const linger now{1, 0};
  raw::sys(SYS_setsockopt, link.descriptor, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

void close_stream(HostLink& link) noexcept {
  HostLink::Pump& pump = link.pump;
  if (pump.closes || pump.socket < 0) return;
  pump.closes = library().exs_close_async(pump.socket, 0, queue(), handle_of(link, Op::kClose)) == 0;
}

// The link is unused, and no event of it is pending.
void free_link(HostLink& link) noexcept {
  if (link.pump.region >= 0) library().exs_mderegister(link.pump.region, 0);
  link.pump.region = EXS_MHANDLE_INVALID;
  if (link.segment != nullptr) unmap_segment(link.segment, link.capacity);
  link.segment = nullptr;
  link.released.store(false);
  link.state.store(State::kFree);
  tell(link);
}

// A bell that arrives after the close would cause a reset.
bool has_bells_awaited(HostLink& link) noexcept {
  while (link.bells_awaited > 0) {
    char bell;
    const long count = raw::sys(SYS_recvfrom, link.descriptor, &bell, 1, MSG_DONTWAIT, nullptr, nullptr);
    if (count == -EAGAIN) return true;
    if (count <= 0) break;
    --link.bells_awaited;
  }
  link.bells_awaited = 0;
  return false;
}

// Serves a link that the program has given up. True: look at it again soon.
bool drain(HostLink& link) noexcept {
  HostLink::Pump& pump = link.pump;
  const State state = link.state.load();
  const bool runs = state == State::kRuns || state == State::kSettles;
  if (link.descriptor >= 0) {
    if (runs && !pump.broken) send_news(link);
    const bool waits = runs && !pump.broken && (!is_sent(link) || has_bells_awaited(link));
    if (waits && now_ns() - link.released_ns < kDrainNs) return true;
    if (runs && !pump.broken && !is_sent(link)) {
      log_line("a connection is reset: its peer did not take what was sent before it was closed within %d s",
               static_cast<int>(kDrainNs / kNsPerSecond));
      reset(link);
    }
    close_descriptor(link);
    tell(link);
  }
  close_stream(link);
  if (pump.socket < 0 && !link.is_asked.load()) free_link(link);
  return false;
}

void dial(HostLink& link) noexcept {
  const SocketName name(link.meets_at);
  link.pump.socket = open_stream(name);
  if (link.pump.socket < 0 || library().exs_connect(link.pump.socket, name.address(), name.length(), 0,
                                                    queue(), handle_of(link, Op::kConnect)) != 0)
    fail(link, Fault::kNoPath);
}

void join_stream(HostLink& link) noexcept {
  link.state.store(State::kRuns);
  begin_stream(link);
}

// Ends our sending if the peer has asked for our last turn. True: look at it again soon.
bool finish_if_asked(HostLink& link) noexcept {
  if (!link.pump.finishes || link.released.load()) return false;
  if (!finish_sending(link)) return true;
  link.pump.finishes = false;
  return false;
}

bool is_served(State state) noexcept {
  return state == State::kRuns || state == State::kSettles;
}

// True: look at it again soon.
bool look_at_broken(HostLink& link) noexcept {
  HostLink::Pump& pump = link.pump;
  if (pump.receives || pump.sends > 0) return false;  // their events are pending
  const bool peer_lives = is_tcp_established(link.descriptor);
  if (peer_lives && now_ns() - pump.since_ns < kGraceNs) return true;
  Direction& out = link.outgoing();
  out.closed.store(1);  // no further stretch begins
  const bool lost_ours = out.epoch.load() != link.turned.load();
  const bool lost_theirs = pump.cut || (peer_lives && link.incoming().epoch.load() != pump.turned);
  if (lost_theirs || (peer_lives && lost_ours))
    reset_program(link, "the path between the hosts broke while bytes were on it");
  link.lost_bytes.store(lost_ours);
  close_incoming(link);
  link.state.store(State::kOver);
  tell(link);
  return false;
}

void take_end_of_stream(HostLink& link) noexcept {
  link.pump.socket = -1;
  link.pump.closes = false;
}

}  // namespace

bool is_tcp_established(int descriptor) noexcept {
  constexpr int kEstablished = 1;
  return tcp_state(descriptor) == kEstablished;
}

void close_descriptor(HostLink& link) noexcept {
  if (link.descriptor < 0) return;
  close_hidden(link.descriptor);
  link.descriptor = -1;
}

int open_stream(const SocketName& name) noexcept {
  const int socket = library().exs_socket(name.family(), SOCK_STREAM, 0);
  if (socket < 0) return -1;
  const char* const provider = takes_any_path() ? "require:iwarp" : "require:verbs";
  const int limit_ms = 4000;
  const int linger_ms = 2000;
  const int on = 1;
  const char label[] = "sockets";  // in exs-top
  library().exs_setsockopt(socket, SOL_EXS, EXS_SO_PROVIDER, provider,
                           static_cast<socklen_t>(__builtin_strlen(provider)));
  library().exs_setsockopt(socket, SOL_EXS, EXS_SO_CONNECT_TIMEOUT_MS, &limit_ms, sizeof limit_ms);
  library().exs_setsockopt(socket, SOL_EXS, EXS_SO_LINGER_MS, &linger_ms, sizeof linger_ms);
  library().exs_setsockopt(socket, SOL_EXS, EXS_SO_NODELAY, &on, sizeof on);
  library().exs_setsockopt(socket, SOL_EXS, EXS_SO_LABEL, label, sizeof label);
  return socket;
}

bool look_at(HostLink& link) noexcept {
  if (link.released.load()) return drain(link);
  switch (link.state.load()) {
    case State::kListens: listen_for(link); return false;
    case State::kDials:
      if (link.pump.socket < 0) dial(link);
      return false;
    case State::kJoins: join_stream(link); break;
    default: break;
  }
  if (!is_served(link.state.load())) return false;
  if (link.pump.broken) return look_at_broken(link);
  const bool again = finish_if_asked(link);
  send_news(link);
  return again;
}

void take_link_event(HostLink& link, Op op, const exs_event_t& event) noexcept {
  HostLink::Pump& pump = link.pump;
  const bool failed = event.exs_evt_errno != 0 || (event.exs_evt_flags & EXS_EVF_EOF) != 0;
  switch (op) {
    case Op::kWake: link.woken.store(false); break;
    case Op::kConnect:
      if (failed) return fail(link, Fault::kNoPath);
      if (link.released.load()) break;
      if (State dials = State::kDials; !link.state.compare_exchange_strong(dials, State::kSettles)) break;
      if (send_hello(link)) begin_stream(link);
      break;
    case Op::kHello:
    case Op::kSend:
      EXS_CHECK(pump.sends > 0);
      --pump.sends;
      if (failed) break_off(link, false);
      if (pump.sends == 0 && (pump.told.flags & kHasFinal) != 0 && pump.told.turned == pump.turned) {
        link.answered.store(true);
        tell(link);
      }
      break;
    case Op::kFrame:
      EXS_CHECK(pump.receives);
      pump.receives = false;
      if (failed)
        break_off(link, event.exs_evt_union.exs_evt_xfer.exs_evt_length > 0);
      else
        take_frame(link);
      break;
    case Op::kData:
      EXS_CHECK(pump.receives);
      pump.receives = false;
      if (failed)
        break_off(link, true);
      else
        take_data(link);
      break;
    case Op::kClose: take_end_of_stream(link); break;
  }
}

void fail(HostLink& link, Fault fault) noexcept {
  link.fault.store(fault);
  link.state.store(State::kOver);
  tell(link);
}

void break_off(HostLink& link, bool in_frame) noexcept {
  HostLink::Pump& pump = link.pump;
  pump.cut = pump.cut || in_frame || pump.data_left > 0;
  if (pump.broken) return;
  pump.broken = true;
  pump.since_ns = now_ns();
  close_stream(link);
}

}  // namespace exs::sockets::between
