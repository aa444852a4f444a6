// The directory: the bytes of FORMAT.md, who holds what, its file, and what strangers can do. The server has its turns in the thread of
// the test, over sockets of loopback.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/resource.h>

#include <csignal>
#include <deque>
#include <fstream>
#include <functional>
#include <utility>

#include "service/names/directory.h"
#include "tests/service/directory_world.h"
#include "tests/service/frame_layout.h"
#include "tools/directory/server.h"

namespace exs::svc {
namespace directory_test {

using namespace exs::svc::test;

Record record_of(const Key& key, std::uint64_t epoch, std::uint64_t instance = 1) {
  return {key.public_key(), epoch, instance, {kHere}};
}
FrameBytes encoded(const DirectoryMessage& message) {
  FrameBytes bytes;
  append_directory(bytes, message);
  return bytes;
}

// ---------------------------------------------------------------- messages

const std::vector<DirectoryType> kWithId = {
    DirectoryType::kRelease, DirectoryType::kFind, DirectoryType::kWatch, DirectoryType::kUnwatch,
    DirectoryType::kNobody,  DirectoryType::kHeld, DirectoryType::kNoRoom};
const std::vector<DirectoryType> kWithRecord = {DirectoryType::kRecord, DirectoryType::kOvertaken,
                                                DirectoryType::kOutdated};

std::vector<FrameBytes> all_messages() {
  static const FrameBytes record = counting(9, kRecordMax);
  DirectoryMessage message{.number = 0x01020304, .record = record};
  fill_from(message.nonce, counting(0x20, 32));
  fill_from(message.id, counting(0x40, 16));
  fill_from(message.signature, counting(0x60, 64));
  std::vector<FrameBytes> all;
  for (std::uint8_t type = 1; type <= 14; ++type) {
    message.type = static_cast<DirectoryType>(type);
    message.number = message.type == DirectoryType::kClaim ? 600 : 0x01020304;
    all.push_back(encoded(message));
  }
  return all;
}

std::vector<LayoutRow> rows(std::uint16_t bytes, DirectoryType type, std::vector<LayoutRow> body) {
  std::vector<LayoutRow> all = {
      {0, {static_cast<std::uint8_t>(bytes >> 8), static_cast<std::uint8_t>(bytes)}},
      {2, {static_cast<std::uint8_t>(type)}},
      {3, {0}}};
  all.insert(all.end(), body.begin(), body.end());
  return all;
}

// ---------------------------------------------------------------- leases

struct Table {
  Leases leases{4, 3, [this](const IdBytes& id, const Leases::Entry& entry, Leases::Holder overtaken) {
                  said.push_back(hex(id) + (entry.is_held ? " held" : " lost"));
                  if (overtaken != 0) said.back() += " by another than " + std::to_string(overtaken);
                }};
  std::vector<std::string> said;

  Leases::Answer claim(Leases::Holder holder, const Key& key, std::uint64_t epoch, std::uint64_t now) {
    const Record record = record_of(key, epoch);
    return leases.claim({record, encode_record(record, key), holder, 600, 0, false}, now);
  }
  [[nodiscard]] bool is_held(const Key& key) const {
    const Leases::Entry* const entry = leases.find(key.id());
    return entry != nullptr && entry->is_held;
  }
};

Leases::Entry entry_of(const Key& key, std::uint64_t epoch, bool is_held) {
  const Record record = record_of(key, epoch);
  return {record, encode_record(record, key), 1, 600, 0, is_held};
}

// ---------------------------------------------------------------- server and clients

// A file of this process ends there.
struct NoMoreThan {
  rlimit before{};
  explicit NoMoreThan(std::size_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit limit{bytes, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~NoMoreThan() { ::setrlimit(RLIMIT_FSIZE, &before); }
};

struct Client final : private ResolverClient {
  explicit Client(const sockaddr_storage& address) : directory(address, *this) {}
  void claim(const Key& key, std::uint64_t epoch, std::uint64_t instance) {
    directory.claim(key.id(), {key, record_of(key, epoch, instance)}, boottime_ns());
  }
  void ask(const Key& key) { directory.ask(key.id(), boottime_ns()); }

  std::vector<Record> found_records;
  std::vector<Record> overtaken_by;
  std::vector<Record> outdated_by;
  Directory directory;

 private:
  void found(const Resolver& /*by*/, const IdBytes& /*id*/, const Record& record) override {
    found_records.push_back(record);
  }
  void overtaken(const IdBytes& /*id*/, const Record& newer) override { overtaken_by.push_back(newer); }
  void outdated(const IdBytes& /*id*/, const Record& newer) override { outdated_by.push_back(newer); }
};

// Somebody who says what he likes.
class RawClient {
 public:
  explicit RawClient(const sockaddr_storage& address)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    BOOST_REQUIRE(::connect(socket_.get(), as_sockaddr(address), address_bytes(address)) == 0);
  }
  void say(const FrameBytes& bytes) const {
    static_cast<void>(::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  }
  // Takes what has come.
  void hear() {
    std::array<std::uint8_t, 4096> bytes;
    const ssize_t count = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count > 0) heard.insert(heard.end(), bytes.begin(), bytes.begin() + count);
    is_closed = is_closed || count == 0 || (count < 0 && errno == ECONNRESET);
  }
  FrameBytes heard;
  bool is_closed = false;

 private:
  UniqueFd socket_;
};

struct World {
  std::unique_ptr<DirectoryServer> server =
      std::make_unique<DirectoryServer>(*parse_address("127.0.0.1:0"), "", false);

