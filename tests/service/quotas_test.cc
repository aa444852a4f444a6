// What one principal may have of a service and of its node, and that others get theirs meanwhile.
// SPDX-License-Identifier: BSD-2-Clause
#include <functional>

#include "service/api/calls.h"
#include "service/node/shares.h"
#include "tests/service/liar.h"

namespace exs::svc {
namespace quotas_test {

using namespace exs::svc::test;

// A service with room for twice as much as it lets each have.
struct Shared : TwoNodes {
  static constexpr std::size_t kMemoryEach = std::size_t{1} << 20;
  exs_svc_options_t options{sizeof options, 0, 0, 6, 3, 2 * kMemoryEach, kMemoryEach, 0};
  exs_svc_t* service = right.open(key, &options);
  TestNode third;
  const std::vector<TestNode*> all{&left, &right, &third};

  exs_svc_peer_t* peer_of(std::uint32_t serial) {
    exs_svc_cap_t cap{};
    BOOST_REQUIRE(exs_svc_cap_make(key.get(), EXS_SVC_ALL, serial, 0, &cap) == 0);
    return left.peer(key, nullptr, &cap);
  }
  std::size_t messages() const { return count_events(right, EXS_SVC_EVT_MESSAGE); }
  // Of `count` messages by this peer of `at`, one after the other: how many are taken.
  std::size_t taken_of(std::size_t count, exs_svc_peer_t* peer, TestNode& at) {
    const std::size_t before = messages();
    for (std::size_t i = 0; i < count; ++i) BOOST_TEST(send(peer, {"x"}) == 0);
    std::size_t refused = 0;
    turn_until(all, [&] {
      while (count_events(at, EXS_SVC_EVT_DROPPED) > 0) {
        const exs_svc_event_t dropped = next_event(all, at, EXS_SVC_EVT_DROPPED);
        BOOST_TEST(dropped.error == ENOBUFS);
        refused += dropped.count;
      }
      return messages() - before + refused == count;
    });
    return count - refused;
  }
  int error_of_long(exs_svc_peer_t* peer, std::size_t bytes) {
    const std::vector<std::string> longs{pattern(bytes, 1)};
    BOOST_TEST(send_long(peer, {}, longs) == 0);
    return next_event(all, left, EXS_SVC_EVT_SENT).error;
  }
};

// Of the service that this one has a flow of.
std::uint64_t flows_open(Liar& liar) {
  liar.say(bare_frame(FrameType::kInfo));
  const std::optional<Header> header = liar.hear();
  BOOST_REQUIRE((header && header->type == FrameType::kStats));
  return decode_stats(liar.heard())->flows;
}

// Somebody new. False: its link ends first.
bool is_served(const Served& served) {
  const std::unique_ptr<Liar> liar = Liar::trying(served.address);
  if (liar == nullptr) return false;
  for (const Frame& frame : {greeting_of({}), served.flow(1)})
    exs_send_sync(liar->socket(), frame.data(), frame.size(), 0, EXS_MHANDLE_UNREGISTERED);
  while (const std::optional<Header> header = liar->hear())
    if (header->type == FrameType::kFlowOk) return true;
  return false;
}

HostBytes host(const char* text) {
  return host_of(*parse_address(text));
}
Principal of_host(const char* text) {
  return principal_of({}, host(text));
}

}  // namespace quotas_test

BOOST_AUTO_TEST_SUITE(quotas_test)

BOOST_AUTO_TEST_CASE(who_is_held_to_account) {
  BOOST_TEST((of_host("10.0.0.1") == of_host("10.0.0.1:99")));
  BOOST_TEST((of_host("10.0.0.1") != of_host("10.0.0.2")));
  // A host of IPv6 makes addresses of its network at will.
  BOOST_TEST((of_host("[2001:db8::1]:0") == of_host("[2001:db8::ffff:1]:0")));
  BOOST_TEST((of_host("[2001:db8::1]:0") != of_host("[2001:db8:0:1::1]:0")));
  BOOST_TEST((of_host("[fe80::1]:0") != of_host("[fe80::2]:0")));
  CapabilityProof proof{};
  proof.serial = 7;
  const Principal by_serial = principal_of(proof, host("10.0.0.1"));
  BOOST_TEST((by_serial == principal_of(proof, host("10.0.0.2"))));
  BOOST_TEST((by_serial != of_host("10.0.0.1")));
}

BOOST_AUTO_TEST_CASE(shares_are_kept_while_somebody_has_them) {
  Shares shares(std::make_shared<Mailbox>(std::make_shared<Mutex>()));
  const auto share_of = [&](std::uint32_t serial) { return shares.of({serial, {}}); };
  const std::shared_ptr<Share> first = share_of(0);
  std::weak_ptr<Share> gone = share_of(1);
  BOOST_TEST(gone.expired());
  for (std::uint32_t serial = 2; serial < 1000; ++serial) share_of(serial);
  BOOST_TEST((share_of(0) == first));
}

BOOST_FIXTURE_TEST_CASE(one_principal_does_not_fill_the_mailbox, Shared) {
  BOOST_TEST(taken_of(5, peer_of(1), left) == 3U);
  BOOST_TEST(taken_of(2, peer_of(2), left) == 2U);
  // Expect: another flow does not make another principal.
  BOOST_TEST(taken_of(2, peer_of(1), left) == 0U);
  // Expect: the mailbox is full for all.
  BOOST_TEST(taken_of(2, peer_of(3), left) == 1U);
  for (const exs_svc_event_t& event : right.events) exs_svc_release(event.message);
  right.events.clear();
  BOOST_TEST(taken_of(4, peer_of(1), left) == 3U);
}

BOOST_FIXTURE_TEST_CASE(nodes_of_one_host_are_one_principal, Shared) {
  BOOST_TEST(taken_of(2, left.peer(key), left) == 2U);
  BOOST_TEST(taken_of(2, third.peer(key), third) == 1U);
  BOOST_TEST(taken_of(2, peer_of(1), left) == 2U);
}

BOOST_FIXTURE_TEST_CASE(one_principal_does_not_take_all_memory, Shared) {
  exs_svc_peer_t* const greedy = peer_of(1);
  BOOST_TEST(error_of_long(greedy, kMemoryEach + 1) == ENOBUFS);
  BOOST_TEST(error_of_long(greedy, kMemoryEach) == 0);
  BOOST_TEST(error_of_long(greedy, 1) == ENOBUFS);
  BOOST_TEST(error_of_long(peer_of(2), kMemoryEach) == 0);
  // Expect: windows of the program are nobody's share.
  std::string window(kMemoryEach, '\0');
  BOOST_TEST(exs_svc_window(service, window.data(), window.size(), EXS_MHANDLE_UNREGISTERED) == 0);
  BOOST_TEST(error_of_long(greedy, kMemoryEach) == 0);
  exs_svc_release(next_event(all, right, EXS_SVC_EVT_MESSAGE).message);
  BOOST_TEST(error_of_long(greedy, kMemoryEach) == 0);
  exs_svc_close(service);
  for (const exs_svc_event_t& event : right.events) exs_svc_release(event.message);
  right.events.clear();
}

BOOST_AUTO_TEST_CASE(a_host_has_some_of_the_links_of_a_node) {
  exs_svc_node_options_t options{};
  options.struct_bytes = sizeof options;
  options.links_max = 10;
  options.links_each_max = 2;
  Served served(&options);
  std::unique_ptr<Liar> first = served.opened();
  const std::unique_ptr<Liar> second = served.opened();
  BOOST_TEST(!is_served(served));
  // Expect: there is room again when one has gone.
  first.reset();
  bool is_again = false;
  for (int i = 0; i < kTurnsMax && !is_again; ++i) is_again = is_served(served);
  BOOST_TEST(is_again);
}

// Flows that wait for their senders, whose links have broken.
BOOST_AUTO_TEST_CASE(flows_of_one_principal_do_not_displace_those_of_others) {
  constexpr std::uint32_t kFlows = 4200;  // more than are kept
  exs_svc_node_options_t options{};
  options.struct_bytes = sizeof options;
  options.flows_max = kFlows;
  Served served(&options);
  exs_svc_cap_t cap{};
  BOOST_REQUIRE(exs_svc_cap_make(served.key.get(), EXS_SVC_ALL, 1, 0, &cap) == 0);
  const auto open_with_capability = [&] {
    std::unique_ptr<Liar> liar = served.stranger();
    liar->greet();
    Flow flow{served.target, 2, 1, 0, {}, {}};
    const LinkNonces nonces{liar->our_nonce, liar->their_nonce};
    flow.capability = prove(from_public(cap), flow_statement(nonces, 1, served.target, 2, 1));
    liar->say(frame_of([&](auto room) { return encode_flow(room, 1, flow); }));
    const std::optional<Header> header = liar->hear();
    BOOST_REQUIRE((header && header->type == FrameType::kFlowOk));
    return liar;
  };
  open_with_capability();
  {
    const std::unique_ptr<Liar> greedy = served.stranger();
    greedy->greet();
    for (std::uint32_t alias = 1; alias <= kFlows; ++alias) {
      greedy->say(served.flow(alias));
      const std::optional<Header> header = greedy->hear();
      BOOST_REQUIRE((header && header->type == FrameType::kFlowOk));
    }
  }
  const std::unique_ptr<Liar> honest = served.opened();
  while (flows_open(*honest) > 1) continue;
  // Expect: the first is known.
  const std::unique_ptr<Liar> back = open_with_capability();
  const std::optional<FlowOk> answer = decode_flow_ok(back->heard(), *decode_header(back->heard()));
  BOOST_REQUIRE(answer.has_value());
  BOOST_TEST(answer->is_known);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
