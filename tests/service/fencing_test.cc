// Of two who have the key of a service, one serves: who has been overtaken ends, and a service that is fenced serves only while it has
// the lease of a directory. Directories have their turns in the thread of the test; one that has none is one that has stopped.
#include <deque>
#include <random>

#include "service/names/directory.h"
#include "service/names/multicast.h"
#include "tests/service/frame_layout.h"
#include "tests/service/world.h"
#include "tools/directory/server.h"

namespace exs::svc {
namespace {

using namespace exs::svc::test;

const sockaddr_storage kHere = *parse_address("127.0.0.1:7000");

Record record_of(const PublicKey& key, std::uint64_t epoch, std::uint64_t instance) {
  return {key, epoch, instance, {kHere}};
}
Leases::Entry entry_of(const Key& key, std::uint64_t epoch, std::uint64_t instance, Leases::Holder holder) {
  const Record record = record_of(key.public_key(), epoch, instance);
  return {record, encode_record(record, key), holder, 600, 0, true, true, false};
}

class OwnFile {
 public:
  OwnFile() { BOOST_REQUIRE(::mkdtemp(folder_.data()) != nullptr); }
  ~OwnFile() {
    ::unlink(path().c_str());
    ::rmdir(folder_.c_str());
  }
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;
  [[nodiscard]] std::string path() const { return folder_ + "/services"; }

 private:
  std::string folder_ = "/tmp/exs-fencing-XXXXXX";
};

// ---------------------------------------------------------------- a directory and owners, by a clock of the test

struct Saying {
  enum Kind { kClaim, kRenew, kRelease, kHeld, kDenied, kWait, kWanted, kRenewed };
  Kind kind = kClaim;
  std::int64_t arrives = 0;
  std::uint64_t epoch = 0;
  std::uint64_t instance = 0;
  std::int64_t sent = 0;  // of a renewal
};

// One direction of a connection: what is said arrives late, and in order.
struct Way {
  std::deque<Saying> sayings;
  void say(Saying saying, std::int64_t now, std::int64_t delay) {
    const std::int64_t before = sayings.empty() ? now : sayings.back().arrives;
    saying.arrives = std::max(before, now + delay);
    sayings.push_back(saying);
  }
  template <class Take>
  void arrive(std::int64_t now, Take take) {
    while (!sayings.empty() && sayings.front().arrives <= now) {
      const Saying saying = sayings.front();
      sayings.pop_front();
      take(saying);
    }
  }
};

struct Owner {
  Lease lease;
  std::uint64_t instance = 0;
  std::uint64_t epoch = 0;
  Leases::Holder connection = 0;
  std::size_t late_answers = 0;
  bool is_over = false;
  std::int64_t renews_ns = 0;
  Way to;
  Way from;
};

// What a Directory does with a Lease, at one end, and a DirectoryServer with Leases at the other.
class Model {
 public:
  explicit Model(std::uint64_t seed) : random_(seed) { owners_.resize(2); }

  void step(std::int64_t now) {
    for (Owner& owner : owners_) be(owner, now);
    if (is_one_of(2)) leases_.end_late(now);
    for (Owner& owner : owners_)
      owner.to.arrive(now, [&](const Saying& saying) { direct(owner, saying, now); });
    // Expect: never both, not even for the time in which an owner should have stopped.
    std::size_t serving = 0;
    for (const Owner& owner : owners_)
      if (!owner.is_over && now < owner.lease.serves_until() + Lease::kSafetyNs) ++serving;
    EXS_HOLD(serving <= 1);
    served_ += serving;
  }
  [[nodiscard]] std::size_t served() const { return served_; }
  [[nodiscard]] std::size_t changes() const { return instances_; }

