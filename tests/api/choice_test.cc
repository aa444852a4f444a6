// EXS_SO_PROVIDER at both ends: a connection uses a provider that both allow; among several the initiator's
// preference decides, then the responder's, then the default order. If there is none, no byte moves and both
// ends report the reason. No RDMA device has a loopback address, so verbs is tested in device_test.cc.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace choice_test {

const std::vector<std::string> kChoices = {"auto",       "iwarp",         "shm",         "prefer:iwarp",
                                           "prefer:shm", "require:iwarp", "require:shm", "forbid:iwarp",
                                           "forbid:shm", "prefer:verbs",  "forbid:verbs"};

bool allows(const std::string& choice, const std::string& provider) {
  if (choice == "auto" || choice.starts_with("prefer:")) return true;
  if (choice.starts_with("forbid:")) return choice != "forbid:" + provider;
  return choice == provider || choice == "require:" + provider;
}

std::optional<std::string> expected(const std::string& ours, const std::string& theirs) {
  const auto both_allow = [&](const std::string& provider) {
    return allows(ours, provider) && allows(theirs, provider);
  };
  for (const std::string& choice : {ours, theirs}) {
    const std::string wish = choice.starts_with("prefer:") ? choice.substr(7) : "";
    if (!wish.empty() && wish != "verbs" && both_allow(wish)) return wish;
  }
  for (const std::string provider : {"shm", "iwarp"}) {
    if (both_allow(provider)) return provider;
  }
  return std::nullopt;
}

std::vector<exs_reason_t> reasons(int socket) {
  std::vector<exs_reason_t> found(EXS_REASONS_MAX);
  auto length = static_cast<socklen_t>(found.size() * sizeof(exs_reason_t));
  BOOST_REQUIRE_EQUAL(exs_getsockopt(socket, SOL_EXS, EXS_SO_REASON, found.data(), &length), 0);
  found.resize(length / sizeof(exs_reason_t));
  return found;
}

int verdict(const std::vector<exs_reason_t>& reasons, const std::string& provider) {
  const auto found = std::find_if(reasons.begin(), reasons.end(),
                                  [&](const exs_reason_t& reason) { return reason.provider == provider; });
  return found == reasons.end() ? 0 : found->verdict;
}

struct Fixture {
  InitializedLibrary library;
  Queue queue;
  Memory memory{4096};

  int listen(const std::string& choice, sockaddr_in& address) {
    const int listening = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    choose_provider(listening, choice);
    address = loopback();
    BOOST_REQUIRE_EQUAL(exs_bind(listening, generic(address), sizeof address), 0);
    socklen_t length = sizeof address;
    BOOST_REQUIRE_EQUAL(exs_getsockname(listening, generic(address), &length), 0);
    BOOST_REQUIRE_EQUAL(exs_listen(listening, 8), 0);
    BOOST_REQUIRE_EQUAL(exs_accept(listening, nullptr, 0, queue.handle(), nullptr), 0);
    return listening;
  }
  std::string connect(int socket, sockaddr_in& address) {
    BOOST_REQUIRE_EQUAL(exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), nullptr), 0);
    return queue.next_outcome(socket, EXS_EVT_CONNECT);
  }
  void echo(int from, int to) {
    memory.fill(7);
    BOOST_REQUIRE_EQUAL(exs_recv(to, memory.at(2048), 2048, 0, queue.handle(), nullptr, memory.handle()), 0);
    BOOST_REQUIRE_EQUAL(exs_send(from, memory.at(), 2048, 0, queue.handle(), nullptr, memory.handle()), 0);
    BOOST_TEST(queue.next_outcome(to, EXS_EVT_RECV) == "0");
    BOOST_TEST(std::memcmp(memory.at(), memory.at(2048), 2048) == 0);
  }
  void check_taken(int socket, const std::string& provider) {
    BOOST_TEST(provider_of(socket) == provider);
    const auto found = reasons(socket);
    BOOST_TEST(verdict(found, provider) == EXS_VERDICT_USED);
    BOOST_TEST(verdict(found, provider == "shm" ? "iwarp" : "shm") == EXS_VERDICT_REFUSED);
    BOOST_TEST(verdict(found, "verbs") == EXS_VERDICT_REFUSED);
  }
};

}  // namespace choice_test

BOOST_FIXTURE_TEST_SUITE(choice_test, Fixture)

