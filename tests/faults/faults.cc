// What happens to connections and their operations when a peer or the network fails. Two processes have
// transfers of every kind under way; then the peer is killed or stopped, the interface of the device is set
// down, its address is deleted, or the device is removed. All but the first two cases need EXS_TEST_ADDRESS,
// the address of an RDMA device of a guest (tests/rig/run).
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "base/clock.h"
#include "event/engine/shard.h"
#include "src/provider/verbs/survey.h"
#include "tests/faults/load.h"

namespace exs::test {
namespace {

constexpr std::uint64_t kTransfers = 10;
constexpr unsigned kCaseLimitSeconds = 600;

volatile std::sig_atomic_t told_to_end = 0;
void note_end(int) {
  told_to_end = 1;
}

// ---------------------------------------------------------------- processes

// Carries values of fixed size from one process to another.
class Pipe {
 public:
  Pipe() {
    if (::pipe(ends_.data()) != 0) std::abort();
  }
  ~Pipe() {
    for (const int end : ends_) ::close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  template <typename T>
  void tell(const T& value) const {
    if (::write(ends_[1], &value, sizeof value) != static_cast<ssize_t>(sizeof value)) std::abort();
  }
  template <typename T>
  [[nodiscard]] T hear() const {
    T value{};
    ssize_t got = -1;
    do {
      got = ::read(ends_[0], &value, sizeof value);
    } while (got == -1 && errno == EINTR);
    if (got != static_cast<ssize_t>(sizeof value)) std::abort();
    return value;
  }

 private:
  std::array<int, 2> ends_{};
};

// Forked by a process that never uses exs, because the state of RDMA libraries does not survive a fork.
class Process {
 public:
  explicit Process(const std::function<int()>& body) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::alarm(kCaseLimitSeconds);
    ::signal(SIGABRT, SIG_DFL);  // or Boost.Test continues with the next case in the child
    ::_exit(body());
  }
  ~Process() {
    ::kill(pid_, SIGKILL);
    wait();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Returns the status as waitpid does.
  int wait() {
    while (!ended_ && ::waitpid(pid_, &status_, 0) != pid_) {
    }
    ended_ = true;
    return status_;
  }

 private:
  const pid_t pid_;
  bool ended_ = false;
  int status_ = 0;
};

// ---------------------------------------------------------------- what must hold

// The checks of one process; prints those that fail.
class Verdict {
 public:
  explicit Verdict(std::string who) : who_(std::move(who)) {}
  void expect(bool holds, const std::string& what) {
    if (holds) return;
    is_good_ = false;
    std::fprintf(stderr, "%s: not so: %s\n", who_.c_str(), what.c_str());
  }
  [[nodiscard]] bool is_good() const { return is_good_; }

 private:
  const std::string who_;
  bool is_good_ = true;
};

// Checks that after each round no more descriptors are open than after the first. Some are closed a moment
// after the event of the close.
class Descriptors {
 public:
  void expect_back(Load& load, Verdict& verdict) {
    if (first_ == 0) {
      first_ = settled(load);
      return;
    }
    const std::uint64_t deadline_ns = monotonic_ns() + Load::kSlackNs;
    while (open_descriptors() > first_ && monotonic_ns() < deadline_ns) load.drain(20 * kNsPerMs);
    verdict.expect(open_descriptors() <= first_, std::to_string(open_descriptors()) +
                                                     " descriptors are open, " + std::to_string(first_) +
                                                     " were before");
  }

 private:
  // The number after the first round is not known, so this waits until it no longer changes.
  static std::size_t settled(Load& load) {
    constexpr int kRepeats = 10;
    std::size_t count = open_descriptors();
    for (int same = 0; same < kRepeats;) {
      load.drain(20 * kNsPerMs);
      const std::size_t now = open_descriptors();
      same = now == count ? same + 1 : 0;
      count = now;
    }
    return count;
  }

