// A service that is killed while messages are on their way to it, and starts again: what its sender is told of.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>

#include "tests/service/world.h"

namespace exs::svc {
namespace {

using namespace exs::svc::test;
using Number = std::uint32_t;

// The directory of a key file, removed with it.
class KeyFolder {
 public:
  explicit KeyFolder(const OwnedKey& key) {
    BOOST_REQUIRE(::mkdtemp(folder_.data()) != nullptr);
    path_ = folder_ + "/key";
    BOOST_REQUIRE(exs_svc_key_store(key.get(), path_.c_str()) == 0);
  }
  ~KeyFolder() {
    ::unlink(path_.c_str());
    ::rmdir(folder_.c_str());
  }
  KeyFolder(const KeyFolder&) = delete;
  KeyFolder& operator=(const KeyFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string folder_ = "/tmp/exs-service-XXXXXX";
  std::string path_;
};

// The service, in a process whose output comes here.
class Victim {
 public:
  Victim(const char* program, const std::string& key_path) {
    std::array<int, 2> ends{};
    BOOST_REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::array<char*, 3> arguments{const_cast<char*>(program), const_cast<char*>(key_path.c_str()), nullptr};
    const int error = ::posix_spawn(&process_, program, &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    output_ = ends[0];
    BOOST_REQUIRE(error == 0);
  }
  ~Victim() {
    kill();
    ::close(output_);
  }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;
  void kill() {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
    }
    process_ = -1;
  }
  // Until kill(). It does nothing any more when this returns.
  void stop() const {
    BOOST_REQUIRE(::kill(process_, SIGSTOP) == 0);
    int status = 0;
    BOOST_REQUIRE(::waitpid(process_, &status, WUNTRACED) == process_);
    BOOST_REQUIRE(WIFSTOPPED(status));
  }
  // What it has written by now.
  void read_into(std::vector<Number>& ledger) const {
    for (pollfd state{output_, POLLIN, 0}; ::poll(&state, 1, 0) == 1;) {
      std::array<Number, 256> numbers;
      const ssize_t bytes = ::read(output_, numbers.data(), sizeof numbers);
      if (bytes <= 0) return;
      // Writes of one number are not torn.
      ledger.insert(ledger.end(), numbers.begin(),
                    numbers.begin() + bytes / static_cast<ssize_t>(sizeof(Number)));
    }
  }

 private:
  pid_t process_ = -1;
  int output_ = -1;
};

struct Killed {
  OwnedKey key = make_key();
  KeyFolder folder{key};
  // A process may take its time to start.
  exs_svc_node_options_t options{sizeof options, nullptr, 60'000 * kMs, 0, 0, nullptr, 0, 0};
  TestNode node{&options};
  exs_svc_peer_t* peer = node.peer(key);
  const char* program = std::getenv("EXS_SERVICE_PEER");
  std::vector<Number> ledger;
  Number sent = 0;
  std::uint64_t told = 0;
  int pongs = 0;

  Killed() { BOOST_REQUIRE_MESSAGE(program != nullptr, "EXS_SERVICE_PEER names the service's program"); }

  void send_what_fits(Number most) {
    while (sent < most) {
      exs_svc_item_t item{&sent, sizeof sent};
      if (exs_svc_send_short(peer, &item, 1) != 0) break;
      ++sent;
    }
  }
  void take_events() {
    node.step();
    for (const exs_svc_event_t& event : node.events) {
      if (event.type == EXS_SVC_EVT_PONG) ++pongs;
      if (event.type == EXS_SVC_EVT_PONG) continue;
      BOOST_REQUIRE(event.type == EXS_SVC_EVT_RESTART);
      told += event.count;
    }
    node.events.clear();
  }
  // All that was sent before is taken when this returns.
  void ping() {
    const int before = pongs;
    BOOST_TEST(exs_svc_ping(peer) == 0);
    for (int turn = 0; pongs == before; ++turn) {
      BOOST_REQUIRE(turn < kTurnsMax);
      take_events();
    }
  }
  // Until it has so many more.
  void serve(const Victim& victim, std::size_t more, Number most) {
    const std::size_t enough = ledger.size() + more;
    for (int turn = 0; ledger.size() < enough; ++turn) {
      BOOST_REQUIRE(turn < kTurnsMax);
      send_what_fits(most);
      take_events();
      victim.read_into(ledger);
    }
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(restart_test, Killed)

// Everything has been taken, and its sender knows: nothing is lost by a kill.
BOOST_AUTO_TEST_CASE(what_was_taken_is_not_told_of) {
  for (int i = 0; i < 3; ++i) {
    Victim victim(program, folder.path());
    ping();  // now that it is there, nothing leaves for the one before
    serve(victim, 100, sent + 100);
    ping();
  }
  BOOST_TEST(ledger.size() == sent);
  BOOST_TEST(told == 0U);
}

BOOST_AUTO_TEST_CASE(what_had_left_and_was_not_taken_is_told_of) {
  std::optional<Victim> victim(std::in_place, program, folder.path());
  serve(*victim, 20, 20);
  ping();
  victim->stop();
  send_what_fits(sent + 10);
  victim.emplace(program, folder.path());
  // Expect: of these, and of no other; and they do not arrive.
  for (int turn = 0; told == 0; ++turn) {
    BOOST_REQUIRE(turn < kTurnsMax);
    take_events();
  }
  BOOST_TEST(told == 10U);
  serve(*victim, 5, sent + 5);
  BOOST_TEST(ledger.back() + 1 == sent);
  BOOST_TEST(ledger[20] == 30U);
}

// The service may have taken messages that it has not written yet: nobody can tell of those.
BOOST_AUTO_TEST_CASE(messages_arrive_in_order_and_none_twice_whenever_it_is_killed) {
  constexpr int kKills = 12;
  std::mt19937 random(7);  // NOLINT: the same each time
  for (int i = 0; i < kKills; ++i) {
    Victim victim(program, folder.path());
    serve(victim, 1 + random() % 300, UINT32_MAX);
    victim.kill();
    victim.read_into(ledger);
  }
  const Number all = sent + 100;
  Victim last(program, folder.path());
  for (int turn = 0; ledger.empty() || ledger.back() + 1 < all; ++turn) {
    BOOST_REQUIRE(turn < kTurnsMax);
    send_what_fits(all);
    take_events();
    last.read_into(ledger);
  }
  // Expect: all that is missing was told of, or lay in a mailbox.
  for (std::size_t i = 1; i < ledger.size(); ++i) BOOST_REQUIRE(ledger[i - 1] < ledger[i]);
  constexpr std::uint64_t kUnwritten = 128;  // two turns of a node
  BOOST_TEST(all - ledger.size() <= told + kUnwritten * kKills);
  BOOST_TEST(told <= std::uint64_t{64} * kKills);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
