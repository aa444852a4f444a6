// Asks agents of other hosts to bring ends together. It has its own thread, because an agent may answer late
// or never. The thread begins with the first question, and asks one agent at a time.
// SPDX-License-Identifier: BSD-2-Clause
#include <linux/futex.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "sockets/between/pump.h"
#include "sockets/between/socket_name.h"
#include "sockets/preload/kernel/raw.h"

namespace exs::sockets::between {
namespace {

constexpr long kConnectMs = 1000;
constexpr long kAnswerMs = 2000;
// A host without an agent is not asked again for this time.
constexpr std::uint64_t kSilenceNs = 10 * kNsPerSecond;

std::atomic<std::uint32_t> questions{0};
std::atomic<bool> asks{false};

struct Silent {
  Place16 host;
  std::uint64_t until_ns;
};
constexpr std::size_t kSilentMax = 32;
Silent silent[kSilentMax];
std::size_t next_silent = 0;

bool is_silent(const Place16& host) noexcept {
  const std::uint64_t now = now_ns();
  for (const Silent& known : silent)
    if (known.until_ns > now && std::memcmp(&known.host, &host, sizeof host) == 0) return true;
  return false;
}

// Waits for the event. False: time is over.
bool await(int socket, short event, long limit_ms) noexcept {
  pollfd ready{socket, event, 0};
  const timespec limit = to_timespec(static_cast<std::uint64_t>(limit_ms) * kNsPerMs);
  return raw::sys(SYS_ppoll, &ready, 1, &limit, nullptr, 0) == 1;
}

bool connect_to(int socket, const Place16& agent) noexcept {
  const SocketName name(agent);
  const long begun = raw::sys(SYS_connect, socket, name.address(), name.length());
  if (begun == 0) return true;
  if (begun != -EINPROGRESS || !await(socket, POLLOUT, kConnectMs)) return false;
  int error = 0;
  socklen_t length = sizeof error;
  return raw::sys(SYS_getsockopt, socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0;
}

// The agent accepts only requests from the TCP connection's address.
bool bind_to(int socket, Place16 own) noexcept {
  own.port = 0;
  const SocketName name(own);
  return raw::sys(SYS_bind, socket, name.address(), name.length()) == 0;
}

Fault ask(int socket, const Place16& agent, const Place16& own, const AgentRequest& request) noexcept {
  if (!bind_to(socket, own) || !connect_to(socket, agent)) return Fault::kNoAgent;
  if (raw::sys(SYS_sendto, socket, &request, sizeof request, MSG_NOSIGNAL, nullptr, 0) != sizeof request)
    return Fault::kNoAgent;
  AgentAnswer answer{};
  if (!await(socket, POLLIN, kAnswerMs) ||
      raw::sys(SYS_recvfrom, socket, &answer, sizeof answer, MSG_WAITALL | MSG_DONTWAIT, nullptr, nullptr) !=
          sizeof answer ||
      answer.magic != kRequestMagic)
    return Fault::kNoAgent;
  return answer.verdict == Verdict::kPlaced ? Fault::kNone : Fault::kNotFound;
}

void ask_for(HostLink& link) noexcept {
  AgentRequest request{};
  request.magic = kRequestMagic;
  request.caller = link.own;
  request.called = link.peer;
  request.meets_at = link.meets_at;
  request.token = link.token;
  Place16 agent = link.peer;
  agent.port = link.agent_port;
  Fault fault = Fault::kNoAgent;
  if (!is_silent(agent)) {
    const long socket =
        raw::sys(SYS_socket, SocketName(agent).family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket >= 0) {
      fault = ask(static_cast<int>(socket), agent, link.own, request);
      raw::sys(SYS_close, socket);
    }
    if (fault == Fault::kNoAgent) silent[next_silent++ % kSilentMax] = {agent, now_ns() + kSilenceNs};
  }
  State waits = State::kAsks;
  if (fault != Fault::kNone) {
    link.fault.store(fault);
    link.state.compare_exchange_strong(waits, State::kOver);
  }
}

void* ask_all(void*) noexcept {
  for (;;) {
    const std::uint32_t known = questions.load();
    for (HostLink& link : taken_links()) {
      if (!link.is_asked.load()) continue;
      if (link.state.load() == State::kAsks && !link.released.load()) ask_for(link);
      link.is_asked.store(false);
      if (link.released.load()) post_wake(link);
    }
    raw::sys(SYS_futex, &questions, FUTEX_WAIT_PRIVATE, known, nullptr, nullptr, 0);
  }
}

}  // namespace

void ask_agents() noexcept {
  questions.fetch_add(1);
  raw::sys(SYS_futex, &questions, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  if (!asks.exchange(true) && !start_thread(ask_all)) asks.store(false);
}

void forget_asking() noexcept {
  asks.store(false);
}

}  // namespace exs::sockets::between
