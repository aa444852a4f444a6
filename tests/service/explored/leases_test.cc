// Leases and fences: two processes that have the key of one service, the directory, and what is under way between them, in every order
// of what can happen, with connections that break, a directory that starts anew, and time. Lease, Hold and Leases are the real ones.
// What Directory (the client) and DirectoryServer do with them is written here once more, as both hang on sockets.
//
// Bounds: time goes on in steps of a third of a lease, so a lease is three steps long and every length of a pause is among them.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "service/names/hold.h"
#include "service/names/lease.h"
#include "tests/support/explorer.h"
#include "tools/directory/leases.h"

using exs::test::InPlace;
using exs::test::Place;

namespace exs::svc {
namespace leases_test {

constexpr std::uint64_t kStepNs = Lease::kLeaseNs / 3;
constexpr std::uint64_t kStartNs = 1'000 * kStepNs;
constexpr std::uint64_t kGraceNs = 4 * kStepNs;  // longer than a lease, as the directory's
constexpr std::size_t kUnderWayMax = 2;
constexpr std::size_t kMomentsMax = 1'000'000;

struct Bounds {
  unsigned steps = 6;   // of time
  unsigned claims = 2;  // of the first process
  unsigned other_claims = 1;
  unsigned renewals = 1;         // of the first process
  unsigned breaks = 0;           // of its connection
  unsigned restarts = 0;         // of the directory
  bool gives_back = false;       // the first process, once
  bool is_same_service = false;  // the second process is the same instance: it has moved, or connected again
};

enum class Word : std::uint8_t { kClaim, kRenew, kRelease, kHeld, kWait, kOvertaken, kWanted, kRenewed };
struct Message {
  Word word = Word::kClaim;
  std::uint64_t sent_ns = 0;  // of a renewal and its answer
};

// What is under way, of equal memory where it is equal.
class Messages {
 public:
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] bool is_full() const { return count_ >= kUnderWayMax; }
  void push(Message message) { messages_.at(count_++) = message; }
  Message pop() {
    const Message first = messages_[0];
    std::move(messages_.begin() + 1, messages_.end(), messages_.begin());
    messages_.back() = {};
    --count_;
    return first;
  }
  void clear() { *this = {}; }

 private:
  std::array<Message, kUnderWayMax + 3> messages_{};
  std::size_t count_ = 0;
};

// A process that wants to be the service, with a fence.
struct Process {
  Process() : hold(true) {}

  Lease lease;
  Hold hold;
  bool is_connected = true;
  bool is_over = false;  // it has been overtaken, or has closed the service
  Leases::Holder holder = 0;
  unsigned claims = 0;
  unsigned renewals = 0;
  unsigned breaks = 0;
  bool has_given_back = false;
  Messages to_directory;
  Messages from_directory;
};

class LeaseWorld {
 public:
  explicit LeaseWorld(const Bounds& bounds) : bounds_(bounds) {
    open_directory();
    for (unsigned i = 0; i < 2; ++i) processes_[i].holder = ++holders_;
  }

  enum Choice : unsigned { kTime, kDirectoryLooks, kRestart, kOfProcesses };
  enum Deed : unsigned {
    kClaim,
    kRenew,
    kArrives,
    kIsAnswered,
    kBreak,
    kSeenBroken,
    kConnect,
    kGiveBack,
    kDeeds
  };
  [[nodiscard]] static unsigned choices() { return kOfProcesses + 2 * kDeeds; }

  bool happens(unsigned choice) {
    const InPlace whole(Place::kWhole);
    const bool has_happened = choice < kOfProcesses
                                  ? happens_alone(choice)
                                  : happens_to((choice - kOfProcesses) % 2, (choice - kOfProcesses) / 2);
    if (has_happened && serving() > 1) wrong_ = "two processes serve at the same time";
    return has_happened;
  }
  [[nodiscard]] const char* wrong() const { return wrong_; }
  void end() {}
  static void add_to(test::Fingerprint& moment) {
    for (const Place place : {Place::kFirst, Place::kWhole}) test::SnapshotHeaps::add_to(moment, place);
  }
  [[nodiscard]] static std::vector<std::span<std::byte>> elsewhere() { return {}; }
  [[nodiscard]] static std::string name(unsigned choice) {
    constexpr std::array kAlone = {"time goes on", "the directory ends late leases",
                                   "the directory starts anew"};
    constexpr std::array kOf = {"claims",
                                "renews",
                                "'s message arrives",
                                "is answered",
                                "loses its connection",
                                "'s broken connection is seen",
                                "connects",
                                "gives the service back"};
    if (choice < kOfProcesses) return kAlone.at(choice);
    return "process " + std::to_string((choice - kOfProcesses) % 2) + " " +
           kOf.at((choice - kOfProcesses) / 2);
  }
  [[nodiscard]] bool has_served() const { return has_served_; }