 private:
  bool is_one_of(std::uint64_t many) { return random_() % many == 0; }
  std::int64_t delay() { return static_cast<std::int64_t>(random_() % (is_one_of(8) ? 700 : 60)) * kMs; }
  void claim(Owner& owner, std::int64_t now) {
    owner.lease.claim_sent(now);
    owner.to.say({Saying::kClaim, 0, owner.epoch, owner.instance, 0}, now, delay());
  }
  void begin_again(Owner& owner, std::int64_t now) {
    owner.late_answers += owner.lease.unanswered();
    owner.lease = Lease();
    owner.instance = ++instances_;
    owner.epoch = ++epochs_;
    owner.is_over = false;
    if (owner.connection != 0) claim(owner, now);
  }
  void disconnect(Owner& owner, std::int64_t now) {
    owner.lease.disconnected();
    owner.late_answers = 0;
    // What had left may arrive, or not.
    while (is_one_of(2) && !owner.to.sayings.empty()) {
      Saying saying = owner.to.sayings.front();
      owner.to.sayings.pop_front();
      direct(owner, saying, now);
    }
    owner.to.sayings.clear();
    owner.from.sayings.clear();
    leases_.leave(std::exchange(owner.connection, 0), now);
  }

  void be(Owner& owner, std::int64_t now) {
    if (owner.instance == 0 || (owner.is_over && is_one_of(20))) begin_again(owner, now);
    if (owner.connection != 0 && is_one_of(80)) disconnect(owner, now);
    if (owner.connection == 0 && is_one_of(6)) {
      owner.connection = ++connections_;
      if (!owner.is_over) claim(owner, now);
    }
    owner.from.arrive(now, [&](const Saying& saying) { hear(owner, saying, now); });
    if (owner.connection == 0 || now < owner.renews_ns) return;
    owner.renews_ns = now + 150 * kMs;
    owner.to.say({Saying::kRenew, 0, 0, 0, now}, now, delay());
  }
  void hear(Owner& owner, const Saying& saying, std::int64_t now) {
    if (saying.kind == Saying::kRenewed) {
      owner.lease.renewed(saying.sent, now);
      if (!owner.is_over && !owner.lease.is_held() && owner.lease.unanswered() == 0) claim(owner, now);
      return;
    }
    if (saying.kind == Saying::kWanted) {
      if (owner.is_over || saying.epoch <= owner.epoch) return;
      owner.is_over = true;
      return owner.to.say({Saying::kRelease, 0, 0, 0, 0}, now, delay());
    }
    if (owner.late_answers > 0) {
      --owner.late_answers;
      return;
    }
    if (saying.kind == Saying::kHeld) return owner.lease.granted(now);
    owner.lease.denied(saying.kind == Saying::kWait);
    if (saying.kind == Saying::kDenied) owner.is_over = true;
  }

  void direct(Owner& owner, const Saying& saying, std::int64_t now) {
    const Leases::Holder holder = owner.connection;
    if (saying.kind == Saying::kRelease) return leases_.release(holder, key_.id(), now);
    if (saying.kind == Saying::kRenew) {
      leases_.renew(holder, now);
      return owner.from.say({Saying::kRenewed, 0, 0, 0, saying.sent}, now, delay());
    }
    Leases::Entry entry;
    entry.record = record_of(key_.public_key(), saying.epoch, saying.instance);
    entry.holder = holder;
    entry.lease_ns = Lease::kLeaseNs;
    entry.is_fenced = true;
    switch (leases_.claim(entry, now)) {
      case Leases::Answer::kHeld: return owner.from.say({Saying::kHeld, 0, 0, 0, 0}, now, delay());
      case Leases::Answer::kNoRoom:
      case Leases::Answer::kNewerKnown: return owner.from.say({Saying::kDenied, 0, 0, 0, 0}, now, delay());
      case Leases::Answer::kWait: break;
    }
    owner.from.say({Saying::kWait, 0, 0, 0, 0}, now, delay());
    for (Owner& other : owners_)
      if (other.connection != 0 && other.connection == leases_.find(key_.id())->holder)
        other.from.say({Saying::kWanted, 0, saying.epoch, saying.instance, 0}, now, delay());
  }

  std::mt19937_64 random_;
  const Key key_;
  Leases leases_{4, 4, [](const IdBytes&, const Leases::Entry&, Leases::Holder) {}};
  std::vector<Owner> owners_;
  Leases::Holder connections_ = 0;
  std::uint64_t instances_ = 0;
  std::uint64_t epochs_ = 0;
  std::size_t served_ = 0;
};

// ---------------------------------------------------------------- a node, and somebody else who has its service's key

struct RivalByMulticast final : private ResolverClient {
  // With another key than its service's, it forges.
  void claim(const Key& key, const Key& signer, std::uint64_t epoch) {
    is_overtaken = false;
    multicast.claim(key.id(), {signer, record_of(key.public_key(), epoch, 7)}, now_ns());
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
    directory.claim(key.id(), {key, record_of(key.public_key(), epoch, 7), is_fenced}, now_ns());
  }
  bool is_held = false;
  bool is_overtaken = false;
  Directory directory;

