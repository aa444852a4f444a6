// Connections through an RDMA device: which of the device and the network a connect tries first, what happens
// when the device fails, and which listeners peers reach. The device is a fake.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "src/proto/hello.h"
#include "tests/support/exs_fixture.h"
#include "tests/support/fake_verbs.h"

namespace exs::test {
namespace device_test {

const std::vector<std::string> kChoices = {"auto",          "prefer:verbs", "prefer:shm", "prefer:iwarp",
                                           "require:verbs", "require:shm",  "iwarp",      "forbid:verbs",
                                           "forbid:shm",    "forbid:iwarp"};

bool allows(const std::string& choice, const std::string& provider) {
  if (choice == "auto" || choice.starts_with("prefer:")) return true;
  if (choice.starts_with("forbid:")) return choice != "forbid:" + provider;
  return choice == provider || choice == "require:" + provider;
}

std::string wish_of(const std::string& choice) {
  return choice.starts_with("prefer:") ? choice.substr(7) : "";
}

// Both ends are on one host.
std::optional<std::string> expected(const std::string& ours, const std::string& theirs) {
  const auto both_allow = [&](const std::string& provider) {
    return allows(ours, provider) && allows(theirs, provider);
  };
  const auto by_network = [&]() -> std::optional<std::string> {
    for (const std::string& wish :
         {wish_of(ours), wish_of(theirs), std::string("shm"), std::string("iwarp")}) {
      if ((wish == "shm" || wish == "iwarp") && both_allow(wish)) return wish;
    }
    return std::nullopt;
  };
  const bool network_first = wish_of(ours) == "iwarp" || (wish_of(ours) != "verbs" && allows(ours, "shm"));
  if (both_allow("verbs") && !(network_first && by_network())) return "verbs";
  return by_network();
}

// The verdict on a provider, as "used" or "refused no-route: by order of the test", followed by "(peer)" if
// the peer reported it. Empty: there is none.
std::string said_of(int socket, const std::string& provider) {
  std::vector<exs_reason_t> found(EXS_REASONS_MAX);
  auto length = static_cast<socklen_t>(found.size() * sizeof(exs_reason_t));
  BOOST_REQUIRE_EQUAL(exs_getsockopt(socket, SOL_EXS, EXS_SO_REASON, found.data(), &length), 0);
  found.resize(length / sizeof(exs_reason_t));
  for (const exs_reason_t& reason : found) {
    if (reason.provider != provider) continue;
    if (reason.verdict == EXS_VERDICT_USED) return "used";
    const std::string verdict = reason.verdict == EXS_VERDICT_REFUSED ? "refused " : "limited ";
    return verdict + reason.name + (reason.fact[0] != '\0' ? std::string(": ") + reason.fact : "") +
           (reason.told_by_peer != 0 ? " (peer)" : "");
  }
  return "";
}

std::vector<std::byte> rejection(int reason) {
  const auto words = proto::make_rejection(reason);
  return {words.view().begin(), words.view().end()};
}

// Sets the behaviour of the device before the library creates its shards.
struct Prepared {
  explicit Prepared(const FakeVerbs::Behaviour& behaviour) { fake.behave(behaviour); }
  FakeVerbs& fake = FakeVerbs::instance();
};

struct Fixture : Prepared {
  explicit Fixture(const FakeVerbs::Behaviour& behaviour = {}) : Prepared(behaviour) {}

  InitializedLibrary library;
  Queue queue;
  Memory memory{4096};
  sockaddr_in address{};
  int listening = -1;
  std::vector<int> sockets;

  ~Fixture() {
    for (const int socket : sockets) exs_close(socket);
    if (listening >= 0) exs_close(listening);
  }