 private:
  [[nodiscard]] std::uint64_t now() const { return kStartNs + passed_ * kStepNs; }
  // Each would serve at this very moment, and a moment before the next step.
  [[nodiscard]] int serving() const {
    int count = 0;
    for (const Process& one : processes_) count += !one.is_over && one.hold.may_serve(now()) ? 1 : 0;
    return count;
  }

  void open_directory() {
    const InPlace directory(Place::kFirst);
    leases_.emplace(
        std::size_t{4}, std::size_t{4}, [](const IdBytes&, const Leases::Entry&, Leases::Holder) {},
        [this](const Leases::Entry& entry) { return keep(entry); });
  }
  bool keep(const Leases::Entry& entry) {
    kept_ = entry.record.epoch;
    return true;
  }
  [[nodiscard]] Leases::Entry entry_of(unsigned process) const {
    const std::uint64_t number = bounds_.is_same_service ? 1 : process + 1;
    Leases::Entry entry;
    entry.record.epoch = entry.record.instance = number;
    entry.bytes = {static_cast<std::uint8_t>(number)};
    entry.holder = processes_[process].holder;
    entry.lease_ns = Lease::kLeaseNs;
    entry.is_held = entry.is_fenced = true;
    return entry;
  }

  bool happens_alone(unsigned choice) {
    if (choice == kTime) {
      if (passed_ == bounds_.steps) return false;
      ++passed_;
      return true;
    }
    if (choice == kDirectoryLooks) {
      if (looked_ == passed_) return false;
      looked_ = passed_;
      leases_->end_late(now());
      return true;
    }
    if (restarts_ == bounds_.restarts) return false;
    ++restarts_;
    restart();
    return true;
  }
  // All connections are lost, and the file tells what was granted last.
  void restart() {
    open_directory();
    looked_ = passed_;
    for (Process& one : processes_) {
      one.to_directory.clear();
      if (one.is_connected) lose(one);
    }
    broken_.clear();
    if (kept_ == 0) return;
    Leases::Entry entry = entry_of(static_cast<unsigned>(kept_ - 1));
    entry.holder = 0;
    entry.lease_ns = kGraceNs;
    entry.until_ns = now() + kGraceNs;
    leases_->restore(std::move(entry));
  }

  bool happens_to(unsigned index, unsigned deed) {
    Process& one = processes_[index];
    switch (deed) {
      case kClaim: return claims(one);
      case kRenew: return renews(one);
      case kArrives: {
        const InPlace directory(Place::kFirst);
        return arrives(index);
      }
      case kIsAnswered: return is_answered(one);
      case kBreak:
        if (!one.is_connected || index != 0 || one.breaks == bounds_.breaks) return false;
        ++one.breaks;
        broken_.push_back(one.holder);
        lose(one);
        return true;
      case kSeenBroken: return index == 0 && is_seen_broken();
      case kConnect:
        // What was under way on the connection before may still arrive. The model lets it arrive first or be lost.
        if (one.is_connected || one.is_over) return false;
        one.is_connected = true;
        one.to_directory.clear();
        one.holder = ++holders_;
        return true;
      default: return gives_back(one);
    }
  }
  static void lose(Process& one) {
    one.is_connected = false;
    one.from_directory.clear();
    one.lease.disconnected();
  }
  bool is_seen_broken() {
    if (broken_.empty()) return false;
    leases_->leave(broken_.front(), now());
    broken_.erase(broken_.begin());
    return true;
  }

  // As Directory::greeted() and Directory::renewed() claim, at any time at which they could.
  bool claims(Process& one) {
    if (one.is_over || !one.is_connected || one.lease.is_held() || one.lease.unanswered() > 0) return false;
    if (one.to_directory.is_full()) return false;
    if (one.claims == (&one == &processes_[0] ? bounds_.claims : bounds_.other_claims)) return false;
    ++one.claims;
    one.lease.claim_sent(now());
    one.to_directory.push({Word::kClaim, 0});
    return true;
  }
  bool renews(Process& one) {
    if (one.is_over || !one.is_connected || &one != &processes_[0] || one.renewals == bounds_.renewals)
      return false;
    if (one.to_directory.is_full()) return false;
    ++one.renewals;
    one.to_directory.push({Word::kRenew, now()});
    return true;
  }
  bool gives_back(Process& one) {
    if (!bounds_.gives_back || &one != &processes_[0] || one.has_given_back || one.is_over) return false;
    one.has_given_back = true;
    stop(one);
    return true;
  }
  // The service serves no longer before its name is given back.
  static void stop(Process& one) {
    one.is_over = true;
    if (one.is_connected) one.to_directory.push({Word::kRelease, 0});
  }