BOOST_DATA_TEST_CASE_F(Fixture, both_ends_choose, kChoices, theirs) {
  sockaddr_in address{};
  const int listening = listen(theirs, address);
  std::vector<std::string> of_initiators = kChoices;
  of_initiators.insert(of_initiators.end(), {"require:verbs", "verbs"});
  for (const std::string& ours : of_initiators) {
    BOOST_TEST_CONTEXT("initiator " << ours << ", responder " << theirs) {
      const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
      choose_provider(socket, ours);
      const auto provider = expected(ours, theirs);
      const std::string result = connect(socket, address);
      if (provider) {
        BOOST_TEST(result == "0");
        const exs_event_t accepted = queue.next_of(listening, EXS_EVT_ACCEPT);
        BOOST_TEST(accepted.exs_evt_errno == 0);
        const int other = accepted.exs_evt_union.exs_evt_accept.exs_evt_newsocket;
        check_taken(socket, *provider);
        check_taken(other, *provider);
        echo(socket, other);
        exs_close(other);
        BOOST_REQUIRE_EQUAL(exs_accept(listening, nullptr, 0, queue.handle(), nullptr), 0);
      } else {
        BOOST_TEST(result == "EOPNOTSUPP");
        for (const char* name : {"iwarp", "shm", "verbs"}) {
          BOOST_TEST(verdict(reasons(socket), name) != EXS_VERDICT_USED);
        }
      }
      exs_close(socket);
    }
  }
  exs_close(listening);
}

BOOST_AUTO_TEST_CASE(without_a_device_verbs_is_refused_and_says_why) {
  const int strict = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  choose_provider(strict, "require:verbs");
  sockaddr_in address = loopback();
  BOOST_REQUIRE_EQUAL(exs_bind(strict, generic(address), sizeof address), 0);
  BOOST_TEST(outcome(exs_listen(strict, 1)) == "EOPNOTSUPP");
  exs_close(strict);

  const int listening = listen("auto", address);
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  choose_provider(socket, "prefer:verbs");
  BOOST_TEST(connect(socket, address) == "0");
  const int other = queue.next_of(listening, EXS_EVT_ACCEPT).exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  for (const int end : {socket, other}) {
    const auto found = reasons(end);
    const auto verbs = std::find_if(found.begin(), found.end(), [](const exs_reason_t& reason) {
      return std::string(reason.provider) == "verbs";
    });
    BOOST_REQUIRE((verbs != found.end()));
    // NO_DEVICE on a machine without devices; otherwise the reason why no device reaches this address.
    BOOST_TEST(verbs->code >= EXS_REASON_NO_DEVICE, verbs->name);
    BOOST_TEST(std::string(verbs->cure) != "");
  }
  exs_close(other);
  exs_close(socket);
  exs_close(listening);
}

BOOST_AUTO_TEST_CASE(words_that_are_no_choice_are_refused) {
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  for (const std::string text :
       {"", "any", "prefer:", "prefer:tcp", "require", "allow:shm", "shm:require", "sim"}) {
    BOOST_TEST(outcome(exs_setsockopt(socket, SOL_EXS, EXS_SO_PROVIDER, text.data(),
                                      static_cast<socklen_t>(text.size()))) == "EOPNOTSUPP",
               text);
  }
  exs_close(socket);
}

// Each port of this process is initiator and responder at once, with many set-ups under way.
BOOST_AUTO_TEST_CASE(many_connections_cross_each_other) {
  constexpr int kPairs = 16;
  sockaddr_in addresses[2] = {};
  const int listening[2] = {listen("auto", addresses[0]), listen("auto", addresses[1])};
  std::vector<int> sockets;
  for (int i = 0; i < 2 * kPairs; ++i) {
    if (i >= 2) BOOST_REQUIRE_EQUAL(exs_accept(listening[i % 2], nullptr, 0, queue.handle(), nullptr), 0);
    sockets.push_back(exs_socket(AF_INET, SOCK_SEQPACKET, 0));
    choose_provider(sockets.back(), "auto");
    BOOST_REQUIRE_EQUAL(exs_connect(sockets.back(), generic(addresses[i % 2]), sizeof(sockaddr_in), 0,
                                    queue.handle(), nullptr),
                        0);
  }
  for (int i = 0; i < 2 * kPairs; ++i) {
    BOOST_TEST(queue.next_outcome(sockets[static_cast<std::size_t>(i)], EXS_EVT_CONNECT) == "0");
    const exs_event_t accepted = queue.next_of(listening[i % 2], EXS_EVT_ACCEPT);
    BOOST_TEST(accepted.exs_evt_errno == 0);
    sockets.push_back(accepted.exs_evt_union.exs_evt_accept.exs_evt_newsocket);
  }
  for (const int socket : sockets) BOOST_TEST(provider_of(socket) == "shm");
  for (const int socket : sockets) exs_close(socket);
  for (const int socket : listening) exs_close(socket);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