  int make_socket(const std::string& choice) {
    const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    choose_provider(socket, choice);
    return socket;
  }
  int bound_socket(const std::string& choice) {
    const int socket = make_socket(choice);
    address = loopback();
    BOOST_REQUIRE_EQUAL(exs_bind(socket, generic(address), sizeof address), 0);
    socklen_t length = sizeof address;
    BOOST_REQUIRE_EQUAL(exs_getsockname(socket, generic(address), &length), 0);
    return socket;
  }
  void post_accept() { BOOST_REQUIRE_EQUAL(exs_accept(listening, nullptr, 0, queue.handle(), nullptr), 0); }
  void listen(const std::string& choice) {
    listening = bound_socket(choice);
    BOOST_REQUIRE_EQUAL(exs_listen(listening, 8), 0);
    post_accept();
  }
  int start_connect(const std::string& choice, int limit_ms = 0) {
    const int socket = make_socket(choice);
    sockets.push_back(socket);
    if (limit_ms > 0) BOOST_REQUIRE_EQUAL(set_option(socket, EXS_SO_CONNECT_TIMEOUT_MS, limit_ms), 0);
    BOOST_REQUIRE_EQUAL(exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), this), 0);
    return socket;
  }
  std::string outcome_of(int socket) { return queue.next_outcome(socket, EXS_EVT_CONNECT); }
  int accepted() {
    const exs_event_t event = queue.next_of(listening, EXS_EVT_ACCEPT);
    BOOST_TEST(event.exs_evt_errno == 0);
    sockets.push_back(event.exs_evt_union.exs_evt_accept.exs_evt_newsocket);
    return sockets.back();
  }
  void echo(int from, int to) {
    memory.fill(7);
    BOOST_REQUIRE_EQUAL(exs_recv(to, memory.at(2048), 2048, 0, queue.handle(), nullptr, memory.handle()), 0);
    BOOST_REQUIRE_EQUAL(exs_send(from, memory.at(), 2048, 0, queue.handle(), nullptr, memory.handle()), 0);
    BOOST_TEST(queue.next_outcome(to, EXS_EVT_RECV) == "0");
    BOOST_TEST(std::memcmp(memory.at(), memory.at(2048), 2048) == 0);
  }
};

struct WithoutPort : Fixture {
  WithoutPort() : Fixture({.port_opens = false}) {}
};

std::string name_text(int (*call)(int, sockaddr*, socklen_t*), int socket) {
  sockaddr_in name{};
  socklen_t length = sizeof name;
  if (call(socket, generic(name), &length) != 0) return errno_name(errno);
  BOOST_TEST(length == sizeof name);
  const std::uint32_t host = ntohl(name.sin_addr.s_addr);
  return host == kFakeOwnAddress ? "ours" : host == kFakePeerAddress ? "peer's" : "other";
}

}  // namespace device_test

BOOST_FIXTURE_TEST_SUITE(device_test, Fixture)

// ---------------------------------------------------------------- choice

