// SPDX-License-Identifier: BSD-2-Clause
#include "tools/explain/connection.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exs/exs.hpp>
#include <system_error>

#include "tools/common/clock.h"
#include "tools/common/failure.h"
#include "tools/common/interrupt.h"
#include "tools/common/progress_line.h"
#include "tools/common/sockets.h"
#include "tools/common/units.h"

namespace explain {
namespace {

using exs::cpp::Address;
using exs::cpp::Queue;
using exs::cpp::Socket;

constexpr int kSpareMs = 5000;  // the library applies the limit; this wait only outlasts it
constexpr std::uint64_t kNsPerMs = 1'000'000;
// A sleep may begin just after the signal that should end it, so sleeps are limited.
constexpr std::uint64_t kSleepMaxNs = 100 * kNsPerMs;

Socket open_socket(int family, int type, const Target& target) {
  Socket socket = tools::try_to("cannot open a socket", [&] { return Socket::create(type, family); });
  if (!target.provider.empty()) {
    tools::try_to("provider " + target.provider,
                  [&] { socket.set_text_option(EXS_SO_PROVIDER, target.provider); });
  }
  tools::try_to("cannot set the time limit",
                [&] { socket.set_option(EXS_SO_CONNECT_TIMEOUT_MS, target.limit_ms); });
  return socket;
}

// Returns the errno value of the event. EINTR: a signal ended the wait.
int wait_for_connect(const Queue& queue, const Address& address, int limit_ms) {
  tools::ProgressLine line;
  const std::uint64_t begun_ns = exs::monotonic_ns();
  const std::uint64_t end_ns = begun_ns + static_cast<std::uint64_t>(limit_ms + kSpareMs) * kNsPerMs;
  for (std::uint64_t at_ns = begun_ns; at_ns < end_ns && !tools::interrupted(); at_ns = exs::monotonic_ns()) {
    if (at_ns >= line.due_ns()) {
      line.print(at_ns, tools::format("%s: %.0f s of %.0f s, not connected yet", address.text().c_str(),
                                      tools::seconds_of(at_ns - begun_ns), limit_ms / 1000.0));
    }
    const std::chrono::nanoseconds limit(std::min({end_ns, line.due_ns(), at_ns + kSleepMaxNs}) - at_ns);
    exs_event_t event{};
    const Queue::Taken taken = queue.wait({&event, 1}, 1, limit);
    if (taken.error == std::errc::interrupted) continue;
    if (!taken) tools::fail("cannot wait for the connection", taken.error.value());
    if (!taken.events.empty()) return event.exs_evt_errno;
  }
  return tools::interrupted() ? EINTR : ETIMEDOUT;
}

// Returns the errno value of the event.
int connect_socket(Socket& socket, const Address& address, const Queue& queue, int limit_ms) {
  if (const auto connect = socket.connect(address, {queue.handle()}); !connect) return connect.error.value();
  return wait_for_connect(queue, address, limit_ms);
}

ConnectResult connect_once(const Target& target, const Address& address, int type, const Queue& queue) {
  Socket socket = open_socket(address.family(), type, target);
  ConnectResult outcome;
  outcome.address = address.text();
  tools::Stopwatch watch;
  watch.start();
  outcome.error = connect_socket(socket, address, queue, target.limit_ms);
  watch.stop();
  outcome.connect_seconds = tools::seconds_of(watch.wall_ns());
  if (outcome.error == 0) outcome.provider = socket.provider();
  if (outcome.error != 0)
    outcome.words = tools::try_to("cannot ask for the words", [&] { return socket.error_text(); });
  outcome.reasons = tools::try_to("cannot ask for the reasons", [&] { return socket.reasons(); });
  return outcome;
}

}  // namespace

Target parse_target(const std::string& word) {
  constexpr unsigned long kPortMax = 65535;
  const std::size_t colon = word.rfind(':');
  Target target;
  if (colon != std::string::npos) target.host = word.substr(0, colon);
  if (target.host.size() > 2 && target.host.front() == '[' && target.host.back() == ']')
    target.host = target.host.substr(1, target.host.size() - 2);
  const std::string port = colon == std::string::npos ? "" : word.substr(colon + 1);
  const bool is_number =
      !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == std::string::npos;
  const unsigned long number = is_number ? std::stoul(port) : 0;
  if (target.host.empty() || number == 0 || number > kPortMax)
    throw tools::UsageError("\"" + word + "\" is not HOST:PORT");
  target.port = static_cast<std::uint16_t>(number);
  return target;
}

ConnectResult connect_to(const Target& target) {
  const Address address = tools::resolve(target.host, target.port);
  const exs::cpp::Library library;
  const Queue queue(4);
  queue.set(EXS_QATTR_WAIT, EXS_WAIT_NOTIFY);
  ConnectResult outcome = connect_once(target, address, SOCK_SEQPACKET, queue);
  // The server listens for byte streams, not for messages.
  if (outcome.error == EPROTOTYPE) outcome = connect_once(target, address, SOCK_STREAM, queue);
  return outcome;
}

}  // namespace explain
