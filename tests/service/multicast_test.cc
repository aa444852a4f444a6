// Services are found by multicast, on loopback, where strangers say what they like. Services are of keys that nobody else has, so that
// such tests can run at the same time.
// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>
#include <sys/socket.h>

#include <deque>
#include <functional>

#include "service/names/multicast.h"
#include "tests/service/world.h"

namespace exs::svc {
namespace multicast_test {

using namespace exs::svc::test;

// Tests of this program ask nobody outside of this host.
struct QuietNetwork {
  QuietNetwork() { ::setenv("EXS_SVC_MULTICAST", "off", 0); }
};
BOOST_TEST_GLOBAL_FIXTURE(QuietNetwork);

const sockaddr_storage kHere = *parse_address("127.0.0.1:7000");
const sockaddr_storage kAbroad = *parse_address("192.0.2.7:7000");

// A process with services and questions, by a clock of its own.
struct Resident final : private ResolverClient {
  explicit Resident(const char* setting = "lo") : multicast(*parse_multicast(setting), *this) {}

  void step() { multicast.step(now); }
  void do_all_that_is_due() {
    while (multicast.next_time() != kNeverNs) {
      now = multicast.next_time();
      step();
    }
  }
  void claim(const Key& key, std::uint64_t epoch, std::uint64_t instance,
             const std::vector<sockaddr_storage>& addresses = {kHere}) {
    multicast.claim(key.id(), Publication{key, {key.public_key(), epoch, instance, addresses}}, now);
  }
  void ask(const Key& key) { multicast.ask(key.id(), now += 20 * kMs); }

  std::uint64_t now = 1'000'000 * kMs;
  std::deque<Record> found_records;
  std::deque<Record> newer_records;
  Multicast multicast;

