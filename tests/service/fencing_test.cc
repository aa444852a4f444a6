// Of two who have the key of a service, one serves: who has been overtaken ends, and a service that is fenced serves only while it has
// the lease of a directory. Directories have their turns in the thread of the test; one that has none is one that has stopped.
// SPDX-License-Identifier: BSD-2-Clause
#include "service/names/directory.h"
#include "service/names/lease.h"
#include "service/names/multicast.h"
#include "tests/service/directory_world.h"
#include "tests/service/outcomes.h"
#include "tools/directory/server.h"

namespace exs::svc {
namespace fencing_test {

using namespace exs::svc::test;

// ---------------------------------------------------------------- a node, and somebody else who has its service's key

struct RivalByMulticast final : private ResolverClient {
  // With another key than its service's, it forges.
  void claim(const Key& key, const Key& signer, std::uint64_t epoch) {
    is_overtaken = false;
    multicast.claim(key.id(), {signer, record_of(key.public_key(), epoch, 7)}, boottime_ns());
  }
  bool is_overtaken = false;
  Multicast multicast{*parse_multicast("lo"), *this};

 private:
  void found(const Resolver& /*by*/, const IdBytes& /*id*/, const Record& /*record*/) override {}
  void overtaken(const IdBytes& /*id*/, const Record& /*newer*/) override { is_overtaken = true; }
  void outdated(const IdBytes& /*id*/, const Record& /*newer*/) override {}
};

struct Rival final : private ResolverClient {
  explicit Rival(const sockaddr_storage& address) : directory(address, *this) {}
  void claim(const Key& key, std::uint64_t epoch, bool is_fenced) {
    directory.claim(key.id(), {key, record_of(key.public_key(), epoch, 7), is_fenced}, boottime_ns());
  }
  bool is_held = false;
  bool is_overtaken = false;
  Directory directory;

 private:
  void found(const Resolver& /*by*/, const IdBytes& /*id*/, const Record& /*record*/) override {}
  void overtaken(const IdBytes& /*id*/, const Record& /*newer*/) override { is_overtaken = true; }
  void outdated(const IdBytes& /*id*/, const Record& /*newer*/) override {}
  void held(const IdBytes& /*id*/, std::uint64_t /*until_ns*/) override { is_held = true; }
};

exs_svc_node_options_t by_directory(const std::string& address) {
  exs_svc_node_options_t options{};
  options.struct_bytes = sizeof options;
  options.directory = address.c_str();
  options.find_ns = 60'000 * kMs;
  return options;
}
exs_svc_options_t fenced() {
  exs_svc_options_t options{};
  options.struct_bytes = sizeof options;
  options.flags = EXS_SVC_FENCED;
  return options;
}

Key key_of(const OwnedKey& key) {
  const OwnFile stored;
  std::optional<Key> loaded;
  BOOST_REQUIRE(exs_svc_key_store(key.get(), stored.path().c_str()) == 0);
  BOOST_REQUIRE(exs::svc::test::take(KeyFile::load(stored.path().c_str()), loaded) == 0);
  return *loaded;
}

// A service and its asker, by a directory.
struct World {
  OwnFile file;
  std::unique_ptr<DirectoryServer> directory =
      std::make_unique<DirectoryServer>(*parse_address("127.0.0.1:0"), file.path(), false);
  const std::string address = text_of(directory->address());
  const exs_svc_node_options_t options = by_directory(address);
  const exs_svc_options_t is_fenced = fenced();
  TestNode owner{&options};
  TestNode asker{&options};
  OwnedKey key = make_key();
  std::vector<TestNode*> nodes{&owner, &asker};
  std::vector<Rival*> rivals;
  bool has_turns = true;  // the directory