  std::size_t first_ = 0;
};

// ---------------------------------------------------------------- the server

// What the server tells the client.
struct Server {
  Pipe ports;
  Pipe rounds;  // a char after each round
};

// Repeats until it is told to end: accept all connections, transfer until all are broken, wait until all
// operations have ended, close.
int serve(const Server& server, std::uint64_t bound_ns) {
  struct sigaction action {};
  action.sa_handler = note_end;
  ::sigaction(SIGTERM, &action, nullptr);
  Verdict verdict("server");
  const InitializedLibrary library;
  Load load(Load::Side::kServer, bound_ns);
  Descriptors descriptors;
  server.ports.tell(load.listen());
  while (load.accept_all([] { return told_to_end != 0; })) {
    load.start();
    verdict.expect(load.await_breaks(false, Load::kBoundNs), "every connection ends");
    load.stop_posting();
    verdict.expect(load.await_endings(Load::kInTimeNs), "every operation ends in time");
    load.close_all();
    verdict.expect(load.await_endings(Load::kBoundNs), "every close ends");
    descriptors.expect_back(load, verdict);
    if (!verdict.is_good()) std::fprintf(stderr, "%s\n", load.report().c_str());
    server.rounds.tell('.');
  }
  verdict.expect(load.operations().violations() == 0, "each operation ends in one event");
  verdict.expect(load.data_were_right(), "what arrives is what was sent");
  return verdict.is_good() ? 0 : 1;
}

// ---------------------------------------------------------------- the client

struct Fault {
  std::function<void(pid_t server)> strike;
  std::function<void(pid_t server)> repair;
  bool server_dies = false;
  // The peer is stopped, so operations without a time limit stay open until the close.
  bool is_silence = false;
  // The repair comes after both ends have ended, and new ones replace them.
  bool outlives_ends = false;
};

class Client {
 public:
  explicit Client(const Fault& fault) : fault_(fault) {}

  int run(const Server& first, pid_t first_pid, const Server& second) {
    const auto ports = first.ports.hear<Load::Ports>();
    const auto second_ports = second.ports.hear<Load::Ports>();
    const bool to_the_end =
        quiet_round(ports, first, "before") && struck_round(ports, first, first_pid) &&
        (fault_.outlives_ends || (fault_.server_dies ? quiet_round(second_ports, second, "after")
                                                     : quiet_round(ports, first, "after")));
    verdict_.expect(to_the_end, "connections can be made");
    verdict_.expect(load_.operations().violations() == 0, "each operation ends in one event");
    verdict_.expect(load_.data_were_right(), "what arrives is what was sent");
    return verdict_.is_good() ? 0 : 1;
  }

 private:
  // False: no connections, so the round cannot continue.
  bool begin(const Load::Ports& ports) {
    load_.connect_all(ports);
    verdict_.expect(load_.is_whole(), "every connection comes up");
    if (!load_.is_whole()) return false;
    load_.start();
    verdict_.expect(load_.run_for(kTransfers) && load_.is_whole(), "every connection carries data");
    if (!load_.is_whole()) std::fprintf(stderr, "%s\n", load_.report().c_str());
    return true;
  }

  void end() {
    load_.close_all();
    verdict_.expect(load_.await_endings(Load::kBoundNs), "every close ends");
    descriptors_.expect_back(load_, verdict_);
    std::fprintf(stderr, "%s\n", load_.report().c_str());
  }

  bool quiet_round(const Load::Ports& ports, const Server& server, const char* when) {
    std::fprintf(stderr, "%s: ", when);
    if (!begin(ports)) return false;
    end();
    (void)server.rounds.hear<char>();
    return true;
  }

  bool struck_round(const Load::Ports& ports, const Server& server, pid_t server_pid) {
    if (!begin(ports)) return false;
    const std::uint64_t begun_ns = monotonic_ns();
    fault_.strike(server_pid);
    verdict_.expect(load_.await_breaks(fault_.is_silence, Load::kInTimeNs), "every connection has an error");
    load_.stop_posting();
    verdict_.expect(load_.await_open(fault_.is_silence ? Load::kOwned : 0, Load::kInTimeNs),
                    "every operation ends in time");
    std::fprintf(stderr, "struck, all ended after %llu ms: ",
                 static_cast<unsigned long long>((monotonic_ns() - begun_ns) / kNsPerMs));
    end();
    verdict_.expect(load_.owned_failed(), "a persistent operation ends with an error");
    if (!fault_.outlives_ends) fault_.repair(server_pid);
    if (!fault_.server_dies) (void)server.rounds.hear<char>();
    return true;
  }

