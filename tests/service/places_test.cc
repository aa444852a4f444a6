// Where services are, as a file says.
// SPDX-License-Identifier: BSD-2-Clause
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>

#include "service/names/address.h"
#include "service/names/host_name.h"
#include "service/names/name_service.h"
#include "service/names/names_file.h"
#include "tests/service/outcomes.h"
#include "tests/service/world.h"

namespace exs::svc {
namespace places_test {

using namespace exs::svc::test;

// A file of names, which is gone at the end.
class Written {
 public:
  Written() {
    const int file = ::mkstemp(path_.data());
    BOOST_REQUIRE(file >= 0);
    ::close(file);
  }
  ~Written() { ::unlink(path_.c_str()); }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  void write(const std::string& text) const { std::ofstream(path_) << text; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/exs-names-XXXXXX";
};

std::string text_of_id(const OwnedKey& key) {
  const exs_svc_id_t id = test::id_of(key);
  std::array<char, EXS_SVC_ID_TEXT> text{};
  BOOST_REQUIRE(exs_svc_id_text(&id, text.data()) == 0);
  return text.data();
}

IdBytes bytes_of_id(const OwnedKey& key) {
  const exs_svc_id_t id = test::id_of(key);
  IdBytes bytes;
  std::copy(std::begin(id.bytes), std::end(id.bytes), bytes.begin());
  return bytes;
}

// The port of the node that has the service.
int port_of_service(const IdBytes& id) {
  UniqueFd asked;
  std::optional<Record> record;
  BOOST_REQUIRE(exs::svc::test::take(ask_host_name(id), asked) == 0);
  while (!record) record = read_host_answer(asked.get(), id);
  return ntohs(reinterpret_cast<const sockaddr_in&>(record->addresses.front()).sin_port);
}

exs_svc_node_options_t options_of(const std::string& path, std::uint32_t find_by) {
  exs_svc_node_options_t options{};
  options.struct_bytes = sizeof options;
  options.names = path.c_str();
  options.find_by = find_by;
  return options;
}

}  // namespace places_test

BOOST_FIXTURE_TEST_SUITE(places_test, Written)

BOOST_AUTO_TEST_CASE(a_name_has_an_id_and_addresses) {
  const OwnedKey first = make_key();
  const OwnedKey last = make_key();
  write("# names\n\nfirst " + text_of_id(first) + "\n  last\t" + text_of_id(last) +
        " 192.0.2.1:7000 [2001:db8::1]:7001  # of another host\n");
  const NamesFile file(path());
  BOOST_TEST((file.id_of("first") == bytes_of_id(first)));
  BOOST_TEST((file.id_of("last") == bytes_of_id(last)));
  BOOST_TEST(!file.id_of("la"));
  BOOST_TEST(file.addresses_of(bytes_of_id(first)).empty());
  const std::vector<sockaddr_storage> addresses = file.addresses_of(bytes_of_id(last));
  BOOST_REQUIRE(addresses.size() == 2U);
  BOOST_TEST((key_of(addresses[0]) == key_of(*parse_address("192.0.2.1:7000"))));
  BOOST_TEST((key_of(addresses[1]) == key_of(*parse_address("[2001:db8::1]:7001"))));
}

BOOST_AUTO_TEST_CASE(lines_that_are_wrong_say_nothing) {
  const OwnedKey key = make_key();
  const std::string id = text_of_id(key);
  for (const std::string& line :
       std::vector<std::string>{"name", "name exs:1", "name " + id + "0", "name " + id + " 192.0.2.1",
                                "name " + id + " 192.0.2.1:0", "name " + id + " host:7000", "#name " + id,
                                "name " + id.substr(0, 20) + "#" + id.substr(20)}) {
    write(line + "\n");
    BOOST_TEST(!NamesFile(path()).id_of("name"), line);
    BOOST_TEST(NamesFile(path()).addresses_of(bytes_of_id(key)).empty(), line);
  }
  // Expect: those below them are read.
  write("name exs:1\nname " + id + " 192.0.2.1:1 192.0.2.1:2 192.0.2.1:3 192.0.2.1:4 192.0.2.1:5");
  BOOST_TEST(NamesFile(path()).id_of("name").has_value());
  BOOST_TEST(NamesFile(path()).addresses_of(bytes_of_id(key)).size() == kAddressesMax);
  BOOST_TEST(!NamesFile("/nowhere/services").id_of("name"));
}

BOOST_AUTO_TEST_CASE(a_name_is_found) {
  const OwnedKey key = make_key();
  const exs_svc_id_t id = test::id_of(key);
  exs_svc_id_t found{};
  write("printer " + text_of_id(key) + "\n");
  BOOST_TEST(exs_svc_find(path().c_str(), "printer", &found) == 0);
  BOOST_TEST(std::memcmp(&found, &id, sizeof id) == 0);
  // Expect: an ID is its own name, and others are none.
  found = {};
  BOOST_TEST(exs_svc_find(path().c_str(), text_of_id(key).c_str(), &found) == 0);
  BOOST_TEST(std::memcmp(&found, &id, sizeof id) == 0);
  BOOST_TEST(exs_svc_find(path().c_str(), "scanner", &found) == -1);
  BOOST_TEST(errno == ENOENT);
  BOOST_TEST(exs_svc_find(nullptr, nullptr, &found) == -1);
  BOOST_TEST(exs_svc_find(nullptr, "printer", nullptr) == -1);
  BOOST_TEST(errno == EINVAL);
}

// shows: exs_svc_locate ENOENT
BOOST_AUTO_TEST_CASE(a_service_of_this_host_says_where_it_is) {
  const OwnedKey key = make_key();
  const exs_svc_id_t id = test::id_of(key);
  exs_svc_place_t place{};
  place.struct_bytes = sizeof place;
  BOOST_TEST(exs_svc_locate(&id, 0, &place) == -1);
  BOOST_TEST(errno == ENOENT);
  TestNode node;
  node.open(key);
  // Without a turn of the node.
  BOOST_REQUIRE(exs_svc_locate(&id, 60'000 * kMs, &place) == 0);
  BOOST_TEST(place.process == ::getpid());
  BOOST_TEST(place.user == ::geteuid());
  BOOST_TEST(place.instance != 0U);
  BOOST_TEST(place.opened_ms <= since_1970_ms());
  BOOST_TEST(place.addresses_count == 1);
  BOOST_TEST(std::string(place.addresses[0]) ==
             "127.0.0.1:" + std::to_string(port_of_service(bytes_of_id(key))));
  place.struct_bytes = 0;
  check_refused(exs_svc_locate(&id, 0, &place), EINVAL);
  place.struct_bytes = sizeof place;
  check_refused(exs_svc_locate(nullptr, 0, &place), EINVAL);
  check_refused(exs_svc_locate(&id, -1, &place), EINVAL);
  check_refused(exs_svc_locate(&id, 0, nullptr), EINVAL);
}

// It has the name, and answers with nothing, or with another's record.
BOOST_AUTO_TEST_CASE(who_has_the_name_alone_is_not_the_service) {
  const OwnedKey key = make_key();
  const exs_svc_id_t id = test::id_of(key);
  exs_svc_place_t place{};
  place.struct_bytes = sizeof place;
  UniqueFd listener;
  BOOST_REQUIRE(exs::svc::test::take(claim_host_name(bytes_of_id(key)), listener) == 0);
  check_refused(exs_svc_locate(&id, kMs, &place), ETIMEDOUT);
  listener.reset();
  const std::shared_ptr<NameService> keeper = NameService::get();
  BOOST_REQUIRE(keeper->claim(bytes_of_id(key), {1, 2, 3}).error() == 0);
  check_refused(exs_svc_locate(&id, 60'000 * kMs, &place), EPROTO);
  keeper->unclaim(bytes_of_id(key));
}

BOOST_AUTO_TEST_CASE(an_address_is_read_as_it_was_written) {
  for (const char* const text : {"192.0.2.1:7000", "[2001:db8::1]:7001"})
    BOOST_TEST(text_of(*parse_address(text)) == text);
}

BOOST_AUTO_TEST_CASE(a_service_is_found_where_the_file_says) {
  const OwnedKey key = make_key();
  TestNode right;
  right.open(key);
  // Expect: an address where it is not is passed over.
  write("x " + text_of_id(key) +
        " 127.0.0.1:1 127.0.0.1:" + std::to_string(port_of_service(bytes_of_id(key))) + "\n");
  const exs_svc_node_options_t options = options_of(path(), EXS_SVC_BY_FILE);
  TestNode left(&options);
  BOOST_TEST(send(left.peer(key), {"by file"}) == 0);
  BOOST_TEST(next_text({&left, &right}, right).items.front() == "by file");
}

namespace {

// A port where the kernel takes connections, and nobody answers: as that of a process that is stopped.
class SilentPort {
 public:
  SilentPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_storage address = *parse_address("127.0.0.1");
    socklen_t length = sizeof address;
    BOOST_REQUIRE(::bind(socket_.get(), as_sockaddr(address), address_bytes(address)) == 0);
    BOOST_REQUIRE(::listen(socket_.get(), 4) == 0);
    BOOST_REQUIRE(::getsockname(socket_.get(), as_sockaddr(address), &length) == 0);
    port_ = port_number(address);
  }
  [[nodiscard]] int port() const { return port_; }

 private:
  UniqueFd socket_;
  int port_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(where_nobody_answers_is_passed_over_in_time) {
  const OwnedKey key = make_key();
  const SilentPort silent;
  TestNode right;
  right.open(key);
  write("x " + text_of_id(key) + " 127.0.0.1:" + std::to_string(silent.port()) +
        " 127.0.0.1:" + std::to_string(port_of_service(bytes_of_id(key))) + "\n");
  exs_svc_node_options_t options = options_of(path(), EXS_SVC_BY_FILE);
  options.find_ns = 60'000 * kMs;
  options.silent_ns = 50 * kMs;
  TestNode left(&options);
  BOOST_TEST(send(left.peer(key), {"at last"}) == 0);
  BOOST_TEST(next_text({&left, &right}, right).items.front() == "at last");
  for (const std::int64_t wrong_ns : {std::int64_t{-1}, kMs, 4'000'000 * kMs}) {
    options.silent_ns = wrong_ns;
    BOOST_TEST(exs_svc_node_open(&options) == nullptr);
    BOOST_TEST(errno == EINVAL);
  }
}

// It is elsewhere now, and the file has where it was first.
BOOST_AUTO_TEST_CASE(where_a_connection_broke_is_tried_last) {
  const OwnedKey key = make_key();
  std::optional<TestNode> before(std::in_place);
  before->open(key);
  const int port_before = port_of_service(bytes_of_id(key));
  const std::string address_before = "127.0.0.1:" + std::to_string(port_before);
  exs_svc_node_options_t options = options_of(path(), EXS_SVC_BY_FILE);
  options.find_ns = 60'000 * kMs;
  TestNode left(&options);
  write("x " + text_of_id(key) + " " + address_before + "\n");
  exs_svc_peer_t* const peer = left.peer(key);
  BOOST_TEST(send(peer, {"before"}) == 0);
  BOOST_TEST(next_text({&left, &*before}, *before).items.front() == "before");
  before.reset();
  exs_svc_node_options_t there{};
  there.struct_bytes = sizeof there;
  there.listen = address_before.c_str();
  TestNode nobody(&there);
  TestNode after;
  after.open(key);
  write("x " + text_of_id(key) + " " + address_before +
        " 127.0.0.1:" + std::to_string(port_of_service(bytes_of_id(key))) + "\n");
  BOOST_TEST(send(peer, {"after"}) == 0);
  // Without turns of the node there.
  BOOST_TEST(next_text({&left, &after}, after).items.front() == "after");
  // Expect: who has not been there asks it, and goes on to where the service is.
  TestNode stranger(&options);
  BOOST_TEST(send(stranger.peer(key), {"anew"}) == 0);
  BOOST_TEST(next_text({&stranger, &nobody, &after}, after).items.front() == "anew");
}

BOOST_AUTO_TEST_CASE(a_file_is_asked_when_nobody_here_is_the_service) {
  const OwnedKey key = make_key();
  TestNode right;
  exs_svc_t* const service = right.open(key);
  write("x " + text_of_id(key) + " 127.0.0.1:" + std::to_string(port_of_service(bytes_of_id(key))) + "\n");
  exs_svc_node_options_t options = options_of(path(), 0);
  TestNode left(&options);
  exs_svc_peer_t* const peer = left.peer(key);
  BOOST_TEST(send(peer, {"by host"}) == 0);
  BOOST_TEST(next_text({&left, &right}, right).items.front() == "by host");
  // Expect: the node that the file names says that the service is not there, until it is.
  exs_svc_close(service);
  BOOST_TEST(send(peer, {"later"}) == 0);
  for (int i = 0; i < 20; ++i) left.step();
  right.open(key);
  BOOST_TEST(next_text({&left, &right}, right).items.front() == "later");
}

BOOST_AUTO_TEST_CASE(a_service_that_the_file_takes_for_another_is_not_believed) {
  const OwnedKey key = make_key();
  const OwnedKey wanted = make_key();
  TestNode right;
  right.open(key);
  write("x " + text_of_id(wanted) + " 127.0.0.1:" + std::to_string(port_of_service(bytes_of_id(key))) + "\n");
  exs_svc_node_options_t options = options_of(path(), EXS_SVC_BY_FILE);
  options.find_ns = 50 * kMs;
  TestNode left(&options);
  BOOST_TEST(send(left.peer(wanted), {"secret"}) == 0);
  BOOST_TEST(next_event({&left, &right}, left, EXS_SVC_EVT_LOST).error == ENOENT);
  BOOST_TEST(count_events(right, EXS_SVC_EVT_MESSAGE) == 0U);
}

BOOST_AUTO_TEST_CASE(a_service_that_has_moved_is_found_where_the_file_says_that_it_was) {
  const OwnedKey key = make_key();
  TestNode here;
  TestNode there;
  exs_svc_t* const service = here.open(key);
  write("x " + text_of_id(key) + " 127.0.0.1:" + std::to_string(port_of_service(bytes_of_id(key))) + "\n");
  BOOST_REQUIRE(exs_svc_adopt(there.get(), key.get(), nullptr, nullptr) != nullptr);
  BOOST_REQUIRE(exs_svc_move(service, nullptr, nullptr) == 0);
  BOOST_TEST(next_event({&here, &there}, here, EXS_SVC_EVT_MOVED).error == 0);
  const exs_svc_node_options_t options = options_of(path(), EXS_SVC_BY_FILE);
  TestNode client(&options);
  BOOST_TEST(send(client.peer(key), {"found"}) == 0);
  BOOST_TEST(next_text({&here, &there, &client}, there).items.front() == "found");
  // Expect: also by who knew it, when the service has been closed here.
  exs_svc_close(service);
  TestNode other(&options);
  BOOST_TEST(send(other.peer(key), {"again"}) == 0);
  BOOST_TEST(next_text({&here, &there, &other}, there).items.front() == "again");
}

BOOST_AUTO_TEST_CASE(a_node_that_goes_by_the_host_alone_reads_no_file) {
  const OwnedKey key = make_key();
  exs_svc_node_options_t options = options_of(path(), EXS_SVC_BY_HOST);
  options.find_ns = 50 * kMs;
  write("x " + text_of_id(key) + " 127.0.0.1:1\n");
  TestNode left(&options);
  BOOST_TEST(send(left.peer(key), {"x"}) == 0);
  BOOST_TEST(next_event({&left}, left, EXS_SVC_EVT_LOST).error == ENOENT);
  options.find_by = 16;
  BOOST_TEST(exs_svc_node_open(&options) == nullptr);
  BOOST_TEST(errno == EINVAL);
}

BOOST_AUTO_TEST_CASE(a_service_is_found_by_multicast_where_both_use_it) {
  const OwnedKey key = make_key();
  exs_svc_node_options_t options = options_of(path(), EXS_SVC_BY_MULTICAST);
  options.multicast = "lo";
  TestNode left(&options);
  TestNode right(&options);
  right.open(key);
  BOOST_TEST(send(left.peer(key), {"by multicast"}) == 0);
  BOOST_TEST(next_text({&left, &right}, right).items.front() == "by multicast");
  // Expect: where one of them does not, nobody is found.
  options.multicast = "off";
  options.find_ns = 50 * kMs;
  TestNode without(&options);
  BOOST_TEST(send(without.peer(key), {"x"}) == 0);
  BOOST_TEST(next_event({&without, &right}, without, EXS_SVC_EVT_LOST).error == ENOENT);
  options.multicast = "lo:0";
  BOOST_TEST(exs_svc_node_open(&options) == nullptr);
  BOOST_TEST(errno == EINVAL);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
