// Names on this host: who has one, who is found by it, and what strangers can do who have sockets of their own. Names are of keys that
// nobody else has, so that such tests can run at the same time.
// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "service/names/multicast.h"
#include "service/names/name_service.h"
#include "tests/service/outcomes.h"

namespace exs::svc {
namespace name_service_test {

using Message = std::vector<std::uint8_t>;

// Of a search that is to find nobody.
constexpr std::uint64_t kShortNs = 100 * kNsPerMs;

sockaddr_storage loopback_address(std::uint16_t port) {
  sockaddr_storage address{};
  auto& ip4 = reinterpret_cast<sockaddr_in&>(address);
  ip4.sin_family = AF_INET;
  ip4.sin_port = htons(port);
  ip4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A service that there is only here.
struct KnownService {
  Key key;
  IdBytes id = key.id();
  std::uint64_t instance = random_number();
  Message record = encode_record({key.public_key(), 1, instance, {loopback_address(1234)}}, key);
};

// A sink whose rings can be waited for.
class Bell {
 public:
  Bell() = default;
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  ~Bell() {
    sink_->close();
    names_->forget(sink_);
  }
  [[nodiscard]] const std::shared_ptr<Sink>& sink() const { return sink_; }
  void wait_for_rings(unsigned rings) {
    std::unique_lock guard(lock_);
    rung_.wait(guard, [&] { return rings_ >= rings; });
  }
  unsigned rings() {
    const std::lock_guard guard(lock_);
    return rings_;
  }
  // The first thing that is found, with what else there is, which is to be nothing.
  Sink::Found wait_for_found() {
    for (unsigned rings = 1;; ++rings) {
      wait_for_rings(rings);
      std::vector<Sink::Found> found = sink_->take();
      if (found.empty()) continue;
      BOOST_TEST(found.size() == 1U);
      return std::move(found.front());
    }
  }

 private:
  bool ring() {
    const std::lock_guard guard(lock_);
    ++rings_;
    rung_.notify_all();
    return true;
  }

  std::mutex lock_;
  std::condition_variable rung_;
  unsigned rings_ = 0;
  std::shared_ptr<NameService> names_ = NameService::get();
  std::shared_ptr<Sink> sink_ = std::make_shared<Sink>([this] { return ring(); });
};

// What a search by the limit has found.
std::optional<Record> found_by(NameService& keeper, const IdBytes& id, std::uint64_t limit_ns) {
  Bell bell;
  keeper.find(7, id, limit_ns, bell.sink());
  Sink::Found found = bell.wait_for_found();
  BOOST_TEST(found.search == 7U);
  return std::move(found.record);
}
bool is_found(NameService& keeper, const KnownService& service) {
  const std::optional<Record> record = found_by(keeper, service.id, kNeverNs);
  return record && record->key == service.key.public_key() && record->instance == service.instance;
}
bool is_nobody_found(NameService& keeper, const IdBytes& id) {
  return !found_by(keeper, id, boottime_ns() + kShortNs).has_value();
}

Ways by_multicast() {
  Ways ways;
  ways.by_host = false;
  ways.multicast = parse_multicast("lo");
  return ways;
}

// Somebody else who is the service, in another life.
class Holder final : private ResolverClient {
 public:
  Holder(const KnownService& service, std::uint64_t epoch) {
    multicast_.claim(
        service.id,
        {service.key, {service.key.public_key(), epoch, service.instance + 1, {loopback_address(4321)}}},
        boottime_ns());
  }
  void step_until(const std::function<bool()>& is_so) {
    for (pollfd state{multicast_.descriptor(), POLLIN, 0}; !is_so(); ::poll(&state, 1, 1))
      multicast_.step(boottime_ns());
  }
  std::uint64_t overtaken_by = 0;

 private:
  void found(const Resolver& /*by*/, const IdBytes& /*id*/, const Record& /*record*/) override {}
  void overtaken(const IdBytes& /*id*/, const Record& newer) override { overtaken_by = newer.epoch; }
  void outdated(const IdBytes& /*id*/, const Record& /*newer*/) override {}

  Multicast multicast_{*parse_multicast("lo"), *this};
};

// ---------------------------------------------------------------- sockets of strangers, made from FORMAT.md alone

struct RawName {
  explicit RawName(const IdBytes& id) {
    address.sun_family = AF_UNIX;
    const std::string text = "exs-svc/" + hex(public_name(id));
    std::copy(text.begin(), text.end(), address.sun_path + 1);
    bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  sockaddr_un address{};
  socklen_t bytes;
};

// Calls of it wait.
UniqueFd raw_socket() {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  BOOST_REQUIRE(socket.valid());
  return socket;
}
// 0, or errno.
int raw_bind(const UniqueFd& socket, const IdBytes& id) {
  const RawName name(id);
  return ::bind(socket.get(), name.get(), name.bytes) == 0 ? 0 : errno;
}
UniqueFd raw_connection(const IdBytes& id) {
  UniqueFd socket = raw_socket();
  const RawName name(id);
  BOOST_REQUIRE(::connect(socket.get(), name.get(), name.bytes) == 0);
  return socket;
}
void raw_send(int socket, Bytes message) {
  BOOST_TEST(::send(socket, message.data(), message.size(), MSG_NOSIGNAL) ==
             static_cast<ssize_t>(message.size()));
}
// Waits for it. Nothing: the other end has closed.
Message raw_receive(int socket) {
  Message message(4096);
  const ssize_t bytes = ::recv(socket, message.data(), message.size(), 0);
  BOOST_TEST(bytes >= 0);
  message.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  return message;
}

Message question_about(const IdBytes& id) {
  Message question = {'E', 'X', 'S', 'Q'};
  question.insert(question.end(), id.begin(), id.end());
  return question;
}

// Has the name of a service, and serves whoever asks as it likes.
class Squatter {
 public:
  explicit Squatter(const IdBytes& id, std::function<void(int connection)> serve) : serve_(std::move(serve)) {
    BOOST_REQUIRE(raw_bind(listener_, id) == 0);
    BOOST_REQUIRE(::listen(listener_.get(), 64) == 0);
    thread_ = std::thread([this] { run(); });
  }
  Squatter(const Squatter&) = delete;
  Squatter& operator=(const Squatter&) = delete;
  ~Squatter() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  [[nodiscard]] bool was_asked() const { return was_asked_; }

 private:
  void run() {
    for (;;) {
      UniqueFd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!connection.valid()) return;
      serve_(connection.get());
      asked_.push_back(std::move(connection));
      was_asked_ = true;
    }
  }

  std::function<void(int connection)> serve_;
  UniqueFd listener_ = raw_socket();
  std::vector<UniqueFd> asked_;  // stay open
  std::atomic<bool> was_asked_ = false;
  std::thread thread_;
};

// One that answers all with these bytes.
std::function<void(int)> answering_with(Message answer) {
  return [answer = std::move(answer)](int connection) {
    static_cast<void>(::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL));
  };
}

// Expect: nobody is found, though somebody was asked, which a search of so short a limit may be too late for.
void expect_no_service(const IdBytes& id, std::function<void(int)> serve, const std::string& what) {
  const std::shared_ptr<NameService> keeper = NameService::get();
  const Squatter squatter(id, std::move(serve));
  do {
    BOOST_TEST(is_nobody_found(*keeper, id), what);
  } while (!squatter.was_asked());
}

}  // namespace name_service_test

BOOST_AUTO_TEST_SUITE(name_service_test)

// ---------------------------------------------------------------- names

BOOST_AUTO_TEST_CASE(a_name_that_is_claimed_is_found) {
  const KnownService service;
  const KnownService other;
  const std::shared_ptr<NameService> keeper = NameService::get();
  BOOST_REQUIRE(keeper->claim(service.id, service.record).error() == 0);
  BOOST_REQUIRE(keeper->claim(other.id, other.record).error() == 0);
  BOOST_TEST(is_found(*keeper, service));
  BOOST_TEST(is_found(*keeper, other));
  const std::optional<Record> record = found_by(*keeper, service.id, kNeverNs);
  BOOST_REQUIRE((record && record->addresses.size() == 1));
  const sockaddr_storage address = loopback_address(1234);
  BOOST_TEST(std::memcmp(record->addresses.data(), &address, sizeof address) == 0);
  keeper->unclaim(service.id);
  keeper->unclaim(other.id);
}

BOOST_AUTO_TEST_CASE(a_name_has_one_owner) {
  const KnownService service;
  const std::shared_ptr<NameService> keeper = NameService::get();
  BOOST_REQUIRE(keeper->claim(service.id, service.record).error() == 0);
  BOOST_TEST(keeper->claim(service.id, service.record).error() == EADDRINUSE);
  // Expect: nor does another process get it, however it tries.
  UniqueFd listener;
  BOOST_TEST(exs::svc::test::take(claim_host_name(service.id), listener) == EADDRINUSE);
  BOOST_TEST(!listener.valid());
  BOOST_TEST(raw_bind(raw_socket(), service.id) == EADDRINUSE);
  BOOST_TEST(is_found(*keeper, service));
  keeper->unclaim(service.id);
}

BOOST_AUTO_TEST_CASE(a_name_that_a_stranger_has_is_not_claimed) {
  const KnownService service;
  const std::shared_ptr<NameService> keeper = NameService::get();
  UniqueFd stranger = raw_socket();
  BOOST_REQUIRE(raw_bind(stranger, service.id) == 0);
  BOOST_TEST(keeper->claim(service.id, service.record).error() == EADDRINUSE);
  BOOST_TEST(is_nobody_found(*keeper, service.id));
  // Expect: it is free when he has gone.
  stranger = raw_socket();
  BOOST_TEST(keeper->claim(service.id, service.record).error() == 0);
  BOOST_TEST(is_found(*keeper, service));
  keeper->unclaim(service.id);
}

BOOST_AUTO_TEST_CASE(nobody_is_found_by_the_limit_when_a_name_is_given_back) {
  const KnownService service;
  const std::shared_ptr<NameService> keeper = NameService::get();
  BOOST_TEST(is_nobody_found(*keeper, service.id));
  BOOST_REQUIRE(keeper->claim(service.id, service.record).error() == 0);
  BOOST_TEST(is_found(*keeper, service));
  keeper->unclaim(service.id);
  BOOST_TEST(is_nobody_found(*keeper, service.id));
  // Expect: a limit that has passed is one.
  BOOST_TEST(!found_by(*keeper, service.id, 0).has_value());
  BOOST_TEST(!found_by(*keeper, service.id, boottime_ns()).has_value());
  // Expect: what nobody has can be given back, and claimed again.
  keeper->unclaim(service.id);
  BOOST_TEST(keeper->claim(service.id, service.record).error() == 0);
  BOOST_TEST(is_found(*keeper, service));
  keeper->unclaim(service.id);
}

BOOST_AUTO_TEST_CASE(names_go_with_the_name_service) {
  const KnownService service;
  {
    const std::shared_ptr<NameService> keeper = NameService::get();
    BOOST_TEST(keeper == NameService::get());
    BOOST_REQUIRE(keeper->claim(service.id, service.record).error() == 0);
  }
  BOOST_TEST(raw_bind(raw_socket(), service.id) == 0);
}

// ---------------------------------------------------------------- searches

BOOST_AUTO_TEST_CASE(a_search_that_began_before_finds_who_comes_later) {
  const KnownService service;
  const std::shared_ptr<NameService> keeper = NameService::get();
  Bell bell;
  keeper->find(11, service.id, kNeverNs, bell.sink());
  // A search that began later has ended, so this one has asked.
  BOOST_TEST(is_nobody_found(*keeper, service.id));
  BOOST_TEST(bell.sink()->take().empty());
  BOOST_REQUIRE(keeper->claim(service.id, service.record).error() == 0);
  const Sink::Found found = bell.wait_for_found();
  BOOST_TEST(found.search == 11U);
  BOOST_REQUIRE(found.record.has_value());
  BOOST_TEST(found.record->instance == service.instance);
  keeper->unclaim(service.id);
}

BOOST_AUTO_TEST_CASE(each_search_has_one_answer) {
  constexpr std::uint64_t kSearches = 50;
  const KnownService service;
  const KnownService nobody;
  const std::shared_ptr<NameService> keeper = NameService::get();
  BOOST_REQUIRE(keeper->claim(service.id, service.record).error() == 0);
  Bell bell;
  for (std::uint64_t search = 0; search < kSearches; ++search) {
    const bool is_there = search % 2 == 0;
    keeper->find(search, is_there ? service.id : nobody.id, is_there ? kNeverNs : 0, bell.sink());
  }
  std::vector<unsigned> answers(kSearches);
  std::uint64_t count = 0;
  for (unsigned rings = 1; count < kSearches; ++rings) {
    bell.wait_for_rings(rings);
    for (const Sink::Found& found : bell.sink()->take()) {
      BOOST_REQUIRE(found.search < kSearches);
      BOOST_TEST(found.record.has_value() == (found.search % 2 == 0), "search " << found.search);
      ++answers[found.search];
      ++count;
    }
  }
  BOOST_TEST(answers == std::vector<unsigned>(kSearches, 1), boost::test_tools::per_element());
  keeper->unclaim(service.id);
}

BOOST_AUTO_TEST_CASE(a_search_asks_again_while_nobody_answers) {
  const KnownService service;
  const std::shared_ptr<NameService> keeper = NameService::get();
  const UniqueFd holder = raw_socket();
  BOOST_REQUIRE(raw_bind(holder, service.id) == 0);
  BOOST_REQUIRE(::listen(holder.get(), 8) == 0);
  Bell bell;
  keeper->find(1, service.id, kNeverNs, bell.sink());
  const UniqueFd never_answered(::accept4(holder.get(), nullptr, nullptr, SOCK_CLOEXEC));
  BOOST_TEST(raw_receive(never_answered.get()) == question_about(service.id));
  const UniqueFd asked_again(::accept4(holder.get(), nullptr, nullptr, SOCK_CLOEXEC));
  BOOST_TEST(raw_receive(asked_again.get()) == question_about(service.id));
  // Expect: the first question was given up.
  BOOST_TEST(raw_receive(never_answered.get()).empty());
}

// ---------------------------------------------------------------- beyond this host, on loopback

BOOST_AUTO_TEST_CASE(a_service_is_found_by_multicast) {
  const KnownService service;
  const std::shared_ptr<NameService> keeper = NameService::get();
  BOOST_REQUIRE(keeper->claim(service.id, service.record, by_multicast(), &service.key).error() == 0);
  Bell bell;
  keeper->find(3, service.id, kNeverNs, bell.sink(), by_multicast());
  const Sink::Found found = bell.wait_for_found();
  BOOST_TEST(found.search == 3U);
  BOOST_REQUIRE(found.record.has_value());
  BOOST_TEST(found.record->instance == service.instance);
  BOOST_TEST(found.addresses.size() == 1U);
  keeper->unclaim(service.id);
}

BOOST_AUTO_TEST_CASE(a_search_goes_by_multicast_only_if_it_is_told_to) {
  const KnownService service;
  const std::shared_ptr<NameService> keeper = NameService::get();
  Holder holder(service, 5);
  Ways ways = by_multicast();
  ways.multicast.reset();
  Bell without;
  Bell with;
  keeper->find(1, service.id, kNeverNs, without.sink(), ways);
  keeper->find(2, service.id, kNeverNs, with.sink(), by_multicast());
  holder.step_until([&] { return with.rings() > 0; });
  BOOST_TEST(with.wait_for_found().search == 2U);
  BOOST_TEST(without.sink()->take().empty());
}

// A clock that was set back makes a record that is older than the one before.
BOOST_AUTO_TEST_CASE(who_begins_with_an_older_record_makes_it_the_newer) {
  constexpr std::uint64_t kLater = 1'000;
  const KnownService service;
  const std::shared_ptr<NameService> keeper = NameService::get();
  const auto hold = std::make_shared<Hold>(false);
  Holder holder(service, kLater);
  BOOST_REQUIRE(
      keeper->claim(service.id, service.record, by_multicast(), &service.key, {hold, nullptr}).error() == 0);
  holder.step_until([&] { return holder.overtaken_by == kLater + 1; });
  // Expect: the service knows, whose next record is newer still.
  BOOST_TEST(hold->raised_epoch() == kLater + 1);
  // Expect: on this host, too.
  BOOST_TEST(found_by(*keeper, service.id, kNeverNs)->epoch == kLater + 1);
  keeper->unclaim(service.id);
}

// ---------------------------------------------------------------- questions of strangers

BOOST_AUTO_TEST_CASE(a_question_is_answered_with_the_record_and_the_end) {
  const KnownService service;
  const std::shared_ptr<NameService> keeper = NameService::get();
  BOOST_REQUIRE(keeper->claim(service.id, service.record).error() == 0);
  const UniqueFd connection = raw_connection(service.id);
  raw_send(connection.get(), question_about(service.id));
  BOOST_TEST(raw_receive(connection.get()) == service.record);
  BOOST_TEST(raw_receive(connection.get()).empty());
  keeper->unclaim(service.id);
}

BOOST_AUTO_TEST_CASE(a_question_about_somebody_else_has_no_answer) {
  const KnownService service;
  const KnownService other;
  const std::shared_ptr<NameService> keeper = NameService::get();
  BOOST_REQUIRE(keeper->claim(service.id, service.record).error() == 0);
  BOOST_REQUIRE(keeper->claim(other.id, other.record).error() == 0);
  const Message good = question_about(service.id);
  Message last_bit = good;
  last_bit.back() ^= 1;
  Message other_word = good;
  other_word[3] = 'V';
  Message shorter = good;
  shorter.pop_back();
  Message longer = good;
  longer.push_back(0);
  for (const Message& question : {question_about(other.id), last_bit, other_word, shorter, longer,
                                  Message(20), Message(4096, 0xff), Message(good.begin() + 4, good.end())}) {
    const UniqueFd connection = raw_connection(service.id);
    raw_send(connection.get(), question);
    // Expect: the end, and nothing before it.
    BOOST_TEST(raw_receive(connection.get()).empty());
  }
  BOOST_TEST(is_found(*keeper, service));
  keeper->unclaim(service.id);
  keeper->unclaim(other.id);
}

BOOST_AUTO_TEST_CASE(a_question_that_goes_with_its_asker_is_forgotten) {
  const KnownService service;
  const std::shared_ptr<NameService> keeper = NameService::get();
  BOOST_REQUIRE(keeper->claim(service.id, service.record).error() == 0);
  for (int i = 0; i < 200; ++i) {
    const UniqueFd connection = raw_connection(service.id);
    if (i % 2 == 0) raw_send(connection.get(), question_about(service.id));
  }
  BOOST_TEST(is_found(*keeper, service));
  keeper->unclaim(service.id);
}

BOOST_AUTO_TEST_CASE(connections_that_ask_nothing_keep_no_search_from_its_answer) {
  const KnownService service;
  const std::shared_ptr<NameService> keeper = NameService::get();
  BOOST_REQUIRE(keeper->claim(service.id, service.record).error() == 0);
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(raw_connection(service.id));
  const UniqueFd asker = raw_connection(service.id);
  raw_send(asker.get(), question_about(service.id));
  BOOST_TEST(raw_receive(asker.get()) == service.record);
  BOOST_TEST(is_found(*keeper, service));
  BOOST_TEST(is_found(*keeper, service));
  // Expect: the oldest had to go, for the name thread keeps some alone.
  BOOST_TEST(raw_receive(silent.front().get()).empty());
  keeper->unclaim(service.id);
}

BOOST_AUTO_TEST_CASE(who_asks_for_a_name_is_told_whether_there_is_somebody) {
  const KnownService service;
  UniqueFd asked;
  BOOST_TEST(exs::svc::test::take(ask_host_name(service.id), asked) == ECONNREFUSED);
  BOOST_TEST(!asked.valid());
  // Expect: of one who has it and does not listen yet, the same.
  const UniqueFd stranger = raw_socket();
  BOOST_REQUIRE(raw_bind(stranger, service.id) == 0);
  BOOST_TEST(exs::svc::test::take(ask_host_name(service.id), asked) == ECONNREFUSED);
  // Expect: of one who listens, nothing yet; and when many ask, to come again.
  BOOST_REQUIRE(::listen(stranger.get(), 0) == 0);
  BOOST_TEST(exs::svc::test::take(ask_host_name(service.id), asked) == 0);
  BOOST_TEST(asked.valid());
  BOOST_TEST(!read_host_answer(asked.get(), service.id).has_value());
  UniqueFd again;
  int error = 0;
  for (int i = 0; i < 8 && error == 0; ++i) error = exs::svc::test::take(ask_host_name(service.id), again);
  BOOST_TEST(error == EAGAIN);
  // Expect: the question as documented.
  const UniqueFd connection(::accept4(stranger.get(), nullptr, nullptr, SOCK_CLOEXEC));
  BOOST_REQUIRE(connection.valid());
  BOOST_TEST(raw_receive(connection.get()) == question_about(service.id));
  raw_send(connection.get(), service.record);
  const std::optional<Record> record = read_host_answer(asked.get(), service.id);
  BOOST_TEST((record && record->instance == service.instance));
}

BOOST_AUTO_TEST_CASE(connections_to_one_name_keep_no_question_about_another_from_its_answer) {
  constexpr int kAtOnce = 60;
  const KnownService one;
  const KnownService other;
  // Names are looked at in their order.
  const KnownService& first = one.id < other.id ? one : other;
  const KnownService& last = one.id < other.id ? other : one;
  const std::shared_ptr<NameService> keeper = NameService::get();
  BOOST_REQUIRE(keeper->claim(first.id, first.record).error() == 0);
  BOOST_REQUIRE(keeper->claim(last.id, last.record).error() == 0);
  // The name thread stands still, in a ring, until all of them wait for it.
  std::mutex lock;
  std::condition_variable has_changed;
  bool stands = false;
  bool may_go_on = false;
  const auto sink = std::make_shared<Sink>([&] {
    std::unique_lock guard(lock);
    stands = true;
    has_changed.notify_all();
    has_changed.wait(guard, [&] { return may_go_on; });
    return true;
  });
  keeper->ring_at(0, sink);
  {
    std::unique_lock guard(lock);
    has_changed.wait(guard, [&] { return stands; });
  }
  std::vector<UniqueFd> silent;
  for (int i = 0; i < kAtOnce; ++i) silent.push_back(raw_connection(last.id));
  const UniqueFd asker = raw_connection(first.id);
  raw_send(asker.get(), question_about(first.id));
  {
    const std::lock_guard guard(lock);
    may_go_on = true;
    has_changed.notify_all();
  }
  char byte = 0;
  BOOST_TEST(::recv(asker.get(), &byte, 1, 0) == 1);
  sink->close();
  keeper->forget(sink);
  keeper->unclaim(first.id);
  keeper->unclaim(last.id);
}

// ---------------------------------------------------------------- squatters

BOOST_AUTO_TEST_CASE(a_squatter_who_answers_garbage_is_nobody) {
  const KnownService service;
  Message shorter = service.record;
  shorter.pop_back();
  Message longer = service.record;
  longer.push_back(0);
  Message flipped = service.record;
  flipped[10] ^= 1;
  Message twice = service.record;
  twice.insert(twice.end(), service.record.begin(), service.record.end());
  for (const auto& [answer, what] :
       std::vector<std::pair<Message, std::string>>{{{0}, "a byte"},
                                                    {Message(kRecordMax), "zeros"},
                                                    {Message(kRecordMax + 1, 0xff), "too long"},
                                                    {Message(4096, 1), "much too long"},
                                                    {question_about(service.id), "the question"},
                                                    {shorter, "a byte less"},
                                                    {longer, "a byte more"},
                                                    {flipped, "a bit"},
                                                    {twice, "two at once"}})
    expect_no_service(service.id, answering_with(answer), what);
}

BOOST_AUTO_TEST_CASE(a_squatter_who_never_answers_is_nobody) {
  const KnownService service;
  expect_no_service(
      service.id, [](int) {}, "silence");
  expect_no_service(
      service.id, [](int connection) { ::shutdown(connection, SHUT_RDWR); }, "an end");
  // Expect: nor one who does not even accept.
  const std::shared_ptr<NameService> keeper = NameService::get();
  const UniqueFd stranger = raw_socket();
  BOOST_REQUIRE(raw_bind(stranger, service.id) == 0);
  BOOST_REQUIRE(::listen(stranger.get(), 64) == 0);
  BOOST_TEST(is_nobody_found(*keeper, service.id));
}

// A process that is stopped, or starved, has the name and is silent.
BOOST_AUTO_TEST_CASE(who_is_told_to_wait_does_so_while_somebody_has_the_name) {
  const KnownService service;
  const std::shared_ptr<NameService> keeper = NameService::get();
  Ways ways;
  ways.waits_for_holder = true;
  Bell waits;
  {
    const UniqueFd stopped = raw_socket();
    BOOST_REQUIRE(raw_bind(stopped, service.id) == 0);
    BOOST_REQUIRE(::listen(stopped.get(), 64) == 0);
    keeper->find(1, service.id, boottime_ns() + kShortNs, waits.sink(), ways);
    // Expect: others give up meanwhile.
    for (int i = 0; i < 5; ++i) BOOST_TEST(is_nobody_found(*keeper, service.id));
    BOOST_TEST(waits.rings() == 0U);
  }
  BOOST_TEST(!waits.wait_for_found().record.has_value());
}

// A limit that is over at the first step is that of a thread that got its processor late.
BOOST_AUTO_TEST_CASE(a_search_asks_once_however_late_it_is) {
  const KnownService service;
  const std::shared_ptr<NameService> keeper = NameService::get();
  Ways ways;
  ways.waits_for_holder = true;
  Bell late;
  {
    const UniqueFd stopped = raw_socket();
    BOOST_REQUIRE(raw_bind(stopped, service.id) == 0);
    BOOST_REQUIRE(::listen(stopped.get(), 64) == 0);
    keeper->find(1, service.id, boottime_ns(), late.sink(), ways);
    BOOST_TEST(is_nobody_found(*keeper, service.id));
    BOOST_TEST(late.rings() == 0U);
  }
  BOOST_TEST(!late.wait_for_found().record.has_value());
  // Expect: where nobody has the name, it ends.
  keeper->find(2, service.id, boottime_ns(), late.sink(), ways);
  BOOST_TEST(late.wait_for_found().search == 2U);
}

// It drops questions that are old when it has a processor again.
BOOST_AUTO_TEST_CASE(a_holder_that_was_waited_for_is_asked_again_when_it_ends_the_connection) {
  const KnownService service;
  const std::shared_ptr<NameService> keeper = NameService::get();
  int asked = 0;
  const Squatter slow(service.id, [&](int connection) {
    ++asked;
    if (asked == 2) ::shutdown(connection, SHUT_RDWR);
    if (asked > 2) answering_with(service.record)(connection);
  });
  Ways ways;
  ways.waits_for_holder = true;
  Bell bell;
  keeper->find(1, service.id, boottime_ns(), bell.sink(), ways);
  const Sink::Found found = bell.wait_for_found();
  BOOST_TEST((found.record && found.record->instance == service.instance));
}

// Answers come longer after the questions than those are asked again at first.
BOOST_AUTO_TEST_CASE(who_answers_late_is_found) {
  const KnownService service;
  const std::shared_ptr<NameService> keeper = NameService::get();
  const Squatter slow(service.id, [&](int connection) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    answering_with(service.record)(connection);
  });
  const std::optional<Record> record = found_by(*keeper, service.id, boottime_ns() + 20'000 * kNsPerMs);
  BOOST_TEST((record && record->instance == service.instance));
}

BOOST_AUTO_TEST_CASE(a_record_that_another_key_has_signed_is_not_taken) {
  const KnownService service;
  const KnownService other;
  const Record content{service.key.public_key(), 99, 1, {loopback_address(666)}};
  expect_no_service(service.id, answering_with(encode_record(content, other.key)), "signed by another");
  expect_no_service(service.id, answering_with(other.record), "of another");
}

BOOST_AUTO_TEST_CASE(a_squatter_who_goes_away_makes_room_for_the_service) {
  const KnownService service;
  const std::shared_ptr<NameService> keeper = NameService::get();
  Bell bell;
  {
    std::mutex lock;
    std::condition_variable has_changed;
    bool was_asked = false;
    const Squatter squatter(service.id, [&](int connection) {
      answering_with({1, 2, 3})(connection);
      const std::lock_guard guard(lock);
      was_asked = true;
      has_changed.notify_all();
    });
    keeper->find(1, service.id, kNeverNs, bell.sink());
    std::unique_lock guard(lock);
    has_changed.wait(guard, [&] { return was_asked; });
  }
  BOOST_REQUIRE(keeper->claim(service.id, service.record).error() == 0);
  const Sink::Found found = bell.wait_for_found();
  BOOST_TEST((found.record && found.record->instance == service.instance));
  keeper->unclaim(service.id);
}

// ---------------------------------------------------------------- sinks

BOOST_AUTO_TEST_CASE(a_sink_that_is_closed_neither_rings_nor_takes) {
  unsigned rings = 0;
  Sink sink([&] {
    ++rings;
    return rings > 1;
  });
  sink.put({1, {}, {}});
  sink.put({2, {}, {}});
  // Expect: whether it could ring is told.
  BOOST_TEST(!sink.ring());
  BOOST_TEST(sink.ring());
  const std::vector<Sink::Found> found = sink.take();
  BOOST_REQUIRE(found.size() == 2U);
  BOOST_TEST(found[0].search == 1U);
  BOOST_TEST(found[1].search == 2U);
  BOOST_TEST(sink.take().empty());
  sink.put({3, {}, {}});
  sink.close();
  // Expect: what lay there has gone, too.
  BOOST_TEST(sink.take().empty());
  sink.put({4, {}, {}});
  BOOST_TEST(sink.take().empty());
  BOOST_TEST(sink.ring());
  BOOST_TEST(rings == 2U);
  sink.close();
}

BOOST_AUTO_TEST_CASE(nothing_comes_for_a_sink_that_is_forgotten) {
  const KnownService service;
  const std::shared_ptr<NameService> keeper = NameService::get();
  Bell forgotten;
  Bell other;
  keeper->find(1, service.id, kNeverNs, forgotten.sink());
  keeper->find(2, service.id, kNeverNs, other.sink());
  keeper->ring_at(boottime_ns() + 3600 * 1000 * kNsPerMs, forgotten.sink());
  keeper->forget(forgotten.sink());
  keeper->forget(forgotten.sink());
  BOOST_REQUIRE(keeper->claim(service.id, service.record).error() == 0);
  // Expect: the other search, which came later, ends; and so does one from now on.
  BOOST_TEST(other.wait_for_found().search == 2U);
  BOOST_TEST(is_found(*keeper, service));
  BOOST_TEST(forgotten.rings() == 0U);
  BOOST_TEST(forgotten.sink()->take().empty());
  // Expect: it can be used again.
  keeper->find(3, service.id, kNeverNs, forgotten.sink());
  BOOST_TEST(forgotten.wait_for_found().search == 3U);
  keeper->unclaim(service.id);
}

BOOST_AUTO_TEST_CASE(nothing_comes_for_a_sink_that_is_closed) {
  const KnownService nobody;
  const std::shared_ptr<NameService> keeper = NameService::get();
  Bell closed;
  keeper->find(1, nobody.id, boottime_ns() + kShortNs, closed.sink());
  keeper->ring_at(boottime_ns() + kShortNs, closed.sink());
  closed.sink()->close();
  const unsigned rings = closed.rings();
  // A round of the name thread looks at all searches and rings, so after one that began later all of this is over.
  BOOST_TEST(is_nobody_found(*keeper, nobody.id));
  BOOST_TEST(is_nobody_found(*keeper, nobody.id));
  BOOST_TEST(closed.rings() == rings);
  BOOST_TEST(closed.sink()->take().empty());
}

BOOST_AUTO_TEST_CASE(a_sink_is_rung_at_its_time_and_not_before) {
  const std::shared_ptr<NameService> keeper = NameService::get();
  Bell bell;
  const std::uint64_t time_ns = boottime_ns() + 20 * kNsPerMs;
  keeper->ring_at(time_ns, bell.sink());
  bell.wait_for_rings(1);
  BOOST_TEST(boottime_ns() >= time_ns);
  // Expect: a time that has passed is one, and a new time takes the place of the one before, be it earlier or later.
  keeper->ring_at(0, bell.sink());
  bell.wait_for_rings(2);
  keeper->ring_at(boottime_ns() + 3600 * 1000 * kNsPerMs, bell.sink());
  keeper->ring_at(boottime_ns(), bell.sink());
  bell.wait_for_rings(3);
  keeper->ring_at(boottime_ns() + 3600 * 1000 * kNsPerMs, bell.sink());
  keeper->ring_at(kNeverNs, bell.sink());
  Bell other;
  keeper->ring_at(boottime_ns(), other.sink());
  other.wait_for_rings(1);
  BOOST_TEST(bell.rings() == 3U);
  BOOST_TEST(bell.sink()->take().empty());
}

BOOST_AUTO_TEST_CASE(what_is_found_does_not_take_the_place_of_an_alarm) {
  const std::shared_ptr<NameService> keeper = NameService::get();
  const KnownService nobody;
  Bell bell;
  const std::uint64_t time_ns = boottime_ns() + kShortNs;
  keeper->ring_at(time_ns, bell.sink());
  keeper->find(1, nobody.id, 0, bell.sink());
  // Expect: what was found is told, and the sink is rung at its time, too.
  BOOST_TEST(bell.wait_for_found().search == 1U);
  for (unsigned rings = 1; boottime_ns() < time_ns; ++rings) bell.wait_for_rings(rings);
  BOOST_TEST(bell.rings() >= 1U);
}

BOOST_AUTO_TEST_CASE(a_sink_that_could_not_ring_is_rung_again) {
  const std::shared_ptr<NameService> keeper = NameService::get();
  std::mutex lock;
  std::condition_variable has_changed;
  unsigned tries = 0;
  const auto sink = std::make_shared<Sink>([&] {
    const std::lock_guard guard(lock);
    ++tries;
    has_changed.notify_all();
    return tries >= 3;
  });
  const KnownService nobody;
  keeper->find(5, nobody.id, 0, sink);
  {
    std::unique_lock guard(lock);
    has_changed.wait(guard, [&] { return tries >= 3; });
  }
  // Expect: what was found lies there meanwhile, once; and three times are enough.
  const std::vector<Sink::Found> found = sink->take();
  BOOST_REQUIRE(found.size() == 1U);
  BOOST_TEST(found.front().search == 5U);
  BOOST_TEST(is_nobody_found(*keeper, nobody.id));
  sink->close();
  keeper->forget(sink);
  BOOST_TEST(tries == 3U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
