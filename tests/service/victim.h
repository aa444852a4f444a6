// A service in a process of its own, which a test kills.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "tests/service/world.h"

namespace exs::svc::test {

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
  // `role`: of one that may move; see peer.cc.
  Victim(const char* program, const std::string& key_path, const char* role = nullptr) {
    std::array<int, 2> ends{};
    std::array<int, 2> orders{};
    BOOST_REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    BOOST_REQUIRE(::pipe2(orders.data(), O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, orders[0], STDIN_FILENO);
    std::array<char*, 4> arguments{const_cast<char*>(program), const_cast<char*>(key_path.c_str()),
                                   const_cast<char*>(role), nullptr};
    const int error = ::posix_spawn(&process_, program, &actions, nullptr, arguments.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    ::close(orders[0]);
    output_ = ends[0];
    orders_ = orders[1];
    BOOST_REQUIRE(error == 0);
  }
  ~Victim() {
    kill();
    ::close(output_);
    ::close(orders_);
  }
  // To one that may move (mover.cc). All of it comes at once.
  void order(const std::string& orders) const {
    BOOST_REQUIRE(::write(orders_, orders.data(), orders.size()) == static_cast<ssize_t>(orders.size()));
  }
  [[nodiscard]] bool is_dead() const {
    siginfo_t state{};
    BOOST_REQUIRE(::waitid(P_PID, static_cast<id_t>(process_), &state, WEXITED | WNOHANG | WNOWAIT) == 0);
    return state.si_pid == process_;
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
  // Until kill() or go_on(). It does nothing any more when this returns.
  void stop() const {
    BOOST_REQUIRE(::kill(process_, SIGSTOP) == 0);
    int status = 0;
    BOOST_REQUIRE(::waitpid(process_, &status, WUNTRACED) == process_);
    BOOST_REQUIRE(WIFSTOPPED(status));
  }
  void go_on() const { BOOST_REQUIRE(::kill(process_, SIGCONT) == 0); }
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
  int orders_ = -1;
};

// With `-- OPTION N` behind the test's own options, N.
inline int wanted(std::string_view option, int otherwise) {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  for (int i = 1; i + 1 < suite.argc; ++i)
    if (suite.argv[i] == option) return std::atoi(suite.argv[i + 1]);
  return otherwise;
}
inline int kills_wanted(int otherwise) {
  return wanted("--kills", otherwise);
}

// A process may take its time to start.
inline exs_svc_node_options_t patient_options() {
  exs_svc_node_options_t options{};
  options.struct_bytes = sizeof options;
  options.find_ns = 60'000 * kMs;
  return options;
}

// A sender to a service that may be killed.
struct Survivor {
  OwnedKey key = make_key();
  KeyFolder folder{key};
  const exs_svc_node_options_t options = patient_options();
  TestNode node{&options};
  exs_svc_peer_t* peer = node.peer(key);
  const char* program = std::getenv("EXS_SERVICE_PEER");
  std::vector<Number> ledger;

  Survivor() { BOOST_REQUIRE_MESSAGE(program != nullptr, "EXS_SERVICE_PEER names the service's program"); }
};

}  // namespace exs::svc::test