  const Fault& fault_;
  Verdict verdict_{"client"};
  const InitializedLibrary library_;
  Load load_{Load::Side::kClient, Load::kInTimeNs};
  Descriptors descriptors_;
};

void check_ends(const Fault& fault) {
  const Server first;
  const Server second;
  // A stopped process cannot be timed, so its operations get the longer bound.
  const std::uint64_t bound_ns = fault.is_silence ? Load::kBoundNs : Load::kInTimeNs;
  Process serving([&] { return serve(first, bound_ns); });
  Process spare([&] { return serve(second, bound_ns); });
  Process calling([&] { return Client(fault).run(first, serving.pid(), second); });
  const int client_status = calling.wait();
  BOOST_TEST_REQUIRE((WIFEXITED(client_status) && WEXITSTATUS(client_status) == 0),
                     "client: " << client_status);
  for (Process* server : {&serving, &spare}) {
    ::kill(server->pid(), SIGTERM);
    const int status = server->wait();
    if (server == &serving && fault.server_dies) continue;
    BOOST_TEST((WIFEXITED(status) && WEXITSTATUS(status) == 0), "server: " << status);
  }
}

void check(const Fault& fault) {
  check_ends(fault);
  if (!fault.outlives_ends) return;
  fault.repair(0);
  Fault another = fault;
  another.strike = [](pid_t server) { ::kill(server, SIGKILL); };
  another.repair = [](pid_t) {};
  another.server_dies = true;
  another.outlives_ends = false;
  check_ends(another);
}

// ---------------------------------------------------------------- the device

bool is_in_guest() {
  return std::getenv("EXS_TEST_ADDRESS") != nullptr;
}

void run_command(const std::string& command) {
  const int status = std::system(command.c_str());
  if (status == 0) return;
  std::fprintf(stderr, "\"%s\" ended with %d\n", command.c_str(), status);
  std::abort();
}

// The device with the address of the test.
struct Device {
  std::string name;
  std::string interface;
};

Device device_of_test() {
  sockaddr_in address = loopback();
  const verbs::Survey survey;
  const auto carriers = survey.carriers_of(*generic(address));
  if (carriers.empty()) std::abort();
  return {carriers.front()->name, carriers.front()->ports.front().interfaces.front().name};
}

std::string address_of_test() {
  char text[INET_ADDRSTRLEN];
  const sockaddr_in address = loopback();
  return ::inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
}

// When rxe (Linux 6.1) cannot send a disconnect, its general service queue pair stays in the error state, and
// its connection manager works no more; rping fails likewise. Every break causes this, and only a new device
// helps.
Fault fault_of(const Device& device, const std::string& strike, const std::string& repair) {
  Fault fault;
  fault.strike = [=](pid_t) { run_command(strike); };
  fault.outlives_ends = device.name.rfind("rxe", 0) == 0;
  fault.repair = [=](pid_t) {
    run_command(repair);
    if (device.name.rfind("rxe", 0) != 0) return;
    run_command("rdma link delete " + device.name);
    run_command("rdma link add " + device.name + " type rxe netdev " + device.interface);
  };
  return fault;
}

// This test breaks connections all the time, so the log is off.
struct QuietLog {
  QuietLog() { ::setenv("EXS_LOG", "off", 0); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(faults, *boost::unit_test::fixture<QuietLog>())

BOOST_AUTO_TEST_CASE(the_peer_is_killed) {
  Fault fault;
  fault.strike = [](pid_t server) { ::kill(server, SIGKILL); };
  fault.repair = [](pid_t) {};
  fault.server_dies = true;
  check(fault);
}

BOOST_AUTO_TEST_CASE(the_peer_is_stopped) {
  Fault fault;
  fault.strike = [](pid_t server) { ::kill(server, SIGSTOP); };
  fault.repair = [](pid_t server) { ::kill(server, SIGCONT); };
  fault.is_silence = true;
  check(fault);
}

BOOST_AUTO_TEST_CASE(the_interface_goes_down) {
  if (!is_in_guest()) return;
  const Device device = device_of_test();
  check(fault_of(device, "ip link set " + device.interface + " down",
                 "ip link set " + device.interface + " up"));
}

BOOST_AUTO_TEST_CASE(the_address_is_deleted) {
  if (!is_in_guest()) return;
  const Device device = device_of_test();
  const std::string place = address_of_test() + "/24 dev " + device.interface;
  check(fault_of(device, "ip address del " + place, "ip address add " + place));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
