// SPDX-License-Identifier: BSD-2-Clause
#include "tests/explain/two_ends.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/child_process.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace {

constexpr std::size_t kMessageBytes = 300'000;
constexpr int kRounds = 4;  // so that ways that begin by doubt settle

// ---------------------------------------------------------------- what a child tells its parent

struct Header {
  std::uint8_t confined = 0;
  std::uint8_t data_right = 0;
  std::int32_t error = 0;
  std::uint32_t reasons = 0;
  char provider[16] = {};
};

class Report {
 public:
  Report() {
    if (::pipe(ends_.data()) != 0) std::abort();
  }
  ~Report() {
    for (const int end : ends_) ::close(end);
  }
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  // Of the child. A pipe takes at least this much at once.
  void tell(const Told& told) const {
    Header header;
    header.confined = told.confined ? 1 : 0;
    header.data_right = told.data_right ? 1 : 0;
    header.error = told.error;
    header.reasons = static_cast<std::uint32_t>(told.reasons.size());
    std::snprintf(header.provider, sizeof header.provider, "%s", told.provider.c_str());
    write(&header, sizeof header);
    write(told.reasons.data(), told.reasons.size() * sizeof(exs_reason_t));
  }
  // Of the parent.
  [[nodiscard]] Told hear() const {
    Header header;
    read(&header, sizeof header);
    Told told{header.confined != 0, header.error, header.data_right != 0, header.provider,
              std::vector<exs_reason_t>(header.reasons)};
    read(told.reasons.data(), told.reasons.size() * sizeof(exs_reason_t));
    return told;
  }

 private:
  void write(const void* bytes, std::size_t count) const {
    if (::write(ends_[1], bytes, count) != static_cast<ssize_t>(count)) std::abort();
  }
  void read(void* bytes, std::size_t count) const {
    for (std::size_t done = 0; done < count;) {
      const ssize_t got = ::read(ends_[0], static_cast<std::byte*>(bytes) + done, count - done);
      if (got <= 0) std::abort();
      done += static_cast<std::size_t>(got);
    }
  }

  std::array<int, 2> ends_{};
};

// ---------------------------------------------------------------- one end

std::vector<exs_reason_t> reasons_of(int socket) {
  std::vector<exs_reason_t> reasons(EXS_REASONS_MAX);
  auto length = static_cast<socklen_t>(reasons.size() * sizeof(exs_reason_t));
  if (exs_getsockopt(socket, SOL_EXS, EXS_SO_REASON, reasons.data(), &length) != 0) std::abort();
  reasons.resize(length / sizeof(exs_reason_t));
  return reasons;
}

std::string provider_of(int socket) {
  char name[16] = {};
  socklen_t length = sizeof name;
  if (exs_getsockopt(socket, SOL_EXS, EXS_SO_PROVIDER, name, &length) != 0) std::abort();
  return name;
}

std::uint8_t byte_at(std::size_t offset, int round) {
  return static_cast<std::uint8_t>(offset * 31 + offset / 251 + static_cast<std::size_t>(round) * 7);
}

// Posts one transfer and awaits it.
bool transfer(Queue& queue, int socket, std::span<std::uint8_t> memory, bool sends) {
  const exs_mhandle_t region = exs_mregister(memory.data(), memory.size(), 0);
  const int posted =
      sends ? exs_send(socket, memory.data(), memory.size(), 0, queue.handle(), nullptr, region)
            : exs_recv(socket, memory.data(), memory.size(), MSG_WAITALL, queue.handle(), nullptr, region);
  if (posted != 0) return false;
  const exs_event_t event = queue.next_of(socket, sends ? EXS_EVT_SEND : EXS_EVT_RECV);
  exs_mderegister(region, 0);
  return event.exs_evt_errno == 0 && event.exs_evt_union.exs_evt_xfer.exs_evt_length == memory.size();
}