  void turn_until(const std::vector<Client*>& clients, const std::function<bool()>& is_so) const {
    for (int turn = 0; !is_so(); ++turn) {
      BOOST_REQUIRE_MESSAGE(turn < kTurnsMax, "a hang");
      if (server != nullptr) server->turn(1);
      for (Client* const client : clients) client->directory.step(boottime_ns());
    }
  }
  void turn_until(RawClient& client, const std::function<bool()>& is_so) const {
    turn_until(std::vector<Client*>(), [&] {
      client.hear();
      return is_so();
    });
  }
  [[nodiscard]] FrameBytes heard(RawClient& client, std::size_t bytes) const {
    turn_until(client, [&] { return client.heard.size() >= bytes; });
    return client.heard;
  }
};

FrameBytes greeting() {
  return encoded({.type = DirectoryType::kGreeting});
}
constexpr std::size_t kGreetingBytes = 44;

FrameBytes claim_for(const FrameBytes& greeting_heard, const Key& key, const Key& signer) {
  const auto greeted = decode_directory(Bytes(greeting_heard).first(kGreetingBytes));
  BOOST_REQUIRE(greeted.has_value());
  const FrameBytes record = encode_record(record_of(key, 5), key);
  return encoded({.type = DirectoryType::kClaim,
                  .number = 600,
                  .signature = signer.sign(claim_statement(greeted->nonce, record)),
                  .record = record});
}

}  // namespace directory_test

BOOST_AUTO_TEST_SUITE(directory_test, *boost::unit_test::fixture<exs::test::PropertyDefaults>())

BOOST_AUTO_TEST_CASE(messages_have_their_bytes_where_the_format_says) {
  const std::vector<FrameBytes> all = all_messages();
  const auto of = [&](DirectoryType type) { return all[static_cast<std::size_t>(type) - 1]; };
  expect_layout(of(DirectoryType::kGreeting),
                rows(44, DirectoryType::kGreeting,
                     {{4, {'E', 'X', 'S', 'D'}}, {8, {0, 1}}, {10, kZero2}, {12, counting(0x20, 32)}}));
  expect_layout(of(DirectoryType::kClaim),
                rows(262, DirectoryType::kClaim,
                     {{4, {0, 0, 2, 0x58}}, {8, counting(0x60, 64)}, {72, counting(9, 190)}}));
  for (const DirectoryType type : {DirectoryType::kRenew, DirectoryType::kRenewed})
    expect_layout(of(type), rows(8, type, {{4, {1, 2, 3, 4}}}));
  for (const DirectoryType type : kWithId) expect_layout(of(type), rows(20, type, {{4, counting(0x40, 16)}}));
  for (const DirectoryType type : kWithRecord)
    expect_layout(of(type), rows(194, type, {{4, counting(9, 190)}}));
}

BOOST_AUTO_TEST_CASE(a_message_is_what_was_said) {
  for (const FrameBytes& bytes : all_messages()) {
    const AloneFrame alone(bytes);
    const auto message = decode_directory(alone.bytes());
    BOOST_REQUIRE_MESSAGE(message.has_value(), "type " << int{bytes[2]});
    BOOST_TEST(encoded(*message) == bytes, boost::test_tools::per_element());
    BOOST_TEST(*directory_message_bytes(bytes) == bytes.size());
  }
}

BOOST_AUTO_TEST_CASE(a_message_cut_or_changed_in_its_head_is_none) {
  for (const FrameBytes& bytes : all_messages()) {
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const AloneFrame cut(Bytes(bytes).first(length));
      BOOST_TEST(!decode_directory(cut.bytes()).has_value());
      BOOST_TEST((length < 2 || directory_message_bytes(cut.bytes()) == std::optional<std::size_t>(0)));
    }
    for (const std::size_t at : {0, 1, 3}) {
      FrameBytes changed = bytes;
      changed[at] ^= 2;
      BOOST_TEST(!decode_directory(changed).has_value());
    }
    for (const int type : {0, 17, 255}) {
      FrameBytes changed = bytes;
      changed[2] = static_cast<std::uint8_t>(type);
      BOOST_TEST(!decode_directory(changed).has_value());
    }
  }
  for (const auto& [high, low] : {std::pair{0, 0}, {0, 3}, {1, 7}, {255, 255}})
    BOOST_TEST(!directory_message_bytes(
        FrameBytes{static_cast<std::uint8_t>(high), static_cast<std::uint8_t>(low)}));
}

BOOST_AUTO_TEST_CASE(bytes_of_anybody_are_a_message_or_none) {
  const std::vector<FrameBytes> all = all_messages();
  BOOST_TEST(exs::test::holds("hostile messages to a directory", [&] {
    FrameBytes bytes =
        exs::test::draw_bool() ? all[exs::test::draw_index(all.size())] : exs::test::draw_bytes();
    for (std::size_t changes = exs::test::draw_index(4); changes-- > 0 && !bytes.empty();)
      bytes[exs::test::draw_index(bytes.size())] = exs::test::draw<std::uint8_t>();
    const AloneFrame alone(bytes);
    const auto message = decode_directory(alone.bytes());
    EXS_HOLD(!message || encoded(*message) == bytes);
  }));
}

// ---------------------------------------------------------------- leases

BOOST_AUTO_TEST_CASE(a_lease_ends_unless_it_is_renewed) {
  const Key key;
  Table table;
  BOOST_TEST((table.claim(1, key, 5, 1000) == Leases::Answer::kHeld));
  table.leases.end_late(1599);
  BOOST_TEST(table.is_held(key));
  table.leases.renew(1, 1599);
  table.leases.renew(2, 1700);
  table.leases.end_late(2198);
  BOOST_TEST(table.is_held(key));
  table.leases.end_late(2199);
  BOOST_TEST(!table.is_held(key));
  BOOST_TEST(!table.leases.is_any_held());
  BOOST_TEST(table.said.size() == 2U);
}

BOOST_AUTO_TEST_CASE(of_two_claimants_the_newer_holds) {
  const Key key;
  Table table;
  BOOST_TEST((table.claim(1, key, 5, 0) == Leases::Answer::kHeld));
  BOOST_TEST((table.claim(2, key, 4, 0) == Leases::Answer::kNewerKnown));
  BOOST_TEST((table.claim(2, key, 6, 0) == Leases::Answer::kHeld));
  BOOST_TEST(table.said.back() == hex(key.id()) + " held by another than 1");
  // Expect: what the first does is nothing to the second.
  table.leases.release(1, key.id(), 0);
  table.leases.leave(1, 0);
  BOOST_TEST(table.is_held(key));
  table.leases.leave(2, 0);
  BOOST_TEST(!table.is_held(key));
  // Expect: an older one is known for what it is, and the same record holds again.
  BOOST_TEST((table.claim(1, key, 5, 0) == Leases::Answer::kNewerKnown));
  BOOST_TEST((table.claim(3, key, 6, 0) == Leases::Answer::kHeld));
}

BOOST_AUTO_TEST_CASE(there_is_room_for_a_number_of_services) {
  const std::vector<Key> keys(6);
  Table table;
  for (std::size_t i = 0; i < 3; ++i) BOOST_TEST((table.claim(1, keys[i], 5, 0) == Leases::Answer::kHeld));
  // Expect: three of one holder, and four in all.
  BOOST_TEST((table.claim(1, keys[3], 5, 0) == Leases::Answer::kNoRoom));
  BOOST_TEST((table.claim(2, keys[3], 5, 0) == Leases::Answer::kHeld));
  BOOST_TEST((table.claim(2, keys[4], 5, 0) == Leases::Answer::kNoRoom));
  // Expect: who holds one may make it newer, and a service that is lost makes room.
  BOOST_TEST((table.claim(1, keys[0], 6, 0) == Leases::Answer::kHeld));
  table.leases.release(1, keys[1].id(), 1);
  BOOST_TEST((table.claim(2, keys[4], 5, 2) == Leases::Answer::kHeld));
  BOOST_TEST(table.leases.find(keys[1].id()) == nullptr);
  BOOST_TEST(table.leases.entries().size() == 4U);
}

// ---------------------------------------------------------------- the file

BOOST_AUTO_TEST_CASE(a_directory_goes_on_from_its_file) {
  const Key held;
  const Key lost;
  const OwnFile file;
  {
    Table table;
    Journal journal(file.path());
    BOOST_REQUIRE(journal.open(table.leases, 100, 0).error() == 0);
    BOOST_TEST(journal.write(entry_of(held, 4, true)).error() == 0);
    BOOST_TEST(journal.write(entry_of(lost, 5, true)).error() == 0);
    BOOST_TEST(journal.write(entry_of(lost, 5, false)).error() == 0);
    BOOST_TEST(journal.write(entry_of(held, 6, true)).error() == 0);
    // Expect: another directory does not get it meanwhile.
    BOOST_TEST(Journal(file.path()).open(table.leases, 100, 0).error() == EWOULDBLOCK);
  }
  Table table;
  Journal journal(file.path());
  BOOST_REQUIRE(journal.open(table.leases, 100, 50).error() == 0);
  BOOST_TEST(table.is_held(held));
  BOOST_TEST(!table.is_held(lost));
  BOOST_TEST((table.claim(1, lost, 4, 50) == Leases::Answer::kNewerKnown));
  BOOST_TEST((table.claim(1, held, 5, 50) == Leases::Answer::kNewerKnown));
  // Expect: until its holder is back, or not.
  table.leases.end_late(149);
  BOOST_TEST(table.is_held(held));
  table.leases.end_late(150);
  BOOST_TEST(!table.is_held(held));
}

BOOST_AUTO_TEST_CASE(lines_that_are_torn_or_forged_say_nothing) {
  const Key key;
  const Key other;
  const OwnFile file;
  const std::string good = "held " + hex(entry_of(key, 5, true).bytes) + "\n";
  Record forged = record_of(key, 9);
  const std::string bad = "held " + hex(encode_record(forged, other)) + "\n";
  file.write(bad + "x\n\nheld \nheld 0\nhold 00\n" + std::string(100'000, 'a') + "\n" + good +
             good.substr(0, 70));
  {
    Table table;
    Journal journal(file.path());
    BOOST_REQUIRE(journal.open(table.leases, 100, 0).error() == 0);
    BOOST_TEST(table.leases.entries().size() == 1U);
    BOOST_TEST(table.leases.find(key.id())->record.epoch == 5U);
    BOOST_TEST(journal.write(entry_of(other, 7, true)).error() == 0);
  }
  // Expect: what was written behind the torn one is whole.
  Table table;
  BOOST_REQUIRE(Journal(file.path()).open(table.leases, 100, 0).error() == 0);
  BOOST_TEST(table.is_held(other));
  BOOST_TEST(Journal("/nowhere/services").open(table.leases, 100, 0).error() == ENOENT);
}

BOOST_AUTO_TEST_CASE(who_is_not_in_the_file_is_not_fenced) {
  const Key key;
  const OwnFile file;
  Journal journal(file.path());
  Leases leases(
      10, 10, [](const auto&, const auto&, auto) {},
      [&](const Leases::Entry& entry) { return journal.write(entry).error() == 0; });
  BOOST_REQUIRE(journal.open(leases, 100, 0).error() == 0);
  BOOST_TEST(!journal.is_doubtful());
  const auto fenced = [&](const Key& whose) {
    Leases::Entry entry = entry_of(whose, 5, true);
    entry.holder = 1;
    entry.is_fenced = true;
    return entry;
  };
  {
    const NoMoreThan limit(file.text().size() + 30);  // a part of a line
    BOOST_TEST((leases.claim(fenced(key), 0) == Leases::Answer::kWait));
    BOOST_TEST((leases.find(key.id()) == nullptr || !leases.find(key.id())->is_held));
  }
  // Expect: there is room again, what is claimed then is in the file, and nothing is in doubt.
  const Key other;
  BOOST_TEST((leases.claim(fenced(other), 0) == Leases::Answer::kHeld));
  BOOST_TEST((leases.claim(fenced(key), 0) == Leases::Answer::kHeld));
  const OwnFile copy;
  copy.write(file.text());
  Table table;
  Journal next(copy.path());
  BOOST_REQUIRE(next.open(table.leases, 100, 0).error() == 0);
  BOOST_TEST(!next.is_doubtful());
  BOOST_TEST(table.is_held(key));
  BOOST_TEST(table.is_held(other));
}

BOOST_AUTO_TEST_CASE(a_file_that_is_torn_is_in_doubt) {
  const Key key;
  const OwnFile file;
  const std::string line = "fenced " + hex(entry_of(key, 5, true).bytes) + "\n";
  for (const auto& [text, is_doubtful] : {std::pair(line, false), std::pair(line + line.substr(0, 60), true),
                                          std::pair(line.substr(0, 60) + "\n" + line, true)}) {
    file.write(text);
    Table table;
    Journal journal(file.path());
    BOOST_REQUIRE(journal.open(table.leases, 100, 0).error() == 0);
    BOOST_TEST(journal.is_doubtful() == is_doubtful);
  }
}

BOOST_AUTO_TEST_CASE(a_file_that_has_grown_is_written_anew) {
  const Key key;
  const OwnFile file;
  Table table;
  Journal journal(file.path());
  BOOST_REQUIRE(journal.open(table.leases, 100, 0).error() == 0);
  BOOST_TEST((table.claim(1, key, 5, 0) == Leases::Answer::kHeld));
  for (int i = 0; i < 2'000; ++i) {
    BOOST_TEST(journal.write(entry_of(key, 5, true)).error() == 0);
    BOOST_TEST(journal.compact(table.leases).error() == 0);
  }
  BOOST_TEST(journal.lines() < 1'024U);
  BOOST_TEST(file.text().size() < 500'000U);
  BOOST_TEST(::access((file.path() + ".new").c_str(), F_OK) == -1);
  BOOST_TEST(Journal(file.path()).open(table.leases, 100, 0).error() == EWOULDBLOCK);
}

// ---------------------------------------------------------------- services

BOOST_FIXTURE_TEST_CASE(the_services_of_a_host_have_a_number, World) {
  constexpr std::size_t kPlaces = 3;
  server = std::make_unique<DirectoryServer>(*parse_address("127.0.0.1:0"), "", false, kPlaces);
  const std::vector<Key> keys(kPlaces + 1);
  std::vector<RawClient> clients;
  std::vector<std::optional<DirectoryMessage>> answers;
  for (const Key& key : keys) {  // each on a connection of its own
    RawClient& client = clients.emplace_back(server->address());
    client.say(greeting());
    client.say(claim_for(heard(client, kGreetingBytes), key, key));
    const std::size_t answer_bytes = encoded({.type = DirectoryType::kHeld}).size();
    const FrameBytes all = heard(client, kGreetingBytes + answer_bytes);
    answers.push_back(decode_directory(Bytes(all).subspan(kGreetingBytes)));
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    BOOST_REQUIRE(answers[i].has_value());
    BOOST_TEST((answers[i]->type == (i < kPlaces ? DirectoryType::kHeld : DirectoryType::kNoRoom)));
  }
}

BOOST_FIXTURE_TEST_CASE(a_service_is_found_while_it_is_held, World) {
  const Key key;
  Client asker(server->address());
  auto owner = std::make_unique<Client>(server->address());
  owner->claim(key, 5, 1);
  turn_until({owner.get()}, [&] { return owner->directory.is_open(); });
  asker.ask(key);
  turn_until({owner.get(), &asker}, [&] { return !asker.found_records.empty(); });
  BOOST_TEST(asker.found_records.back().epoch == 5U);
  // Expect: with its holder's connection it is lost, and the next is found as soon as it is there.
  owner.reset();
  Client next(server->address());
  asker.found_records.clear();
  next.claim(key, 6, 2);
  asker.ask(key);
  turn_until({&next, &asker},
             [&] { return !asker.found_records.empty() && asker.found_records.back().epoch == 6; });
}

BOOST_FIXTURE_TEST_CASE(the_newer_of_two_claimants_is_found_and_the_other_told, World) {
  const Key key;
  Client first(server->address());
  Client second(server->address());
  Client asker(server->address());
  first.claim(key, 5, 1);
  turn_until({&first}, [&] { return first.directory.is_open(); });
  second.claim(key, 4, 2);
  turn_until({&first, &second}, [&] { return !second.overtaken_by.empty(); });
  second.claim(key, 6, 2);
  turn_until({&first, &second}, [&] { return !first.overtaken_by.empty(); });
  BOOST_TEST(first.overtaken_by.back().epoch == 6U);
  asker.ask(key);
  turn_until({&first, &second, &asker}, [&] { return !asker.found_records.empty(); });
  BOOST_TEST(asker.found_records.back().instance == 2U);
}

BOOST_FIXTURE_TEST_CASE(a_record_older_than_one_that_was_lost_is_outdated, World) {
  const Key key;
  auto gone = std::make_unique<Client>(server->address());
  gone->claim(key, 9, 1);
  turn_until({gone.get()}, [&] { return gone->directory.is_open(); });
  Client back(server->address());
  back.ask(key);
  turn_until({gone.get(), &back}, [&] { return !back.found_records.empty(); });
  gone.reset();
  back.directory.unclaim(key.id());
  Client late(server->address());
  turn_until({&back}, [&] {
    late.claim(key, 5, 2);
    late.directory.step(boottime_ns());
    return !late.outdated_by.empty();
  });
  BOOST_TEST(late.outdated_by.back().epoch == 9U);
}

BOOST_AUTO_TEST_CASE(claims_are_made_again_when_the_directory_is_back) {
  const Key key;
  const OwnFile file;
  World world;
  world.server = std::make_unique<DirectoryServer>(*parse_address("127.0.0.1:0"), file.path(), false);
  const sockaddr_storage address = world.server->address();
  Client owner(address);
  Client asker(address);
  owner.claim(key, 5, 1);
  world.turn_until({&owner}, [&] { return owner.directory.is_open(); });
  asker.ask(key);
  world.turn_until({&owner, &asker}, [&] { return !asker.found_records.empty(); });
  world.server.reset();
  world.turn_until({&owner, &asker},
                   [&] { return !owner.directory.is_open() && !asker.directory.is_open(); });
  // Expect: known from the file, before its holder is back.
  asker.found_records.clear();
  world.server = std::make_unique<DirectoryServer>(address, file.path(), false);
  asker.ask(key);
  world.turn_until({&asker}, [&] { return !asker.found_records.empty(); });
  // Expect: and without it, by its holder.
  world.server.reset();
  world.turn_until({&owner, &asker},
                   [&] { return !owner.directory.is_open() && !asker.directory.is_open(); });
  asker.found_records.clear();
  world.server = std::make_unique<DirectoryServer>(address, "", false);
  asker.ask(key);
  world.turn_until({&owner, &asker}, [&] { return !asker.found_records.empty(); });
}

// ---------------------------------------------------------------- strangers

BOOST_FIXTURE_TEST_CASE(who_says_what_is_no_message_is_closed, World) {
  FrameBytes twice = greeting();
  const FrameBytes once = greeting();
  twice.insert(twice.end(), once.begin(), once.end());
  FrameBytes of_directory = greeting();
  const FrameBytes renewed = encoded({.type = DirectoryType::kRenewed});
  of_directory.insert(of_directory.end(), renewed.begin(), renewed.end());
  FrameBytes often = greeting();
  for (int i = 0; i < 5'000; ++i) append_directory(often, {.type = DirectoryType::kRenew});
  FrameBytes watches = greeting();
  for (std::uint16_t i = 0; i < 2'000; ++i) {
    DirectoryMessage message{.type = DirectoryType::kWatch};
    message.id[0] = static_cast<std::uint8_t>(i);
    message.id[1] = static_cast<std::uint8_t>(i >> 8);
    append_directory(watches, message);
  }
  for (const FrameBytes& bytes :
       {FrameBytes{0, 0}, FrameBytes(1000, 0xff), encoded({.type = DirectoryType::kRenew}), twice,
        of_directory, often, watches}) {
    RawClient client(server->address());
    client.say(bytes);
    turn_until(client, [&] { return client.is_closed; });
  }
}

BOOST_FIXTURE_TEST_CASE(who_does_not_greet_has_two_seconds, World) {
  RawClient silent(server->address());
  turn_until(silent, [&] { return silent.is_closed; });
  BOOST_TEST(silent.heard.size() == kGreetingBytes);
}

BOOST_FIXTURE_TEST_CASE(a_claim_is_of_who_has_the_key_on_this_connection, World) {
  const Key key;
  const Key other;
  const auto is_held = [&](const std::function<FrameBytes(const FrameBytes&)>& claim) {
    RawClient client(server->address());
    client.say(greeting());
    client.say(claim(heard(client, kGreetingBytes)));
    turn_until(client, [&] { return client.is_closed || client.heard.size() > kGreetingBytes; });
    return !client.is_closed &&
           client.heard[kGreetingBytes + 2] == static_cast<std::uint8_t>(DirectoryType::kHeld);
  };
  FrameBytes seen;
  BOOST_TEST(is_held([&](const FrameBytes& greeted) { return seen = claim_for(greeted, key, key); }));
  BOOST_TEST(!is_held([&](const FrameBytes& /*greeted*/) { return seen; }));
  BOOST_TEST(!is_held([&](const FrameBytes& greeted) { return claim_for(greeted, key, other); }));
  BOOST_TEST(is_held([&](const FrameBytes& greeted) { return claim_for(greeted, other, other); }));
}

BOOST_FIXTURE_TEST_CASE(a_host_has_a_number_of_connections, World) {
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 257; ++i) {
    clients.push_back(std::make_unique<RawClient>(server->address()));
    clients.back()->say(greeting());
    static_cast<void>(heard(*clients.back(), kGreetingBytes));
  }
  turn_until(*clients.back(), [&] { return clients.back()->is_closed; });
  BOOST_TEST(server->connections() == 256U);
  clients.front()->hear();
  BOOST_TEST(!clients.front()->is_closed);
  // Expect: whoever goes leaves his place to the next one.
  clients.front().reset();
  RawClient next(server->address());
  next.say(greeting());
  next.say(encoded({.type = DirectoryType::kFind}));
  turn_until(next, [&] { return next.heard.size() > kGreetingBytes; });
}

// Many times as many as there are places, of the same host.
BOOST_FIXTURE_TEST_CASE(however_many_are_silent_who_greets_is_served, World) {
  rlimit limit{};
  BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = limit.rlim_max;
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  std::deque<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 2'000; ++i) {
    silent.push_back(std::make_unique<RawClient>(server->address()));
    if (silent.size() > 800) silent.pop_front();
    if (i % 100 != 99) continue;
    RawClient honest(server->address());
    honest.say(greeting());
    honest.say(encoded({.type = DirectoryType::kFind}));
    turn_until(honest, [&] { return honest.is_closed || honest.heard.size() > kGreetingBytes; });
    BOOST_TEST(!honest.is_closed);
    BOOST_TEST(server->silent_connections() <= 512U);
  }
}

// Those may have greeted long ago, and not been read.
BOOST_FIXTURE_TEST_CASE(a_directory_that_was_starved_reads_who_has_greeted, World) {
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 100; ++i) clients.push_back(std::make_unique<RawClient>(server->address()));
  turn_until({}, [&] { return server->silent_connections() == clients.size(); });
  for (const auto& client : clients) client->say(greeting());
  // Longer than they have.
  const std::uint64_t until_ns = time_after(boottime_ns(), 2'100 * kNsPerMs);
  while (boottime_ns() < until_ns) ::usleep(1000);
  turn_until({}, [&] { return server->silent_connections() == 0; });
  BOOST_TEST(server->connections() == clients.size());
}

BOOST_FIXTURE_TEST_CASE(who_reads_nothing_is_closed, World) {
  const Key key;
  Client owner(server->address());
  owner.claim(key, 5, 1);
  turn_until({&owner}, [&] { return owner.directory.is_open(); });
  RawClient client(server->address());
  client.say(greeting());
  // Expect: long before what is kept for it is too much, its questions are.
  FrameBytes questions;
  for (int i = 0; i < 100; ++i) append_directory(questions, {.type = DirectoryType::kFind, .id = key.id()});
  turn_until({&owner}, [&] {
    client.say(questions);
    return server->connections() == 1;
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