  void turn_until(const std::function<bool()>& is_so) {
    for (int turn = 0; !is_so(); ++turn) {
      BOOST_REQUIRE_MESSAGE(turn < kTurnsMax, "a hang");
      if (has_turns) directory->turn(0);
      for (Rival* const rival : rivals) rival->directory.step(boottime_ns());
      for (TestNode* const node : nodes) node->step();
    }
  }
  exs_svc_event_t next(TestNode& at, int type) {
    exs_svc_event_t found{};
    turn_until([&] {
      const auto event = std::find_if(at.events.begin(), at.events.end(),
                                      [type](const exs_svc_event_t& one) { return one.type == type; });
      if (event == at.events.end()) return false;
      found = *event;
      at.events.erase(event);
      return true;
    });
    return found;
  }
  void answer_next() {
    const exs_svc_event_t asked = next(owner, EXS_SVC_EVT_REQUEST);
    BOOST_TEST(reply(asked.message, 0, {"!"}) == 0);
    exs_svc_release(asked.message);
  }
  void expect_answer() {
    const exs_svc_event_t answer = next(asker, EXS_SVC_EVT_REPLY);
    BOOST_TEST(answer.error == 0);
    exs_svc_release(answer.message);
  }
  [[nodiscard]] Key own_key() const { return key_of(key); }
};

}  // namespace fencing_test

BOOST_AUTO_TEST_SUITE(fencing_test)

// ---------------------------------------------------------------- services that are fenced

// shows: EXS_SVC_EVT_SUSPENDED ETIMEDOUT
BOOST_FIXTURE_TEST_CASE(a_fenced_service_serves_while_it_has_a_lease, World) {
  has_turns = false;
  exs_svc_peer_t* const peer = asker.peer(key);
  owner.open(key, &is_fenced);
  BOOST_TEST(request(peer, {"?"}) == 0);
  // Expect: the program is told if there is none for long.
  BOOST_TEST(next(owner, EXS_SVC_EVT_SUSPENDED).error == ETIMEDOUT);
  BOOST_TEST(count_events(owner, EXS_SVC_EVT_OPEN) == 0U);
  has_turns = true;
  next(owner, EXS_SVC_EVT_OPEN);
  answer_next();
  expect_answer();
  // Expect: a request that it has is answered when it serves again, and one that comes meanwhile is taken then.
  BOOST_TEST(request(peer, {"?"}) == 0);
  const exs_svc_event_t asked = next(owner, EXS_SVC_EVT_REQUEST);
  has_turns = false;
  BOOST_TEST(next(owner, EXS_SVC_EVT_SUSPENDED).error == ETIMEDOUT);
  BOOST_TEST(reply(asked.message, 0, {"late"}) == 0);
  exs_svc_release(asked.message);
  BOOST_TEST(request(peer, {"?"}) == 0);
  for (int turn = 0; turn < 200; ++turn)
    for (TestNode* const node : nodes) node->step();
  BOOST_TEST(count_events(asker, EXS_SVC_EVT_REPLY) == 0U);
  BOOST_TEST(count_events(owner, EXS_SVC_EVT_REQUEST) == 0U);
  has_turns = true;
  next(owner, EXS_SVC_EVT_OPEN);
  expect_answer();
  answer_next();
  expect_answer();
}

BOOST_FIXTURE_TEST_CASE(what_the_program_has_not_seen_waits_with_its_service, World) {
  owner.open(key, &is_fenced);
  next(owner, EXS_SVC_EVT_OPEN);
  owner.most_events = 1;
  exs_svc_peer_t* const peer = asker.peer(key);
  BOOST_TEST(request(peer, {"first"}) == 0);
  BOOST_TEST(request(peer, {"second"}) == 0);
  const exs_svc_event_t first = next(owner, EXS_SVC_EVT_REQUEST);
  nodes = {&asker};
  has_turns = false;
  // The owner computes until its lease has ended, which its program hears before anything else.
  const std::uint64_t limit_ns = boottime_ns() + Lease::kLeaseNs;
  turn_until([&] { return boottime_ns() >= limit_ns; });
  BOOST_TEST(reply(first.message, 0, {"too late"}) == 0);
  exs_svc_release(first.message);
  nodes = {&owner, &asker};
  next(owner, EXS_SVC_EVT_SUSPENDED);
  BOOST_TEST(count_events(owner, EXS_SVC_EVT_REQUEST) == 0U);
  BOOST_TEST(count_events(asker, EXS_SVC_EVT_REPLY) == 0U);
  has_turns = true;
  next(owner, EXS_SVC_EVT_OPEN);
  expect_answer();
  answer_next();
  expect_answer();
}

BOOST_FIXTURE_TEST_CASE(a_fenced_service_makes_way_for_a_newer_one, World) {
  exs_svc_t* const service = owner.open(key, &is_fenced);
  next(owner, EXS_SVC_EVT_OPEN);
  Rival rival(directory->address());
  rivals = {&rival};
  // Expect: an older record is none.
  rival.claim(own_key(), 5, true);
  turn_until([&] { return rival.is_overtaken; });
  BOOST_TEST(request(asker.peer(key), {"?"}) == 0);
  answer_next();
  expect_answer();
  BOOST_TEST(!rival.is_held);
  rival.claim(own_key(), UINT64_MAX - 1, true);
  const exs_svc_event_t end = next(owner, EXS_SVC_EVT_OVERTAKEN);
  BOOST_TEST(end.service == service);
  // Expect: the other has it when its owner has given it back, or its lease has ended.
  turn_until([&] { return rival.is_held; });
  exs_svc_close(service);
}

BOOST_FIXTURE_TEST_CASE(a_fenced_service_moves_with_its_lease, World) {
  TestNode adopter(&options);
  nodes = {&owner, &adopter, &asker};
  exs_svc_t* const service = owner.open(key, &is_fenced);
  next(owner, EXS_SVC_EVT_OPEN);
  exs_svc_peer_t* const peer = asker.peer(key);
  BOOST_TEST(request(peer, {"?"}) == 0);
  answer_next();
  expect_answer();
  BOOST_REQUIRE(exs_svc_adopt(adopter.get(), key.get(), &is_fenced, nullptr) != nullptr);
  BOOST_TEST(exs_svc_move(service, nullptr, nullptr) == 0);
  BOOST_TEST(next(owner, EXS_SVC_EVT_MOVED).error == 0);
  exs_svc_release(next(adopter, EXS_SVC_EVT_ADOPTED).message);
  next(adopter, EXS_SVC_EVT_OPEN);
  exs_svc_close(service);
  BOOST_TEST(request(peer, {"?"}) == 0);
  const exs_svc_event_t asked = next(adopter, EXS_SVC_EVT_REQUEST);
  BOOST_TEST(reply(asked.message, 0, {"!"}) == 0);
  exs_svc_release(asked.message);
  expect_answer();
}

BOOST_FIXTURE_TEST_CASE(a_fenced_service_that_is_closed_has_given_back_its_lease, World) {
  exs_svc_t* const service = owner.open(key, &is_fenced);
  next(owner, EXS_SVC_EVT_OPEN);
  exs_svc_peer_t* const peer = asker.peer(key);
  BOOST_TEST(request(peer, {"?"}) == 0);
  answer_next();
  expect_answer();
  Rival rival(directory->address());
  rivals = {&rival};
  exs_svc_close(service);
  // Expect: another life of it need not wait, and neither does this node's next one for that.
  rival.claim(own_key(), 5'000'000'000'000, true);
  turn_until([&] { return rival.is_held; });
  rival.directory.unclaim(own_key().id());
  owner.open(key, &is_fenced);
  BOOST_TEST(request(peer, {"?"}) == 0);
  next(owner, EXS_SVC_EVT_OPEN);
  answer_next();
  expect_answer();
}

BOOST_FIXTURE_TEST_CASE(who_is_suspended_does_not_move, World) {
  has_turns = false;
  exs_svc_t* const service = owner.open(key, &is_fenced);
  check_refused(exs_svc_move(service, nullptr, nullptr), EALREADY);
}

BOOST_AUTO_TEST_CASE(a_fence_needs_a_directory) {
  const OwnedKey key = make_key();
  exs_svc_options_t options = fenced();
  const TestNode node;
  BOOST_TEST(exs_svc_open(node.get(), key.get(), &options, nullptr) == nullptr);
  BOOST_TEST(errno == EINVAL);
  BOOST_TEST(std::string(exs_svc_errtext()).find("EXS_SVC_DIRECTORY") != std::string::npos);
  BOOST_TEST(exs_svc_adopt(node.get(), key.get(), &options, nullptr) == nullptr);
  BOOST_TEST(errno == EINVAL);
  options.flags = 2;
  BOOST_TEST(exs_svc_open(node.get(), key.get(), &options, nullptr) == nullptr);
  BOOST_TEST(errno == EINVAL);
  // Expect: a directory of another host can do nothing for a service of loopback.
  options = fenced();
  const std::string abroad = "192.0.2.1:7000";
  const exs_svc_node_options_t far = by_directory(abroad);
  const TestNode here(&far);
  BOOST_TEST(exs_svc_open(here.get(), key.get(), &options, nullptr) == nullptr);
  BOOST_TEST(std::string(exs_svc_errtext()).find("EXS_SVC_LISTEN") != std::string::npos);
}

// ---------------------------------------------------------------- services that are not

BOOST_FIXTURE_TEST_CASE(who_is_overtaken_by_a_directory_ends, World) {
  exs_svc_t* const service = owner.open(key);
  exs_svc_peer_t* const peer = asker.peer(key);
  BOOST_TEST(request(peer, {"?"}) == 0);
  const exs_svc_event_t asked = next(owner, EXS_SVC_EVT_REQUEST);
  Rival rival(directory->address());
  rivals = {&rival};
  // A young one makes its record the newer, and so does the other, until it is not young any more.
  for (std::uint64_t epoch = UINT64_MAX / 2; count_events(owner, EXS_SVC_EVT_OVERTAKEN) == 0; epoch += 1000) {
    rival.is_held = rival.is_overtaken = false;
    rival.claim(own_key(), epoch, false);
    turn_until([&] {
      return rival.is_held || rival.is_overtaken || count_events(owner, EXS_SVC_EVT_OVERTAKEN) > 0;
    });
    BOOST_TEST(count_events(owner, EXS_SVC_EVT_LOST) == 0U);
  }
  BOOST_TEST(next(owner, EXS_SVC_EVT_OVERTAKEN).service == service);
  // Expect: it answers nobody, and its name is free on its host.
  BOOST_TEST(reply(asked.message, 0, {"!"}) == ECANCELED);
  exs_svc_release(asked.message);
  check_refused(exs_svc_move(service, nullptr, nullptr), EALREADY);
  TestNode next_owner(&options);
  nodes.push_back(&next_owner);
  next_owner.open(key);
  BOOST_TEST(request(peer, {"?"}) == 0);
  const exs_svc_event_t again = next(next_owner, EXS_SVC_EVT_REQUEST);
  BOOST_TEST(reply(again.message, 0, {"!"}) == 0);
  exs_svc_release(again.message);
  // Expect: what the first had may have been executed.
  BOOST_TEST(next(asker, EXS_SVC_EVT_REPLY).error == EOWNERDEAD);
  expect_answer();
  exs_svc_close(service);
}

BOOST_AUTO_TEST_CASE(who_is_overtaken_by_multicast_ends) {
  exs_svc_node_options_t options{};
  options.struct_bytes = sizeof options;
  options.multicast = "lo";
  TestNode owner(&options);
  const OwnedKey key = make_key();
  exs_svc_t* const service = owner.open(key);
  const Key own = key_of(key);
  const Key other;
  RivalByMulticast rival;
  const auto is_overtaken = [&] { return count_events(owner, EXS_SVC_EVT_OVERTAKEN) > 0; };
  const auto turn_until_either = [&] {
    turn_until({&owner}, [&] {
      rival.multicast.step(boottime_ns());
      return rival.is_overtaken || is_overtaken();
    });
  };
  // Expect: a record that is forged is none, and one that is older changes nothing.
  rival.claim(own, other, UINT64_MAX / 2);
  rival.claim(own, own, 5);
  turn_until_either();
  BOOST_TEST(!is_overtaken());
  // Expect: one that is newer does, when the service is not young any more.
  for (std::uint64_t epoch = UINT64_MAX / 2; !is_overtaken(); epoch += 1000) {
    rival.claim(own, own, epoch);
    turn_until_either();
  }
  next_event({&owner}, owner, EXS_SVC_EVT_OVERTAKEN);
  exs_svc_close(service);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