// The client sends and gets back what it sent, turned over.
bool exchange(Queue& queue, int socket, bool begins) {
  std::vector<std::uint8_t> memory(kMessageBytes);
  for (int round = 0; round < kRounds; ++round) {
    if (begins) {
      for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = byte_at(i, round);
      if (!transfer(queue, socket, memory, true)) return false;
      if (!transfer(queue, socket, memory, false)) return false;
      for (std::size_t i = 0; i < memory.size(); ++i) {
        if (memory[i] != static_cast<std::uint8_t>(~byte_at(i, round))) return false;
      }
    } else {
      if (!transfer(queue, socket, memory, false)) return false;
      for (std::uint8_t& byte : memory) byte = static_cast<std::uint8_t>(~byte);
      if (!transfer(queue, socket, memory, true)) return false;
    }
  }
  return true;
}

void prepare(const End& end) {
  ::alarm(kHangLimitSeconds);
  ::signal(SIGABRT, SIG_DFL);  // Boost.Test would go on with the next case in the child
  for (const auto& [name, value] : end.environment) ::setenv(name.c_str(), value.c_str(), 1);
}

int open_socket(const End& end) {
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  if (socket == -1) std::abort();
  if (!end.wish.empty() && exs_setsockopt(socket, SOL_EXS, EXS_SO_PROVIDER, end.wish.data(),
                                          static_cast<socklen_t>(end.wish.size())) != 0) {
    std::abort();
  }
  return socket;
}

void finish(Told& told, Queue& queue, int socket, bool begins) {
  told.data_right = exchange(queue, socket, begins);
  told.provider = provider_of(socket);
  told.reasons = reasons_of(socket);
}

// The engine opens what it opens for itself once there is something to do.
void confine_connection(const End& end, Told& told, Queue& queue) {
  if (!end.confine_connection) return;
  const int idle = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  sockaddr_in address = loopback();
  if (exs_bind(idle, generic(address), sizeof address) != 0 || exs_listen(idle, 1) != 0 ||
      exs_accept(idle, nullptr, 0, queue.handle(), nullptr) != 0) {
    std::abort();
  }
  await_engines();
  told.confined = end.confine_connection();
}

void serve(const End& end, const Report& report, const PortPipe& port) {
  Told told;
  if (exs_init(EXS_VERSION) != 0) std::abort();
  const int listening = open_socket(end);
  sockaddr_in address = loopback();
  if (exs_bind(listening, generic(address), sizeof address) != 0) std::abort();
  told.confined = !end.confine_library || end.confine_library();
  if (!told.confined) {
    port.tell(0);
    return report.tell(told);
  }
  if (exs_listen(listening, 8) != 0) std::abort();
  socklen_t length = sizeof address;
  if (exs_getsockname(listening, generic(address), &length) != 0) std::abort();
  Queue queue;
  if (exs_accept(listening, nullptr, 0, queue.handle(), nullptr) != 0) std::abort();
  confine_connection(end, told, queue);
  port.tell(ntohs(address.sin_port));
  const exs_event_t event = queue.next_of(listening, EXS_EVT_ACCEPT);
  told.error = event.exs_evt_errno;
  const int socket = event.exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  if (told.error == 0) finish(told, queue, socket, false);
  report.tell(told);
  exs_close(socket);
  ::pause();  // the parent ends it
}

void call(const End& end, const Report& report, const PortPipe& port) {
  Told told;
  if (exs_init(EXS_VERSION) != 0) std::abort();
  const int socket = open_socket(end);
  told.confined = !end.confine_library || end.confine_library();
  const std::uint16_t number = port.hear();
  if (!told.confined || number == 0) return report.tell(told);
  Queue queue;
  sockaddr_in address = loopback(number);
  confine_connection(end, told, queue);
  if (exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), nullptr) != 0) std::abort();
  told.error = queue.next_of(socket, EXS_EVT_CONNECT).exs_evt_errno;
  if (told.error == 0) {
    finish(told, queue, socket, true);
  } else {
    told.reasons = reasons_of(socket);
  }
  report.tell(told);
  exs_close(socket);
  ::pause();
}

using Body = void (*)(const End&, const Report&, const PortPipe&);