 private:
  void found(const Resolver& /*by*/, const IdBytes& /*id*/, const Record& record) override {
    found_records.push_back(record);
  }
  void overtaken(const IdBytes& /*id*/, const Record& newer) override { newer_records.push_back(newer); }
  void outdated(const IdBytes& /*id*/, const Record& /*newer*/) override {}
};

// Steps of those who have something to read, until it is so.
void step_until(const std::vector<Resident*>& all, const std::function<bool()>& is_so) {
  for (int turn = 0; !is_so(); ++turn) {
    BOOST_REQUIRE_MESSAGE(turn < 10'000, "a hang");
    std::vector<pollfd> states;
    for (Resident* const one : all) states.push_back({one->multicast.descriptor(), POLLIN, 0});
    ::poll(states.data(), states.size(), 1);
    for (Resident* const one : all) one->step();
  }
}

// A socket of somebody else.
class Stranger {
 public:
  explicit Stranger(const char* address = "127.0.0.1")
      : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_storage own = *parse_address(address);
    BOOST_REQUIRE(::bind(socket_.get(), as_sockaddr(own), address_bytes(own)) == 0);
    ip_mreqn by_loopback{};
    by_loopback.imr_ifindex = 1;
    BOOST_REQUIRE(
        ::setsockopt(socket_.get(), IPPROTO_IP, IP_MULTICAST_IF, &by_loopback, sizeof by_loopback) == 0);
  }
  void say(Bytes datagram) const {
    const sockaddr_storage group = *parse_address("239.255.69.88:17752");
    BOOST_TEST(::sendto(socket_.get(), datagram.data(), datagram.size(), 0, as_sockaddr(group),
                        address_bytes(group)) == static_cast<ssize_t>(datagram.size()));
  }
  // Nothing: none has come by now.
  [[nodiscard]] std::vector<std::uint8_t> hear() const {
    std::vector<std::uint8_t> datagram(512);
    const ssize_t bytes = ::recv(socket_.get(), datagram.data(), datagram.size(), MSG_DONTWAIT);
    datagram.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
    return datagram;
  }

 private:
  UniqueFd socket_;
};

std::vector<std::uint8_t> query_for(const Key& key) {
  return encode_query(public_name(key.id()), {});
}

}  // namespace multicast_test

BOOST_AUTO_TEST_SUITE(multicast_test)

BOOST_AUTO_TEST_CASE(a_service_is_found_by_who_asks) {
  const Key key;
  Resident owner;
  Resident asker;
  owner.claim(key, 5, 1);
  asker.ask(key);
  step_until({&owner, &asker}, [&] { return !asker.found_records.empty(); });
  const Record& record = asker.found_records.front();
  BOOST_TEST(record.epoch == 5U);
  BOOST_TEST(record.instance == 1U);
  BOOST_TEST((record.addresses.size() == 1 && key_of(record.addresses.front()) == key_of(kHere)));
  BOOST_TEST(owner.newer_records.empty());
}

BOOST_AUTO_TEST_CASE(who_has_asked_hears_of_a_service_that_begins) {
  const Key key;
  Resident owner;
  Resident asker;
  asker.ask(key);
  owner.claim(key, 5, 1);
  step_until({&asker}, [&] { return !asker.found_records.empty(); });
  BOOST_TEST(asker.found_records.front().epoch == 5U);
}

BOOST_AUTO_TEST_CASE(a_claim_is_announced_three_times) {
  const Key key;
  Resident owner;
  Resident asker;
  asker.ask(key);
  owner.claim(key, 5, 1);
  owner.do_all_that_is_due();
  BOOST_TEST(owner.now == 1'000'060 * kMs);
  step_until({&asker}, [&] { return asker.found_records.size() >= 3; });
  // Expect: whoever it is that says something later, it is not the owner any more.
  const Key other;
  Resident later;
  later.claim(other, 5, 1);
  asker.ask(other);
  step_until({&asker, &later}, [&] { return asker.found_records.back().key == other.public_key(); });
  BOOST_TEST(std::count_if(asker.found_records.begin(), asker.found_records.end(),
                           [&](const Record& one) { return one.key == key.public_key(); }) == 3);
}

BOOST_AUTO_TEST_CASE(a_service_that_is_given_back_is_nobody) {
  const Key key;
  const Key other;
  Resident owner;
  Resident asker;
  owner.claim(key, 5, 1);
  owner.claim(other, 5, 1);
  owner.multicast.unclaim(key.id());
  asker.ask(key);
  asker.ask(other);
  step_until({&owner, &asker}, [&] { return !asker.found_records.empty(); });
  // Expect: the question before it is not answered.
  BOOST_TEST((asker.found_records.front().key == other.public_key()));
}

// ---------------------------------------------------------------- where it is told

BOOST_AUTO_TEST_CASE(a_service_that_listens_on_loopback_is_not_told_to_others) {
  const Key key;
  Resident owner("");
  owner.claim(key, 5, 1);
  // Expect: nothing is due, so nothing was said.
  BOOST_TEST(owner.multicast.next_time() == kNeverNs);
}

BOOST_AUTO_TEST_CASE(addresses_of_loopback_are_told_on_loopback) {
  const Key key;
  Resident owner;
  Resident asker;
  owner.claim(key, 5, 1, {kAbroad, kHere});
  asker.ask(key);
  step_until({&owner, &asker}, [&] { return !asker.found_records.empty(); });
  BOOST_TEST(asker.found_records.front().addresses.size() == 2U);
}

// ---------------------------------------------------------------- two who are the same service

BOOST_AUTO_TEST_CASE(who_begins_with_an_older_record_is_told) {
  const Key key;
  Resident first;
  Resident second;
  first.claim(key, 9, 1);
  second.claim(key, 5, 2);
  step_until({&first, &second}, [&] { return !second.newer_records.empty(); });
  BOOST_TEST(second.newer_records.front().epoch == 9U);
  BOOST_TEST(first.newer_records.empty());
  // Expect: and the first is told when the second has made its record the newer one.
  second.claim(key, 10, 2);
  step_until({&first}, [&] { return !first.newer_records.empty(); });
  BOOST_TEST(first.newer_records.front().epoch == 10U);
}

BOOST_AUTO_TEST_CASE(of_two_records_of_one_time_the_greater_instance_is_the_newer) {
  const Key key;
  Resident first;
  Resident second;
  first.claim(key, 5, 2);
  second.claim(key, 5, 1);
  step_until({&first, &second}, [&] { return !second.newer_records.empty(); });
  BOOST_TEST(first.newer_records.empty());
}

BOOST_AUTO_TEST_CASE(who_has_seen_a_newer_record_tells_who_begins_with_an_older_one) {
  const Key key;
  Resident asker;
  {
    Resident gone;
    gone.claim(key, 9, 1);
    asker.ask(key);
    step_until({&gone, &asker}, [&] { return !asker.found_records.empty(); });
  }
  Resident back;
  back.claim(key, 5, 2);
  step_until({&asker, &back}, [&] { return !back.newer_records.empty(); });
  BOOST_TEST(back.newer_records.front().epoch == 9U);
}

// ---------------------------------------------------------------- strangers

BOOST_AUTO_TEST_CASE(a_record_that_is_older_than_one_seen_is_no_answer) {
  const Key key;
  const Stranger stranger;
  Resident owner;
  Resident asker;
  owner.claim(key, 9, 2);
  asker.ask(key);
  step_until({&owner, &asker}, [&] { return !asker.found_records.empty(); });
  asker.found_records.clear();
  const auto say = [&](std::uint64_t epoch, std::uint64_t instance) {
    const Record record{key.public_key(), epoch, instance, {kAbroad}};
    stranger.say(encode_sealed(DatagramType::kAnnouncement, key.id(), {}, encode_record(record, key)));
  };
  say(8, 3);
  say(9, 1);
  say(9, 4);
  step_until({&asker}, [&] { return !asker.found_records.empty(); });
  BOOST_TEST(asker.found_records.size() == 1U);
  BOOST_TEST(asker.found_records.front().instance == 4U);
}

BOOST_AUTO_TEST_CASE(what_strangers_say_finds_nothing) {
  const Key key;
  const Key other;
  const Stranger stranger;
  Resident owner;
  Resident asker;
  asker.ask(key);
  const Record record{key.public_key(), 5, 1, {kAbroad}};
  const std::vector<std::uint8_t> good = encode_record(record, key);
  const std::vector<std::uint8_t> forged = encode_record(record, other);
  // Expect: not what answers another question, is sealed for others, or is not signed by the service.
  for (const auto& datagram :
       {encode_sealed(DatagramType::kAnswer, key.id(), {}, good),
        encode_sealed(DatagramType::kAnnouncement, other.id(), {}, good),
        encode_sealed(DatagramType::kAnnouncement, key.id(), {}, forged), query_for(key),
        std::vector<std::uint8_t>(), std::vector<std::uint8_t>(kDatagramMax),
        std::vector<std::uint8_t>(60'000, 0x45)})
    stranger.say(datagram);
  owner.claim(key, 4, 2);
  step_until({&asker}, [&] { return !asker.found_records.empty(); });
  BOOST_TEST(asker.found_records.size() == 1U);
  BOOST_TEST(asker.found_records.front().instance == 2U);
}

BOOST_AUTO_TEST_CASE(who_asks_often_gets_twenty_answers) {
  const Key key;
  const Stranger often("127.0.0.2");
  const Stranger once("127.0.0.3");
  Resident owner;
  owner.claim(key, 5, 1);
  for (int i = 0; i < 50; ++i) often.say(query_for(key));
  once.say(query_for(key));
  std::vector<std::uint8_t> answer;
  step_until({&owner}, [&] { return !(answer = once.hear()).empty(); });
  BOOST_TEST(answer.size() <= query_for(key).size());
  int answers = 0;
  while (!often.hear().empty()) ++answers;
  BOOST_TEST(answers == 20);
}

BOOST_AUTO_TEST_CASE(who_floods_the_group_is_heard_a_part_of_the_time) {
  const Key key;
  const Stranger stranger;
  Resident owner;
  owner.claim(key, 5, 1);
  owner.do_all_that_is_due();
  for (int i = 0; i < 200; ++i) stranger.say(std::vector<std::uint8_t>(1));
  step_until({&owner}, [&] { return owner.multicast.next_time() != kNeverNs; });
  // Expect: until then it looks at nothing.
  BOOST_TEST(owner.multicast.next_time() == owner.now + 10 * kMs);
  pollfd state{owner.multicast.descriptor(), POLLIN, 0};
  BOOST_TEST(::poll(&state, 1, 0) == 0);
  owner.now += 10 * kMs;
  owner.step();
  // Expect: and when it has heard all, it waits for more as before.
  owner.do_all_that_is_due();
  stranger.say(std::vector<std::uint8_t>(1));
  BOOST_TEST(::poll(&state, 1, 10'000) == 1);
}

BOOST_AUTO_TEST_CASE(questions_are_remembered_up_to_a_number) {
  Resident asker("none");
  for (std::size_t i = 0; i < 2 * Multicast::kQuestionsMax; ++i) asker.ask(Key());
  BOOST_TEST(asker.multicast.questions() == Multicast::kQuestionsMax);
  asker.now += 61'000 * kMs;
  asker.ask(Key());
  BOOST_TEST(asker.multicast.questions() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
