#include "tools/explain/connection.h"

#include <netdb.h>

#include <cerrno>
#include <memory>

#include "perf/support/endpoint.h"
#include "tools/common/clock.h"
#include "tools/common/failure.h"
#include "tools/common/units.h"

namespace explain {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr int kSpareMs = 5000;  // the library keeps the limit itself

AddressList resolve(const Target& target) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(target.host.c_str(), std::to_string(target.port).c_str(), &hints, &list);
  if (error != 0) throw tools::Failure("no address for \"" + target.host + "\": " + ::gai_strerror(error));
  return {list, &::freeaddrinfo};
}

std::string in_numbers(const addrinfo& address) {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (::getnameinfo(address.ai_addr, address.ai_addrlen, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "unknown address";
  }
  return address.ai_family == AF_INET6 ? tools::text("[%s]:%s", host, port)
                                       : tools::text("%s:%s", host, port);
}

perf::Socket open_socket(int family, int type, const Target& target) {
  perf::Socket socket(exs_socket(family, type, 0));
  if (socket.descriptor() == -1) tools::fail("cannot open a socket", errno);
  if (!target.provider.empty() &&
      exs_setsockopt(socket.descriptor(), SOL_EXS, EXS_SO_PROVIDER, target.provider.data(),
                     static_cast<socklen_t>(target.provider.size())) == -1) {
    tools::fail("provider " + target.provider, errno);
  }
  if (exs_setsockopt(socket.descriptor(), SOL_EXS, EXS_SO_CONNECT_TIMEOUT_MS, &target.limit_ms,
                     sizeof target.limit_ms) == -1) {
    tools::fail("cannot set the time limit", errno);
  }
  return socket;
}

// errno of the event.
int connect_socket(const perf::Socket& socket, const addrinfo& address, perf::Queue& queue, int limit_ms) {
  if (exs_connect(socket.descriptor(), address.ai_addr, address.ai_addrlen, 0, queue.handle(), nullptr) == -1)
    return errno;
  exs_event_t event{};
  int taken = -1;
  do {
    taken = exs_qwait(queue.handle(), &event, 1, 1, (limit_ms + std::int64_t{kSpareMs}) * kNsPerMs);
  } while (taken == -1 && errno == EINTR);
  if (taken == -1) tools::fail("cannot wait for the connection", errno);
  return taken == 0 ? ETIMEDOUT : event.exs_evt_errno;
}

std::vector<exs_reason_t> reasons_of(const perf::Socket& socket) {
  std::vector<exs_reason_t> reasons(EXS_REASONS_MAX);
  auto length = static_cast<socklen_t>(reasons.size() * sizeof(exs_reason_t));
  if (exs_getsockopt(socket.descriptor(), SOL_EXS, EXS_SO_REASON, reasons.data(), &length) == -1)
    tools::fail("cannot ask for the reasons", errno);
  reasons.resize(length / sizeof(exs_reason_t));
  return reasons;
}

Connected connect_once(const Target& target, const addrinfo& address, int type, perf::Queue& queue) {
  const perf::Socket socket = open_socket(address.ai_family, type, target);
  Connected outcome;
  outcome.address = in_numbers(address);
  tools::Stopwatch watch;
  watch.start();
  outcome.error = connect_socket(socket, address, queue, target.limit_ms);
  watch.stop();
  outcome.connect_seconds = static_cast<double>(watch.wall_ns()) / static_cast<double>(tools::kNsPerSecond);
  if (outcome.error == 0) outcome.provider = perf::provider_of(socket.descriptor());
  outcome.reasons = reasons_of(socket);
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

Connected connect_to(const Target& target) {
  const AddressList list = resolve(target);
  const perf::Library library;
  perf::Queue queue(4, perf::Wait::notify);
  Connected outcome = connect_once(target, *list, SOCK_SEQPACKET, queue);
  // Whether the server speaks in messages or in bytes makes no difference here.
  if (outcome.error == EPROTOTYPE) outcome = connect_once(target, *list, SOCK_STREAM, queue);
  return outcome;
}

}  // namespace explain