 private:
  void found(const Resolver& /*by*/, const IdBytes& /*id*/, const Record& /*record*/) override {}
  void overtaken(const IdBytes& /*id*/, const Record& /*newer*/) override { is_overtaken = true; }
  void outdated(const IdBytes& /*id*/, const Record& /*newer*/) override {}
  void held(const IdBytes& /*id*/, std::int64_t /*until_ns*/) override { is_held = true; }
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
  BOOST_REQUIRE(KeyFile::load(stored.path().c_str(), loaded) == 0);
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
      for (Rival* const rival : rivals) rival->directory.step(now_ns());
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

}  // namespace

BOOST_AUTO_TEST_SUITE(fencing_test, *boost::unit_test::fixture<exs::test::PropertyDefaults>())

// ---------------------------------------------------------------- leases

BOOST_AUTO_TEST_CASE(a_fenced_service_is_anothers_when_its_lease_has_ended) {
  const Key key;
  Leases leases(4, 4, [](const IdBytes&, const Leases::Entry&, Leases::Holder) {});
  BOOST_TEST((leases.claim(entry_of(key, 5, 1, 1), 0) == Leases::Answer::kHeld));
  BOOST_TEST((leases.claim(entry_of(key, 4, 2, 2), 0) == Leases::Answer::kNewerKnown));
  leases.renew(1, 100);
  BOOST_TEST((leases.claim(entry_of(key, 6, 2, 2), 150) == Leases::Answer::kWait));
  // Expect: it is not renewed any more, and its end tells nothing.
  leases.renew(1, 200);
  leases.leave(1, 250);
  leases.end_late(699);
  BOOST_TEST((leases.claim(entry_of(key, 6, 2, 2), 699) == Leases::Answer::kWait));
  leases.end_late(700);
  BOOST_TEST((leases.claim(entry_of(key, 6, 2, 2), 700) == Leases::Answer::kHeld));
  // Expect: the same life of the service has it at once, on another connection; and who gives it back makes way.
  BOOST_TEST((leases.claim(entry_of(key, 7, 2, 3), 710) == Leases::Answer::kHeld));
  leases.release(2, key.id(), 720);
  BOOST_TEST((leases.claim(entry_of(key, 8, 4, 4), 730) == Leases::Answer::kWait));
  leases.release(3, key.id(), 740);
  BOOST_TEST((leases.claim(entry_of(key, 8, 4, 4), 740) == Leases::Answer::kHeld));
}

BOOST_AUTO_TEST_CASE(a_directory_that_begins_knows_the_fences_of_its_file_or_waits) {
  const Key key;
  const OwnFile file;
  const auto nothing = [](const IdBytes&, const Leases::Entry&, Leases::Holder) {};
  {
    Leases leases(4, 4, nothing);
    Journal journal(file.path());
    BOOST_REQUIRE(journal.open(leases, 100, 0) == 0);
    BOOST_TEST(journal.write(entry_of(key, 5, 1, 1)) == 0);
  }
  Leases leases(4, 4, nothing);
  Journal journal(file.path());
  BOOST_REQUIRE(journal.open(leases, 100, 50) == 0);
  BOOST_TEST((leases.claim(entry_of(key, 6, 2, 2), 60) == Leases::Answer::kWait));
  BOOST_TEST((leases.claim(entry_of(key, 5, 1, 1), 60) == Leases::Answer::kHeld));
  Leases without(4, 4, nothing);
  without.wait_until(100);
  BOOST_TEST((without.claim(entry_of(key, 5, 1, 1), 99) == Leases::Answer::kWait));
  BOOST_TEST((without.claim(entry_of(key, 5, 1, 1), 100) == Leases::Answer::kHeld));
}

BOOST_AUTO_TEST_CASE(a_lease_ends_here_before_it_ends_there) {
  Lease lease;
  lease.claim_sent(1000 * kMs);
  BOOST_TEST(!lease.is_held());
  lease.granted(1100 * kMs);
  BOOST_TEST(lease.serves_until() == 1500 * kMs);
  lease.renewed(1150 * kMs, 1599 * kMs);
  BOOST_TEST(lease.serves_until() == 1650 * kMs);
  // Expect: an answer that comes when it may have ended there renews nothing.
  lease.renewed(1700 * kMs, 1750 * kMs);
  BOOST_TEST(!lease.is_held());
  BOOST_TEST(lease.asks_again());
  BOOST_TEST(lease.serves_until() == 1650 * kMs);
  // Expect: claims are answered in their order, and what was asked on another connection is not.
  lease.claim_sent(1800 * kMs);
  lease.claim_sent(1900 * kMs);
  lease.granted(1950 * kMs);
  BOOST_TEST(lease.serves_until() == 2300 * kMs);
  lease.disconnected();
  lease.granted(1960 * kMs);
  lease.renewed(1950 * kMs, 1960 * kMs);
  BOOST_TEST(lease.serves_until() == 2300 * kMs);
}

BOOST_AUTO_TEST_CASE(two_owners_never_serve_at_a_time) {
  std::size_t served = 0;
  std::size_t changes = 0;
  BOOST_TEST(exs::test::holds("fenced owners", [&] {
    Model model(exs::test::draw_bits(64));
    for (std::int64_t now = 5000 * kMs; now < 15'000 * kMs; now += 10 * kMs) model.step(now);
    served += model.served();
    changes += model.changes();
  }));
  // Expect: it was worth looking.
  BOOST_TEST(served > 1'000U);
  BOOST_TEST(changes > 100U);
}

BOOST_AUTO_TEST_CASE(what_is_said_of_fences_has_its_bytes_where_the_format_says) {
  DirectoryMessage message{.type = DirectoryType::kWait};
  fill_from(message.id, counting(0x40, 16));
  FrameBytes wait;
  append_directory(wait, message);
  expect_layout(wait, {{0, {0, 20}}, {2, {15}}, {3, {0}}, {4, counting(0x40, 16)}});
  const FrameBytes record = counting(9, kRecordMax);
  message.record = record;
  message.type = DirectoryType::kWanted;
  FrameBytes wanted;
  append_directory(wanted, message);
  expect_layout(wanted, {{0, {0, 194}}, {2, {16}}, {3, {0}}, {4, counting(9, 190)}});
  message.type = DirectoryType::kClaim;
  message.number = 600;
  message.is_fenced = true;
  FrameBytes claim;
  append_directory(claim, message);
  BOOST_TEST(claim[3] == 1);
  const auto decoded = decode_directory(claim);
  BOOST_REQUIRE(decoded.has_value());
  BOOST_TEST(decoded->is_fenced);
  wait[3] = 1;
  BOOST_TEST(!decode_directory(wait).has_value());
}

// ---------------------------------------------------------------- services that are fenced

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
  const std::int64_t limit_ns = now_ns() + Lease::kLeaseNs;
  turn_until([&] { return now_ns() >= limit_ns; });
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
  TestNode heir(&options);
  nodes = {&owner, &heir, &asker};
  exs_svc_t* const service = owner.open(key, &is_fenced);
  next(owner, EXS_SVC_EVT_OPEN);
  exs_svc_peer_t* const peer = asker.peer(key);
  BOOST_TEST(request(peer, {"?"}) == 0);
  answer_next();
  expect_answer();
  BOOST_REQUIRE(exs_svc_adopt(heir.get(), key.get(), &is_fenced, nullptr) != nullptr);
  BOOST_TEST(exs_svc_move(service, nullptr, nullptr) == 0);
  BOOST_TEST(next(owner, EXS_SVC_EVT_MOVED).error == 0);
  exs_svc_release(next(heir, EXS_SVC_EVT_ADOPTED).message);
  next(heir, EXS_SVC_EVT_OPEN);
  exs_svc_close(service);
  BOOST_TEST(request(peer, {"?"}) == 0);
  const exs_svc_event_t asked = next(heir, EXS_SVC_EVT_REQUEST);
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
      rival.multicast.step(now_ns());
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