BOOST_DATA_TEST_CASE_F(Fixture, both_ends_choose, kChoices, theirs) {
  listen(theirs);
  for (const std::string& ours : kChoices) {
    BOOST_TEST_CONTEXT("initiator " << ours << ", responder " << theirs) {
      const int socket = start_connect(ours);
      const auto provider = expected(ours, theirs);
      const std::string result = outcome_of(socket);
      if (provider) {
        BOOST_TEST(result == "0");
        const int other = accepted();
        for (const int end : {socket, other}) {
          BOOST_TEST(provider_of(end) == *provider);
          for (const std::string name : {"verbs", "shm", "iwarp"}) {
            const std::string said = said_of(end, name);
            BOOST_TEST((name == *provider ? said == "used" : said.starts_with("refused ")), said);
          }
        }
        echo(socket, other);
        echo(other, socket);
        post_accept();
      } else {
        const bool nobody_listens = theirs == "require:verbs" || ours == "require:verbs";
        BOOST_TEST(result == (nobody_listens ? "ECONNREFUSED" : "EOPNOTSUPP"));
        for (const std::string name : {"verbs", "shm", "iwarp"}) BOOST_TEST(said_of(socket, name) != "used");
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(ends_of_one_host_that_may_share_memory_try_no_device) {
  listen("auto");
  const int socket = start_connect("auto");
  BOOST_TEST(outcome_of(socket) == "0");
  BOOST_TEST(fake.attempts() == 0);
  for (const int end : {socket, accepted()})
    BOOST_TEST(said_of(end, "verbs") == "refused not-needed: shm came first");
}

BOOST_AUTO_TEST_CASE(names_are_those_that_the_link_tells) {
  listen("auto");
  sockaddr_in peer{};
  exs_acceptaddr_t room{generic(peer), sizeof peer};
  BOOST_REQUIRE_EQUAL(exs_accept(listening, &room, 0, queue.handle(), nullptr), 0);
  for (int i = 0; i < 2; ++i) {
    const int socket = start_connect("prefer:verbs");
    BOOST_TEST(outcome_of(socket) == "0");
    const int other = accepted();
    for (const int end : {socket, other}) {
      BOOST_TEST(name_text(exs_getsockname, end) == "ours");
      BOOST_TEST(name_text(exs_getpeername, end) == "peer's");
    }
    sockaddr_in cut{};
    socklen_t length = 4;
    BOOST_TEST(exs_getpeername(socket, generic(cut), &length) == 0);
    BOOST_TEST(length == sizeof cut);
    BOOST_TEST(cut.sin_port != 0);
    BOOST_TEST(cut.sin_addr.s_addr == 0U);
  }
  BOOST_TEST(room.addrlen == sizeof peer);
  BOOST_TEST(ntohl(peer.sin_addr.s_addr) == kFakePeerAddress);
  BOOST_TEST(name_text(exs_getsockname, listening) == "other");
}

// ---------------------------------------------------------------- the device leads nowhere

struct Failing {
  const char* name;
  FakeVerbs::Behaviour behaviour;
  std::string said;     // the initiator's reason against verbs, when the network carries the connection
  std::string outcome;  // of the connect, when only verbs is allowed
};
std::ostream& operator<<(std::ostream& out, const Failing& failing) {
  return out << failing.name;
}

std::vector<Failing> failings() {
  using Connect = FakeVerbs::Connect;
  const Reason no_route = Reason::make(ReasonCode::kNoRoute, "10.0.0.7");
  const Reason port_down = Reason::make(ReasonCode::kPortDown, "rxe0");
  return {
      {"unreachable",
       {.connect = Connect::kUnreachable},
       "refused no-route: by order of the test",
       "EOPNOTSUPP"},
      {"connect fails",
       {.connect = Connect::kRefused, .status = Status(ENOMEM)},
       "refused failed: connect: Cannot allocate memory",
       "ENOMEM"},
      {"no route",
       {.connect = Connect::kEnds, .status = Status(EHOSTUNREACH), .reason = no_route},
       "refused no-route: 10.0.0.7",
       "EHOSTUNREACH"},
      {"port down",
       {.connect = Connect::kEnds, .status = Status(ENETDOWN), .reason = port_down},
       "refused port-down: rxe0",
       "ENETDOWN"},
      {"closed in order",
       {.connect = Connect::kEnds, .status = Status()},
       "refused failed: Connection reset by peer",
       "ECONNRESET"},
      {"rejected without words",
       {.connect = Connect::kEnds},
       "refused failed: Connection refused",
       "ECONNREFUSED"},
      {"rejected by a stranger",
       {.connect = Connect::kEnds, .private_data = std::vector(20, std::byte{7})},
       "refused failed: Connection refused",
       "ECONNREFUSED"},
      {"rejected for its provider",
       {.connect = Connect::kEnds, .private_data = rejection(EOPNOTSUPP)},
       "refused forbidden: by the peer (peer)",
       "EOPNOTSUPP"},
      {"the peer does not accept", {.accepts = false}, "refused failed: Connection refused", "ECONNREFUSED"},
  };
}

BOOST_DATA_TEST_CASE_F(Fixture, the_network_carries_it, failings(), failing) {
  fake.behave(failing.behaviour);
  listen("auto");
  if (!failing.behaviour.accepts) post_accept();  // the failed attempt uses up one accept
  const int socket = start_connect("prefer:verbs");
  BOOST_TEST(outcome_of(socket) == "0");
  if (!failing.behaviour.accepts) BOOST_TEST(queue.next_outcome(listening, EXS_EVT_ACCEPT) == "ENOMEM");
  const int other = accepted();
  for (const int end : {socket, other}) BOOST_TEST(provider_of(end) == "shm");
  BOOST_TEST(said_of(socket, "verbs") == failing.said);
  BOOST_TEST(said_of(other, "verbs").starts_with("refused "));
  echo(socket, other);
}

BOOST_DATA_TEST_CASE_F(Fixture, nothing_else_is_allowed, failings(), failing) {
  fake.behave(failing.behaviour);
  listen("auto");
  const int socket = start_connect("require:verbs");
  BOOST_TEST(outcome_of(socket) == failing.outcome);
  BOOST_TEST(said_of(socket, "verbs") == failing.said);
  BOOST_TEST(said_of(socket, "iwarp") == "refused forbidden: by EXS_SO_PROVIDER or EXS_PROVIDER");
}

BOOST_AUTO_TEST_CASE(a_rejection_for_another_cause_is_the_end) {
  listen("auto");
  for (const int reason : {EPROTOTYPE, EPROTONOSUPPORT, ECONNREFUSED}) {
    fake.behave({.connect = FakeVerbs::Connect::kEnds, .private_data = rejection(reason)});
    BOOST_TEST(outcome_of(start_connect("prefer:verbs")) == errno_name(reason));
  }
  fake.behave({});
  const int stream = exs_socket(AF_INET, SOCK_STREAM, 0);
  sockets.push_back(stream);
  choose_provider(stream, "prefer:verbs");
  BOOST_REQUIRE_EQUAL(exs_connect(stream, generic(address), sizeof address, 0, queue.handle(), nullptr), 0);
  BOOST_TEST(outcome_of(stream) == "EPROTOTYPE");
}

BOOST_AUTO_TEST_CASE(what_the_peer_found_is_told_to_who_tried) {
  fake.behave({.listen = FakeVerbs::Listen::kNothing});
  listen("auto");
  const int socket = start_connect("prefer:verbs");
  BOOST_TEST(outcome_of(socket) == "0");
  BOOST_TEST(said_of(socket, "verbs") == "refused peer-lacks: nobody");
  BOOST_TEST(said_of(accepted(), "verbs") == "refused no-device: none carries the address listened on");
  std::vector<exs_reason_t> found(EXS_REASONS_MAX);
  auto length = static_cast<socklen_t>(found.size() * sizeof(exs_reason_t));
  BOOST_REQUIRE_EQUAL(exs_getsockopt(socket, SOL_EXS, EXS_SO_REASON, found.data(), &length), 0);
  found.resize(length / sizeof(exs_reason_t));
  BOOST_TEST(std::any_of(found.begin(), found.end(), [](const exs_reason_t& reason) {
    return std::string(reason.provider) == "verbs" && reason.code == EXS_REASON_NO_DEVICE &&
           reason.told_by_peer == 1;
  }));
}

BOOST_FIXTURE_TEST_CASE(no_port_on_this_machine, WithoutPort) {
  listen("auto");
  const int socket = start_connect("prefer:verbs");
  BOOST_TEST(outcome_of(socket) == "0");
  for (const int end : {socket, accepted()})
    BOOST_TEST(said_of(end, "verbs") == "refused no-device: by order of the test");
  const int strict = start_connect("require:verbs");
  BOOST_TEST(outcome_of(strict) == "EOPNOTSUPP");
  BOOST_TEST(said_of(strict, "verbs") == "refused no-device: by order of the test");
}

BOOST_AUTO_TEST_CASE(the_device_is_tried_after_a_network_where_nobody_listens) {
  listen("require:verbs");
  const int socket = start_connect("prefer:iwarp");
  BOOST_TEST(outcome_of(socket) == "0");
  BOOST_TEST(provider_of(socket) == "verbs");
  BOOST_TEST(provider_of(accepted()) == "verbs");
  // When both providers fail, the error of the network is reported.
  fake.behave({.connect = FakeVerbs::Connect::kEnds, .status = Status(EHOSTUNREACH)});
  BOOST_TEST(outcome_of(start_connect("prefer:iwarp")) == "ECONNREFUSED");
}

// ---------------------------------------------------------------- the device says nothing

BOOST_AUTO_TEST_CASE(half_of_the_time_is_left_for_the_network) {
  listen("auto");
  fake.behave({.connect = FakeVerbs::Connect::kSilent});
  const int socket = start_connect("prefer:verbs", 1000);
  BOOST_TEST(outcome_of(socket) == "0");
  BOOST_TEST(fake.attempts() == 1);
  BOOST_TEST(provider_of(socket) == "shm");
  BOOST_TEST(said_of(socket, "verbs") == "refused timed-out: no answer in half of the time for the connect");
  const int other = accepted();
  BOOST_TEST(said_of(other, "verbs") == "refused timed-out: found at the peer (peer)");
  echo(other, socket);
  const int strict = start_connect("require:verbs", 100);
  BOOST_TEST(outcome_of(strict) == "ETIMEDOUT");
}

BOOST_AUTO_TEST_CASE(cancelled_and_closed_while_the_device_is_tried) {
  listen("auto");
  fake.behave({.connect = FakeVerbs::Connect::kSilent});
  const int cancelled = start_connect("prefer:verbs");
  BOOST_TEST(exs_cancel(cancelled, this, EXS_CAF_FILDES | EXS_CAF_AHANDLE) == 1);
  BOOST_TEST(outcome_of(cancelled) == "ECANCELED");
  const int closed = start_connect("prefer:verbs");
  BOOST_REQUIRE_EQUAL(exs_close(closed), 0);
  BOOST_TEST(outcome_of(closed) == "ECANCELED");
  sockets.pop_back();
  BOOST_TEST(fake.attempts() == 2);
  // Neither connect fell back to the network.
  const int next = start_connect("auto");
  BOOST_TEST(outcome_of(next) == "0");
  echo(next, accepted());
}

// ---------------------------------------------------------------- listening

BOOST_AUTO_TEST_CASE(nothing_to_listen_on) {
  fake.behave({.listen = FakeVerbs::Listen::kNothing});
  const int strict = bound_socket("require:verbs");
  BOOST_TEST(outcome(exs_listen(strict, 1)) == "EOPNOTSUPP");
  fake.behave({.listen = FakeVerbs::Listen::kFails, .listen_error = EADDRINUSE});
  BOOST_TEST(outcome(exs_listen(strict, 1)) == "EADDRINUSE");
  fake.behave({.listen = FakeVerbs::Listen::kFails, .listen_error = ENODEV});
  BOOST_TEST(outcome(exs_listen(strict, 1)) == "EOPNOTSUPP");
  BOOST_TEST(outcome(exs_accept(strict, nullptr, 0, queue.handle(), nullptr)) == "EINVAL");
  fake.behave({});
  BOOST_TEST(outcome(exs_listen(strict, 1)) == "ok");
  exs_close(strict);
}

BOOST_AUTO_TEST_CASE(where_others_are_allowed_it_is_a_reason) {
  fake.behave({.listen = FakeVerbs::Listen::kFails, .listen_error = EADDRINUSE});
  listen("auto");
  const int socket = start_connect("prefer:verbs");
  BOOST_TEST(outcome_of(socket) == "0");
  BOOST_TEST(said_of(accepted(), "verbs") == "refused failed: listening: Address already in use");
}

BOOST_AUTO_TEST_CASE(listening_again_changes_the_backlog_alone) {
  for (const std::string choice : {"auto", "require:verbs"}) {
    listen(choice);
    BOOST_TEST(outcome(exs_listen(listening, 3)) == "ok");
    const int socket = start_connect("prefer:verbs");
    BOOST_TEST(outcome_of(socket) == "0");
    BOOST_TEST(provider_of(accepted()) == "verbs");
    exs_close(listening);
    listening = -1;
  }
}

BOOST_AUTO_TEST_CASE(a_socket_without_an_address_gets_a_port) {
  listening = make_socket("auto");
  BOOST_REQUIRE_EQUAL(exs_listen(listening, 1), 0);
  post_accept();
  socklen_t length = sizeof address;
  BOOST_REQUIRE_EQUAL(exs_getsockname(listening, generic(address), &length), 0);
  BOOST_TEST(ntohl(address.sin_addr.s_addr) == INADDR_ANY);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int socket = start_connect("require:verbs");
  BOOST_TEST(outcome_of(socket) == "0");
  echo(socket, accepted());
}

// A connection manager gives ports to those who connect, of which the kernel's TCP sockets know nothing.
BOOST_AUTO_TEST_CASE(a_port_of_the_librarys_choice_is_free_to_the_device_too) {
  for (const std::string choice : {"auto", "require:verbs"}) {
    const int socket = make_socket(choice);
    fake.behave({.ports_taken = 5});
    address = loopback();
    BOOST_TEST(outcome(exs_bind(socket, generic(address), sizeof address)) == "ok");
    BOOST_TEST(fake.behaviour().ports_taken == 0);
    BOOST_TEST(outcome(exs_listen(socket, 1)) == "ok");
    exs_close(socket);
  }
}

BOOST_AUTO_TEST_CASE(a_port_of_the_callers_is_refused_where_only_the_device_is_allowed) {
  fake.behave({});
  exs_close(bound_socket("require:verbs"));  // a port that is free
  fake.behave({.ports_taken = 1});
  const int strict = make_socket("require:verbs");
  BOOST_TEST(outcome(exs_bind(strict, generic(address), sizeof address)) == "EADDRINUSE");
  BOOST_TEST(outcome(exs_bind(strict, generic(address), sizeof address)) == "ok");
  exs_close(strict);
}

BOOST_AUTO_TEST_CASE(the_kernel_chooses_where_the_device_has_every_port) {
  fake.behave({.ports_taken = 1000});
  exs_close(bound_socket("auto"));
}

// A peer that connects before the first accept waits; one that connects after the close is refused.
BOOST_AUTO_TEST_CASE(peers_wait_for_an_accept_and_not_for_a_closed_socket) {
  listening = bound_socket("auto");
  BOOST_REQUIRE_EQUAL(exs_listen(listening, 8), 0);
  const int early = start_connect("require:verbs");
  post_accept();
  BOOST_TEST(outcome_of(early) == "0");
  echo(early, accepted());
  exs_close(listening);
  listening = bound_socket("auto");
  BOOST_REQUIRE_EQUAL(exs_listen(listening, 8), 0);
  exs_close(listening);
  listening = -1;
  for (const std::string choice : {"prefer:verbs", "require:verbs"})
    BOOST_TEST(outcome_of(start_connect(choice)) == "ECONNREFUSED");
}

BOOST_AUTO_TEST_CASE(a_socket_for_the_device_alone_keeps_nobody_of_the_network_waiting) {
  listen("require:verbs");
  BOOST_TEST(outcome_of(start_connect("forbid:verbs")) == "ECONNREFUSED");
  const int socket = start_connect("require:verbs");
  BOOST_TEST(outcome_of(socket) == "0");
  echo(socket, accepted());
}

BOOST_AUTO_TEST_CASE(both_kinds_of_peers_come_at_once) {
  constexpr int kPeers = 12;
  listen("auto");
  for (int i = 1; i < kPeers; ++i) post_accept();
  std::vector<int> peers;
  for (int i = 0; i < kPeers; ++i)
    peers.push_back(start_connect(i % 2 == 0 ? "require:verbs" : "forbid:verbs"));
  int by_device = 0;
  for (int i = 0; i < kPeers; ++i) by_device += provider_of(accepted()) == "verbs" ? 1 : 0;
  for (const int socket : peers) BOOST_TEST(outcome_of(socket) == "0");
  BOOST_TEST(by_device == kPeers / 2);
}

BOOST_AUTO_TEST_CASE(polls_hear_of_either_kind) {
  listening = bound_socket("auto");
  BOOST_REQUIRE_EQUAL(exs_listen(listening, 8), 0);
  for (const std::string choice : {"require:verbs", "iwarp"}) {
    const exs_pollfd_t entry{.pfd_socket = listening, .pfd_events = EXS_POLLIN, .pfd_ahandle = nullptr};
    BOOST_REQUIRE_EQUAL(exs_poll(&entry, 1, 0, queue.handle()), 1);
    const int socket = start_connect(choice);
    BOOST_TEST(queue.next_outcome(listening, EXS_EVT_POLL) == "0");
    post_accept();
    BOOST_TEST(outcome_of(socket) == "0");
    BOOST_TEST(provider_of(accepted()) == (choice == "iwarp" ? "iwarp" : "verbs"));
  }
}

// The kernel's listener of an iWARP device also accepts peers that connect through TCP; they see iwarp.
BOOST_AUTO_TEST_CASE(a_device_that_holds_the_tcp_port) {
  fake.behave({.listen = FakeVerbs::Listen::kHoldsTcpPort});
  listen("auto");
  for (const std::string choice : {"auto", "prefer:shm", "iwarp", "forbid:shm"}) {
    BOOST_TEST_CONTEXT(choice) {
      fake.behave({.connect = FakeVerbs::Connect::kUnreachable});
      const int socket = start_connect(choice);
      BOOST_TEST(outcome_of(socket) == "0");
      const int other = accepted();
      BOOST_TEST(provider_of(socket) == "iwarp");
      BOOST_TEST(provider_of(other) == "verbs");
      if (choice == "auto" || choice == "prefer:shm") {
        const std::string why =
            "refused failed: an iWARP device has the TCP port; listen on the wildcard address";
        BOOST_TEST(said_of(socket, "shm") == why + " (peer)");
        BOOST_TEST(said_of(other, "shm") == why);
      }
      echo(socket, other);
      echo(other, socket);
      post_accept();
    }
  }
  BOOST_TEST(outcome_of(start_connect("require:shm")) == "EOPNOTSUPP");
  fake.behave({});
  const int socket = start_connect("prefer:verbs");
  BOOST_TEST(outcome_of(socket) == "0");
  for (const int end : {socket, accepted()}) BOOST_TEST(provider_of(end) == "verbs");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
