// Leases that are fenced: a directory's table, what a process knows of its own, and that no two owners ever serve at a time.
// SPDX-License-Identifier: BSD-2-Clause
#include <deque>
#include <random>

#include "service/names/directory_wire.h"
#include "service/names/lease.h"
#include "tests/service/directory_world.h"
#include "tests/service/frame_layout.h"
#include "tests/support/property.h"
#include "tools/directory/journal.h"
#include "tools/directory/leases.h"

namespace exs::svc {
namespace lease_test {

using namespace exs::svc::test;

Leases::Entry entry_of(const Key& key, std::uint64_t epoch, std::uint64_t instance, Leases::Holder holder) {
  const Record record = record_of(key.public_key(), epoch, instance);
  return {record, encode_record(record, key), holder, 600, 0, true, true, false};
}

// ---------------------------------------------------------------- a directory and owners, by a clock of the test

struct Saying {
  enum Kind { kClaim, kRenew, kRelease, kHeld, kDenied, kWait, kWanted, kRenewed };
  Kind kind = kClaim;
  std::uint64_t arrives = 0;
  std::uint64_t epoch = 0;
  std::uint64_t instance = 0;
  std::uint64_t sent = 0;  // of a renewal
};

// One direction of a connection: what is said arrives late, and in order.
struct Way {
  std::deque<Saying> sayings;
  void say(Saying saying, std::uint64_t now, std::uint64_t delay) {
    const std::uint64_t before = sayings.empty() ? now : sayings.back().arrives;
    saying.arrives = std::max(before, now + delay);
    sayings.push_back(saying);
  }
  template <class Take>
  void arrive(std::uint64_t now, Take take) {
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
  std::uint64_t renews_ns = 0;
  Way to;
  Way from;
};

// What a Directory does with a Lease, at one end, and a DirectoryServer with Leases at the other.
class Model {
 public:
  explicit Model(std::uint64_t seed) : random_(seed) { owners_.resize(2); }

  void step(std::uint64_t now) {
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
  std::uint64_t delay() { return static_cast<std::uint64_t>(random_() % (is_one_of(8) ? 700 : 60)) * kMs; }
  void claim(Owner& owner, std::uint64_t now) {
    owner.lease.claim_sent(now);
    owner.to.say({Saying::kClaim, 0, owner.epoch, owner.instance, 0}, now, delay());
  }
  void begin_again(Owner& owner, std::uint64_t now) {
    owner.late_answers += owner.lease.unanswered();
    owner.lease = Lease();
    owner.instance = ++instances_;
    owner.epoch = ++epochs_;
    owner.is_over = false;
    if (owner.connection != 0) claim(owner, now);
  }
  void disconnect(Owner& owner, std::uint64_t now) {
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

  void be(Owner& owner, std::uint64_t now) {
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
  void hear(Owner& owner, const Saying& saying, std::uint64_t now) {
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

  void direct(Owner& owner, const Saying& saying, std::uint64_t now) {
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

}  // namespace lease_test

BOOST_AUTO_TEST_SUITE(lease_test, *boost::unit_test::fixture<exs::test::PropertyDefaults>())

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
    BOOST_REQUIRE(journal.open(leases, 100, 0).error() == 0);
    BOOST_TEST(journal.write(entry_of(key, 5, 1, 1)).error() == 0);
  }
  Leases leases(4, 4, nothing);
  Journal journal(file.path());
  BOOST_REQUIRE(journal.open(leases, 100, 50).error() == 0);
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
    for (std::uint64_t now = 5000 * kMs; now < 15'000 * kMs; now += 10 * kMs) model.step(now);
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
