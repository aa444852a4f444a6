// What functions of exs/service.h refuse: the errno value, and a text that names the function.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/service/world.h"

namespace exs::svc {
namespace refusals_test {

using namespace exs::svc::test;

// The call has failed with this error, and the text begins with the function's name.
void expect(bool has_failed, int error, std::string_view function) {
  const int is = errno;
  BOOST_TEST(has_failed, function);
  BOOST_TEST(is == error, function << ": " << exs_svc_errtext());
  BOOST_TEST(std::string_view(exs_svc_errtext()).starts_with(std::string(function) + ": "),
             exs_svc_errtext());
}

class OwnFolder {
 public:
  OwnFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "exs-refusals-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~OwnFolder() { std::filesystem::remove_all(path_); }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;
  [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// While it lives, the process has no more descriptors to give.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

// Interrupts system calls of this thread, again and again, while it lives.
class Interruptions {
 public:
  Interruptions() {
    struct sigaction action {};
    action.sa_handler = [](int) {};  // without SA_RESTART
    ::sigaction(SIGALRM, &action, &before_);
    set(5'000);
  }
  ~Interruptions() {
    set(0);
    ::sigaction(SIGALRM, &before_, nullptr);
  }
  Interruptions(const Interruptions&) = delete;
  Interruptions& operator=(const Interruptions&) = delete;

 private:
  static void set(suseconds_t period_us) {
    const itimerval timer{{0, period_us}, {0, period_us}};
    ::setitimer(ITIMER_REAL, &timer, nullptr);
  }
  struct sigaction before_ {};
};

exs_svc_node_options_t listening_at(const char* address) {
  exs_svc_node_options_t options{};
  options.struct_bytes = sizeof options;
  options.listen = address;
  return options;
}

}  // namespace refusals_test

BOOST_AUTO_TEST_SUITE(refusals_test)

using namespace exs::svc::refusals_test;

// shows: exs_svc_key_store EINVAL EEXIST, exs_svc_key_load EINVAL EACCES EPROTO, exs_svc_key_id EINVAL
BOOST_AUTO_TEST_CASE(files_that_hold_no_key_for_this_user_are_refused) {
  const OwnFolder folder;
  const OwnedKey key = make_key();
  const std::string path = folder.file("key");
  expect(exs_svc_key_store(nullptr, path.c_str()) == -1, EINVAL, "exs_svc_key_store");
  expect(exs_svc_key_store(key.get(), nullptr) == -1, EINVAL, "exs_svc_key_store");
  BOOST_TEST(exs_svc_key_store(key.get(), path.c_str()) == 0);
  expect(exs_svc_key_store(key.get(), path.c_str()) == -1, EEXIST, "exs_svc_key_store");
  BOOST_TEST(std::string_view(exs_svc_errtext()).find(path) != std::string_view::npos);
  expect(exs_svc_key_load(nullptr) == nullptr, EINVAL, "exs_svc_key_load");
  expect(exs_svc_key_load(folder.file("none").c_str()) == nullptr, ENOENT, "exs_svc_key_load");
  BOOST_TEST(::chmod(path.c_str(), 0640) == 0);
  expect(exs_svc_key_load(path.c_str()) == nullptr, EACCES, "exs_svc_key_load");
  BOOST_TEST(std::string_view(exs_svc_errtext()).find("chmod 600") != std::string_view::npos);
  std::ofstream(folder.file("other")) << "no key\n";
  BOOST_TEST(::chmod(folder.file("other").c_str(), 0600) == 0);
  expect(exs_svc_key_load(folder.file("other").c_str()) == nullptr, EPROTO, "exs_svc_key_load");
  exs_svc_id_t id{};
  expect(exs_svc_key_id(nullptr, &id) == -1, EINVAL, "exs_svc_key_id");
  expect(exs_svc_key_id(key.get(), nullptr) == -1, EINVAL, "exs_svc_key_id");
}

// shows: exs_svc_id_text EINVAL, exs_svc_id_parse EINVAL, exs_svc_cap_make EINVAL, exs_svc_cap_text EINVAL, exs_svc_cap_parse EINVAL
BOOST_AUTO_TEST_CASE(texts_and_rights_that_are_none_are_refused) {
  const OwnedKey key = make_key();
  const exs_svc_id_t id = test::id_of(key);
  std::array<char, EXS_SVC_CAP_TEXT> text{};
  exs_svc_id_t read{};
  expect(exs_svc_id_text(nullptr, text.data()) == -1, EINVAL, "exs_svc_id_text");
  expect(exs_svc_id_text(&id, nullptr) == -1, EINVAL, "exs_svc_id_text");
  expect(exs_svc_id_parse("exs:0", &read) == -1, EINVAL, "exs_svc_id_parse");
  expect(exs_svc_id_parse(nullptr, &read) == -1, EINVAL, "exs_svc_id_parse");
  exs_svc_cap_t cap{};
  expect(exs_svc_cap_make(nullptr, EXS_SVC_SEND, 0, 0, &cap) == -1, EINVAL, "exs_svc_cap_make");
  expect(exs_svc_cap_make(key.get(), EXS_SVC_ALL + 1, 0, 0, &cap) == -1, EINVAL, "exs_svc_cap_make");
  expect(exs_svc_cap_make(key.get(), EXS_SVC_SEND, 0, -1, &cap) == -1, EINVAL, "exs_svc_cap_make");
  expect(exs_svc_cap_text(nullptr, text.data()) == -1, EINVAL, "exs_svc_cap_text");
  expect(exs_svc_cap_parse("exs-cap:", &cap) == -1, EINVAL, "exs_svc_cap_parse");
}

// shows: exs_svc_find EINVAL ENOENT
BOOST_AUTO_TEST_CASE(a_name_that_no_line_has_is_refused) {
  const OwnFolder folder;
  exs_svc_id_t id{};
  expect(exs_svc_find(folder.file("none").c_str(), "printer", &id) == -1, ENOENT, "exs_svc_find");
  BOOST_TEST(std::string_view(exs_svc_errtext()).find("printer") != std::string_view::npos);
  expect(exs_svc_find(nullptr, nullptr, &id) == -1, EINVAL, "exs_svc_find");
}

// shows: exs_svc_node_open EINVAL EADDRINUSE EADDRNOTAVAIL, exs_svc_node_fd EINVAL
BOOST_AUTO_TEST_CASE(a_node_that_cannot_listen_is_refused) {
  exs_svc_node_options_t options = listening_at("nowhere");
  expect(exs_svc_node_open(&options) == nullptr, EINVAL, "exs_svc_node_open");
  options = listening_at("192.0.2.1");
  expect(exs_svc_node_open(&options) == nullptr, EADDRNOTAVAIL, "exs_svc_node_open");
  BOOST_TEST(std::string_view(exs_svc_errtext()).starts_with("exs_svc_node_open: 192.0.2.1: "));
  // Expect: an address with a port is one node's alone.
  const OwnedKey key = make_key();
  const exs_svc_id_t id = test::id_of(key);
  TestNode node;
  node.open(key);
  exs_svc_place_t place{};
  place.struct_bytes = sizeof place;
  BOOST_REQUIRE(exs_svc_locate(&id, 60'000 * kMs, &place) == 0);
  options = listening_at(place.addresses[0]);
  expect(exs_svc_node_open(&options) == nullptr, EADDRINUSE, "exs_svc_node_open");
  const exs_svc_node_options_t any = listening_at("127.0.0.1");
  {
    const NoDescriptors none;  // what fails first, and so the errno value, depends on exs
    BOOST_TEST(exs_svc_node_open(&any) == nullptr);
  }
  const TestNode again(&any);  // nothing stays of what failed
  expect(exs_svc_node_fd(nullptr) == -1, EINVAL, "exs_svc_node_fd");
}

// shows: exs_svc_open EINVAL EADDRINUSE EMFILE, exs_svc_adopt EINVAL EADDRINUSE EMFILE, exs_svc_peer_open EINVAL
BOOST_AUTO_TEST_CASE(a_service_or_peer_that_cannot_be_opened_is_refused) {
  const TestNode node;
  const OwnedKey key = make_key();
  const exs_svc_id_t id = test::id_of(key);
  exs_svc_options_t options{};  // without struct_bytes
  expect(exs_svc_open(nullptr, key.get(), nullptr, nullptr) == nullptr, EINVAL, "exs_svc_open");
  expect(exs_svc_open(node.get(), key.get(), &options, nullptr) == nullptr, EINVAL, "exs_svc_open");
  expect(exs_svc_adopt(node.get(), nullptr, nullptr, nullptr) == nullptr, EINVAL, "exs_svc_adopt");
  {
    // A sanitizer needs a descriptor where it sees a type for the first time.
    const TestNode other;
    BOOST_TEST(exs_svc_adopt(other.get(), make_key().get(), nullptr, nullptr) != nullptr);
    const NoDescriptors none;
    expect(exs_svc_open(node.get(), key.get(), nullptr, nullptr) == nullptr, EMFILE, "exs_svc_open");
    expect(exs_svc_adopt(node.get(), key.get(), nullptr, nullptr) == nullptr, EMFILE, "exs_svc_adopt");
  }
  node.open(key);
  expect(exs_svc_open(node.get(), key.get(), nullptr, nullptr) == nullptr, EADDRINUSE, "exs_svc_open");
  BOOST_TEST(exs_svc_adopt(node.get(), key.get(), nullptr, nullptr) != nullptr);
  expect(exs_svc_adopt(node.get(), key.get(), nullptr, nullptr) == nullptr, EADDRINUSE, "exs_svc_adopt");
  exs_svc_cap_t others{};
  BOOST_TEST(exs_svc_cap_make(make_key().get(), EXS_SVC_ALL, 0, 0, &others) == 0);
  expect(exs_svc_peer_open(node.get(), nullptr, &id, &others, nullptr) == nullptr, EINVAL,
         "exs_svc_peer_open");
  expect(exs_svc_peer_open(nullptr, nullptr, &id, nullptr, nullptr) == nullptr, EINVAL, "exs_svc_peer_open");
}

// shows: exs_svc_locate EMFILE
BOOST_AUTO_TEST_CASE(a_question_needs_a_descriptor) {
  const exs_svc_id_t id = test::id_of(make_key());
  exs_svc_place_t place{};
  place.struct_bytes = sizeof place;
  const NoDescriptors none;
  expect(exs_svc_locate(&id, 0, &place) == -1, EMFILE, "exs_svc_locate");
}

// shows: exs_svc_wait EINTR
BOOST_AUTO_TEST_CASE(a_signal_ends_a_wait) {
  const TestNode node;
  exs_svc_event_t event{};
  int count = 0;
  {
    const Interruptions interruptions;
    while (count == 0) count = exs_svc_wait(node.get(), &event, 1, 60'000 * kMs);
  }
  expect(count == -1, EINTR, "exs_svc_wait");
}

// The library has a text of its own for each thread and call; the last failed one counts.
BOOST_AUTO_TEST_CASE(a_call_that_works_leaves_the_text_and_errno_alone) {
  const OwnedKey key = make_key();
  exs_svc_id_t id{};
  expect(exs_svc_ping(nullptr) == -1, EINVAL, "exs_svc_ping");
  errno = 7;
  BOOST_TEST(exs_svc_key_id(key.get(), &id) == 0);
  BOOST_TEST(errno == 7);
  BOOST_TEST(exs_svc_errtext() == std::string_view("exs_svc_ping: no peer"));
  BOOST_TEST(errno == 7);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