  // As DirectoryServer::take().
  bool arrives(unsigned index) {
    Process& one = processes_[index];
    if (one.to_directory.empty() || one.from_directory.is_full()) return false;
    const Message message = one.to_directory.pop();
    switch (message.word) {
      case Word::kClaim: claim(index); break;
      case Word::kRenew:
        leases_->renew(one.holder, now());
        answer(one, {Word::kRenewed, message.sent_ns});
        break;
      default: leases_->release(one.holder, IdBytes(id_of(PublicKey{})), now()); break;
    }
    return true;
  }
  void claim(unsigned index) {
    Process& one = processes_[index];
    switch (leases_->claim(entry_of(index), now())) {
      case Leases::Answer::kHeld: return answer(one, {Word::kHeld, 0});
      case Leases::Answer::kNewerKnown: return answer(one, {Word::kOvertaken, 0});
      default: break;
    }
    answer(one, {Word::kWait, 0});
    const Leases::Entry* const known = leases_->find(id_of(PublicKey{}));
    for (Process& other : processes_)
      if (known != nullptr && &other != &one && known->holder == other.holder)
        answer(other, {Word::kWanted, 0});
  }
  static void answer(Process& one, Message message) {
    if (one.is_connected) one.from_directory.push(message);
  }
  // As Directory::take().
  bool is_answered(Process& one) {
    if (one.from_directory.empty()) return false;
    const Message message = one.from_directory.pop();
    if (one.is_over) return true;
    switch (message.word) {
      case Word::kHeld: one.lease.granted(now()); break;
      case Word::kWait: one.lease.denied(true); break;
      case Word::kRenewed: one.lease.renewed(message.sent_ns, now()); break;
      case Word::kOvertaken:
        one.lease.denied(false);
        stop(one);
        return true;
      default: stop(one); return true;
    }
    if (one.lease.is_held()) {
      one.hold.extend(one.lease.serves_until());
      has_served_ = true;
    }
    return true;
  }

  const Bounds& bounds_;
  std::optional<Leases> leases_;
  std::array<Process, 2> processes_;
  std::vector<Leases::Holder> broken_;  // connections whose end the directory has not seen
  std::uint64_t kept_ = 0;              // the epoch in the directory's file
  unsigned passed_ = 0;
  unsigned looked_ = 0;
  unsigned restarts_ = 0;
  Leases::Holder holders_ = 0;
  const char* wrong_ = nullptr;
  bool has_served_ = false;
};

void explore(const char* name, const Bounds& bounds) {
  const test::Explored found =
      test::Explorer<LeaseWorld>::run([&] { return new LeaseWorld(bounds); }, kMomentsMax);
  BOOST_TEST_MESSAGE(name << ": " << found.moments << " moments, " << found.steps << " steps, " << found.ends
                          << " ends");
  BOOST_TEST_INFO(name);
  BOOST_TEST(found.wrong == "");
}

}  // namespace leases_test
}  // namespace exs::svc

using namespace exs::svc::leases_test;

BOOST_AUTO_TEST_SUITE(leases_test)

BOOST_AUTO_TEST_CASE(one_process_serves_at_a_time) {
  explore("a claim and a renewal", {.steps = 4, .claims = 1, .renewals = 1});
  explore("claims", {.steps = 4, .claims = 2, .other_claims = 2, .renewals = 0});
  explore("one gives it back", {.steps = 3, .claims = 1, .renewals = 0, .gives_back = true});
}

BOOST_AUTO_TEST_CASE(one_process_serves_at_a_time_while_connections_break) {
  explore("each connection breaks once", {.steps = 4, .claims = 2, .renewals = 0, .breaks = 1});
}

BOOST_AUTO_TEST_CASE(one_process_serves_at_a_time_while_the_directory_starts_anew) {
  explore("once", {.steps = 4, .claims = 1, .renewals = 0, .restarts = 1});
}

BOOST_AUTO_TEST_SUITE_END()
