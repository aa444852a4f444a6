// The n-th kernel call of a connect, an accept or a transfer fails, for every n: each operation still ends in
// one event, or is refused; no descriptor stays open; and the next connection works. Each round has two
// processes, and a call of one of them fails.
// SPDX-License-Identifier: BSD-2-Clause
#define BOOST_TEST_MODULE kernel_calls
#include <boost/test/unit_test.hpp>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <new>
#include <set>
#include <string>
#include <utility>

#include "tests/support/child_process.h"
#include "tests/support/exs_fixture.h"
#include "tests/support/faulty_kernel.h"

namespace exs::test {
namespace {

constexpr unsigned kRoundLimitSeconds = 300;  // only a hang takes this long
constexpr int kStruckLimitMs = 1'500;         // of operations that the fault may hit
constexpr int kSoundLimitMs = 60'000;         // of operations after it
constexpr int kLingerMs = 500;
constexpr std::int64_t kLookNs = 20'000'000;
constexpr std::size_t kSmallBytes = 64;
constexpr std::size_t kLargeBytes = 256 * 1024;
constexpr std::uint32_t kCallsMax = 2000;
constexpr int kRoundsToAgree = 4;

enum class Phase : std::uint8_t { kConnect, kAccept, kTransfer };
enum class Side : std::uint8_t { kClient, kServer };

struct Fault {
  Phase phase;
  Side side;
  std::uint32_t call;
};

// What the two processes and their parent share.
struct Shared {
  FaultPlan plan;
  std::atomic<bool> client_is_done{false};
  std::atomic<bool> second_worked{false};                      // the connection after the fault worked
  std::array<std::atomic<std::size_t>, 2> descriptors_left{};  // by side, after exs_fini
};

class SharedMemory {
 public:
  SharedMemory()
      : shared_(new (::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                            0)) Shared) {}
  ~SharedMemory() { ::munmap(shared_, sizeof *shared_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  Shared& operator*() const { return *shared_; }
  Shared* operator->() const { return shared_; }

 private:
  Shared* shared_;
};

[[noreturn]] void give_up(const std::string& what) {
  std::fprintf(stderr, "process %d: %s\n", ::getpid(), what.c_str());
  std::_Exit(1);
}

// One end: its queue, its memory, and its open operations.
class End {
 public:
  End() { sent_.fill(7); }

  // Makes the call, and records the operation as open if the call accepts it. Returns whether it did.
  template <typename Call>
  bool post(int type, Call call) {
    const auto handle = reinterpret_cast<exs_ahandle_t>(++posts_);
    open_.insert({handle, type});
    if (call(handle) == 0) return true;
    if (errno == 0) give_up("a call failed without an errno");
    open_.erase({handle, type});
    return false;
  }

  // Takes the next event. False: none came within the time.
  bool next(exs_event_t& event, std::int64_t limit_ns) {
    const int got = exs_qwait(queue_.handle(), &event, 1, 1, limit_ns);
    if (got != 1) {
      if (got < 0 && errno != EINTR && errno != ETIMEDOUT && errno != EAGAIN)
        give_up("exs_qwait: " + errno_name(errno));
      return false;
    }
    if (event.exs_evt_type == EXS_EVT_SENDTIMEOUT || event.exs_evt_type == EXS_EVT_RECVTIMEOUT) return false;
    if (open_.erase({event.exs_evt_ahandle, event.exs_evt_type}) != 1)
      give_up(std::string("an event that nothing open accounts for: ") + exs_evtname(event.exs_evt_type));
    return true;
  }

  // Waits until all operations have ended. False: one of them with an error.
  bool await_all() {
    bool all_worked = true;
    exs_event_t event{};
    while (!open_.empty()) {
      if (next(event, kLookNs)) all_worked = all_worked && event.exs_evt_errno == 0;
    }
    return all_worked;
  }

  void limit_transfers(int socket, std::int64_t limit_ns) {
    const exs_timeout_t limit{.ns = limit_ns,
                              .flags = EXS_TIMEOUT_ONCE | EXS_TIMEOUT_CANCEL,
                              .queue = queue_.handle(),
                              .handle = nullptr};
    for (const int option : {SO_ASYNC_SEND_TIMEOUT, SO_ASYNC_RECV_TIMEOUT})
      exs_setsockopt(socket, SOL_EXS, option, &limit, sizeof limit);
  }

  bool send(int socket, std::size_t bytes) {
    return post(EXS_EVT_SEND, [&](exs_ahandle_t handle) {
      return exs_send(socket, sent_.at(), bytes, 0, queue_.handle(), handle, sent_.handle());
    });
  }
  bool receive(int socket, std::size_t bytes) {
    return post(EXS_EVT_RECV, [&](exs_ahandle_t handle) {
      return exs_recv(socket, received_.at(), bytes, 0, queue_.handle(), handle, received_.handle());
    });
  }
  [[nodiscard]] bool received_what_was_sent(std::size_t bytes) {
    return std::memcmp(sent_.at(), received_.at(), bytes) == 0;
  }

  [[nodiscard]] bool has_open() const { return !open_.empty(); }
  [[nodiscard]] exs_qhandle_t queue() const { return queue_.handle(); }

 private:
  std::uintptr_t posts_ = 0;
  std::set<std::pair<exs_ahandle_t, int>> open_;
  Queue queue_{64, EXS_WAIT_NOTIFY};
  Memory sent_{kLargeBytes}, received_{kLargeBytes};
};

// While this lives, kernel calls are counted, if the fault is for this phase and side.
class Strike {
 public:
  Strike(Shared& shared, const Fault& fault, Phase phase, Side side)
      : plan_(shared.plan), is_on_(fault.phase == phase && fault.side == side && !is_spent(plan_)) {
    if (is_on_) plan_.counts = true;
  }
  ~Strike() {
    if (is_on_) plan_.counts = false;
  }
  Strike(const Strike&) = delete;
  Strike& operator=(const Strike&) = delete;

 private:
  // A fault happens once in a phase.
  static bool is_spent(const FaultPlan& plan) { return plan.calls > 0; }

  FaultPlan& plan_;
  const bool is_on_;
};

// ---------------------------------------------------------------- the client

// Sends and receives a small and a large message.
bool exchange(End& end, int socket) {
  for (const std::size_t bytes : {kSmallBytes, kLargeBytes}) {
    const bool posted = end.receive(socket, bytes) && end.send(socket, bytes);
    if (!posted) exs_close(socket);
    if (!end.await_all() || !posted) return false;
    if (!end.received_what_was_sent(bytes)) give_up("the bytes are wrong");
  }
  return true;
}

bool connect(End& end, int socket, std::uint16_t port, int limit_ms) {
  set_option(socket, EXS_SO_CONNECT_TIMEOUT_MS, limit_ms);
  set_option(socket, EXS_SO_LINGER_MS, kLingerMs);
  sockaddr_in address = loopback(port);
  return end.post(EXS_EVT_CONNECT, [&](exs_ahandle_t handle) {
    return exs_connect(socket, generic(address), sizeof address, 0, end.queue(), handle);
  }) && end.await_all();
}

// Connects, transfers and closes. Returns whether all of it worked.
bool try_connection(End& end, Shared& shared, const Fault& fault, std::uint16_t port, int limit_ms) {
  int socket = -1;
  bool works = false;
  {
    const Strike strike(shared, fault, Phase::kConnect, Side::kClient);
    socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    works = socket >= 0 && connect(end, socket, port, limit_ms);
  }
  const Strike strike(shared, fault, Phase::kTransfer, Side::kClient);
  if (works) {
    end.limit_transfers(socket, std::int64_t{limit_ms} * 1'000'000);
    works = exchange(end, socket);
  }
  if (socket >= 0) exs_close(socket);
  end.await_all();
  return works;
}

void be_client(Shared& shared, const PortPipe& port_pipe, const Fault& fault) {
  const std::uint16_t port = port_pipe.hear();
  End end;
  try_connection(end, shared, fault, port, kStruckLimitMs);
  shared.plan.counts = false;
  shared.second_worked = try_connection(end, shared, fault, port, kSoundLimitMs);
  shared.client_is_done = true;
}

// ---------------------------------------------------------------- the server

// Returns the listening socket, and tells the client its port; -1: a call failed.
int listen(const PortPipe& port_pipe) {
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  if (socket < 0) return -1;
  set_option(socket, EXS_SO_CONNECT_TIMEOUT_MS, kStruckLimitMs);
  set_option(socket, EXS_SO_LINGER_MS, kLingerMs);
  sockaddr_in address = loopback();
  socklen_t length = sizeof address;
  if (exs_bind(socket, generic(address), sizeof address) != 0 || exs_listen(socket, 8) != 0 ||
      exs_getsockname(socket, generic(address), &length) != 0) {
    exs_close(socket);
    return -1;
  }
  port_pipe.tell(ntohs(address.sin_port));
  return socket;
}

// Returns the next connection; -1: there is none.
int accept(End& end, int listening, Shared& shared) {
  const bool posted = end.post(EXS_EVT_ACCEPT, [&](exs_ahandle_t handle) {
    return exs_accept(listening, nullptr, 0, end.queue(), handle);
  });
  exs_event_t event{};
  while (posted && !end.next(event, kLookNs)) {
    if (shared.client_is_done) return -1;
  }
  return event.exs_evt_errno == 0 && posted ? event.exs_evt_union.exs_evt_accept.exs_evt_newsocket : -1;
}

void echo(End& end, int socket) {
  end.limit_transfers(socket, std::int64_t{kStruckLimitMs} * 1'000'000);
  for (const std::size_t bytes : {kSmallBytes, kLargeBytes}) {
    if (!end.receive(socket, bytes) || !end.await_all() || !end.send(socket, bytes) || !end.await_all())
      break;
  }
}

void be_server(Shared& shared, const PortPipe& port_pipe, const Fault& fault) {
  End end;
  int listening = -1;
  int accepted = -1;
  {
    const Strike strike(shared, fault, Phase::kAccept, Side::kServer);
    listening = listen(port_pipe);
    if (listening >= 0) accepted = accept(end, listening, shared);
  }
  if (listening < 0) listening = listen(port_pipe);
  while (!shared.client_is_done) {
    if (accepted >= 0) {
      const Strike strike(shared, fault, Phase::kTransfer, Side::kServer);
      echo(end, accepted);
      exs_close(accepted);
    }
    accepted = accept(end, listening, shared);
  }
  if (accepted >= 0) exs_close(accepted);
  exs_close(listening);
  end.await_all();
}

// ---------------------------------------------------------------- rounds

// Forks a process for one side. The process that forks never uses exs.
pid_t run_apart(Shared& shared, const PortPipe& port_pipe, const Fault& fault, Side side) {
  std::cout.flush();  // or the child prints the buffer again
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::alarm(kRoundLimitSeconds);
  ::signal(SIGABRT, SIG_DFL);
  if (fault.side == side) follow(&shared.plan);
  const std::size_t before = open_descriptors();
  {
    const InitializedLibrary library;
    (side == Side::kClient ? be_client : be_server)(shared, port_pipe, fault);
  }
  shared.descriptors_left[static_cast<std::size_t>(side)] = open_descriptors() - before;
  std::exit(0);  // runs the leak check of a sanitizer
}

bool ended_well(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) != pid) continue;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string words(const Fault& fault, const FaultPlan& plan) {
  const char* const failed = plan.failed;
  return "call " + std::to_string(fault.call) + ", " + (failed == nullptr ? "none" : failed);
}

// False: the phase has no such call.
bool strike(const Fault& fault) {
  const SharedMemory shared;
  const PortPipe port_pipe;
  shared->plan.fails_at = fault.call;
  const pid_t server = run_apart(*shared, port_pipe, fault, Side::kServer);
  const pid_t client = run_apart(*shared, port_pipe, fault, Side::kClient);
  const bool client_ended_well = ended_well(client);
  shared->client_is_done = true;
  const bool server_ended_well = ended_well(server);
  BOOST_TEST_CONTEXT(words(fault, shared->plan)) {
    BOOST_TEST(client_ended_well);
    BOOST_TEST(server_ended_well);
    BOOST_TEST(shared->second_worked.load());
    BOOST_TEST(shared->descriptors_left[0].load() == 0);
    BOOST_TEST(shared->descriptors_left[1].load() == 0);
  }
  return shared->plan.failed != nullptr;
}

// How many calls a phase has differs from round to round, and there is no such phase at all when a busy machine lets the
// connection's time run out. So some more rounds must agree that it is over.
bool strike_within(int rounds, const Fault& fault) {
  for (int i = 0; i < rounds; ++i) {
    if (strike(fault)) return true;
  }
  return false;
}

void strike_every_call(Phase phase, Side side) {
  std::uint32_t call = 0;
  while (call < kCallsMax && strike_within(kRoundsToAgree, {phase, side, call})) ++call;
  BOOST_TEST(call > 3);  // else nothing was tested
  BOOST_TEST(call < kCallsMax);
  BOOST_TEST_MESSAGE(call << " calls, one after the other");
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_connect_survives_each) {
  strike_every_call(Phase::kConnect, Side::kClient);
}

BOOST_AUTO_TEST_CASE(an_accept_survives_each) {
  strike_every_call(Phase::kAccept, Side::kServer);
}

BOOST_AUTO_TEST_CASE(transfers_survive_each_of_the_connecting_end) {
  strike_every_call(Phase::kTransfer, Side::kClient);
}

BOOST_AUTO_TEST_CASE(transfers_survive_each_of_the_accepting_end) {
  strike_every_call(Phase::kTransfer, Side::kServer);
}

}  // namespace exs::test