void run_end(const End& end, Body body, const Report& report, const PortPipe& port, bool is_server) {
  prepare(end);
  const bool namespaced = !end.in_own_pid_namespace || ::unshare(CLONE_NEWPID) == 0;
  if (!namespaced || (end.confine && !end.confine())) {
    if (is_server) port.tell(0);
    return report.tell({});
  }
  if (!end.in_own_pid_namespace) return body(end, report, port);
  // A new PID namespace begins with the next child; it ends when that does.
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    body(end, report, port);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
}

}  // namespace

const exs_reason_t* Told::find(const std::string& of_provider, int verdict) const {
  for (const exs_reason_t& reason : reasons) {
    if (of_provider == reason.provider && reason.verdict == verdict) return &reason;
  }
  return nullptr;
}

bool Ends::ran() const {
  static int skipped = 0;
  if (server.confined && client.confined) return true;
  std::printf("skipped (%d so far): this process may not take those rights away from its children\n",
              ++skipped);
  return false;
}

Ends connect_ends(const End& server, const End& client, const Detour& detour) {
  const Report server_report;
  const Report client_report;
  const PortPipe port_of_server;
  const PortPipe port_for_client;
  ::alarm(2 * kHangLimitSeconds);  // an end that fell says nothing
  Child serving([&] { run_end(server, serve, server_report, port_of_server, true); });
  Child calling([&] { run_end(client, call, client_report, port_for_client, false); });
  const std::uint16_t port = port_of_server.hear();
  port_for_client.tell(detour && port != 0 ? detour(port) : port);
  Ends ends;
  ends.client = client_report.hear();
  if (ends.client.confined && ends.client.error == 0) {
    ends.server = server_report.hear();
  } else {
    ends.server.confined = port != 0;
    ends.server.error = -1;
  }
  ::alarm(0);
  return ends;
}

// ---------------------------------------------------------------- checks

namespace {

void check_words(const exs_reason_t& reason, int code) {
  BOOST_TEST(reason.code == code);
  BOOST_TEST(std::strlen(reason.name) > 3U);
  BOOST_TEST(reason.name != "unknown");
  BOOST_TEST(std::strlen(reason.cure) > 5U);
  BOOST_TEST_MESSAGE(reason.provider << " " << reason.name << ": " << reason.fact << " (cure: " << reason.cure
                                     << ")");
}

std::string listed(const Told& end) {
  std::string text;
  for (const exs_reason_t& reason : end.reasons) {
    text += std::string("\n  ") + reason.provider + " verdict " + std::to_string(reason.verdict) + " " +
            reason.name + (reason.told_by_peer != 0 ? " (says the peer): " : ": ") + reason.fact;
  }
  return text;
}

}  // namespace

void check_used(const Told& end, const std::string& provider) {
  BOOST_TEST_CONTEXT("told:" << listed(end)) {
    BOOST_TEST(end.error == 0);
    BOOST_TEST(end.provider == provider);
    BOOST_TEST(end.find(provider, EXS_VERDICT_USED) != nullptr);
    BOOST_TEST(end.data_right);
    for (const exs_reason_t& reason : end.reasons) {
      BOOST_TEST((reason.verdict != EXS_VERDICT_USED || provider == reason.provider));
    }
  }
}

void check_refused(const Told& end, const std::string& provider, int code, bool told_by_peer) {
  BOOST_TEST_CONTEXT("told:" << listed(end)) {
    const exs_reason_t* reason = end.find(provider, EXS_VERDICT_REFUSED);
    BOOST_REQUIRE(reason != nullptr);
    check_words(*reason, code);
    BOOST_TEST((reason->told_by_peer != 0) == told_by_peer);
  }
}

void check_limited(const Told& end, const std::string& provider, int code) {
  BOOST_TEST_CONTEXT("told:" << listed(end)) {
    const exs_reason_t* reason = end.find(provider, EXS_VERDICT_LIMITED);
    BOOST_REQUIRE(reason != nullptr);
    check_words(*reason, code);
    BOOST_TEST(reason->fact != "");
  }
}

void check_unlimited(const Told& end) {
  BOOST_TEST_CONTEXT("told:" << listed(end)) {
    for (const exs_reason_t& reason : end.reasons) BOOST_TEST(reason.verdict != int{EXS_VERDICT_LIMITED});
  }
}

bool is_root() {
  return ::geteuid() == 0;
}

}  // namespace exs::test
