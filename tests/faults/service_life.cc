// SPDX-License-Identifier: BSD-2-Clause
#include "tests/faults/service_life.h"

#include <boost/test/unit_test.hpp>

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>

#include "base/socket_address.h"
#include "exs/service.h"
#include "tests/support/child_process.h"
#include "tests/support/exs_fixture.h"
#include "tools/directory/server.h"

namespace exs::test {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr int kTurnsMax = 60'000;       // of a millisecond at most: only a hang takes as long
constexpr int kRoundLimitMs = 120'000;  // likewise
constexpr int kLookMs = 20;
constexpr int kLooksMax = 250;
constexpr std::uint32_t kRoundsAtOnce = 8;
constexpr std::uint32_t kRoundsMax = 4'000;

void violate(LifeReport& report, const std::string& what) {
  if (report.violation[0] == '\0')
    std::snprintf(report.violation, sizeof report.violation, "%s", what.c_str());
}

// One life. Where something may fail, a refused call ends it early; where nothing may, that is a violation.
class Life {
 public:
  Life(Way way, const std::string& directory, bool may_fail, LifeReport& report)
      : way_(way), directory_(directory), may_fail_(may_fail), report_(report) {}
  ~Life() {
    for (exs_svc_node_t* const node : nodes_) exs_svc_node_close(node);
    exs_svc_key_free(key_);
  }
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  void run() {
    if (!open()) return;
    if (!send_and_ask()) return;
    move();
  }

 private:
  bool open() {
    key_ = exs_svc_key_create();
    if (!is_done(key_ != nullptr, "key_create")) return false;
    for (exs_svc_node_t*& node : nodes_) {
      const exs_svc_node_options_t options = options_of();
      node = exs_svc_node_open(&options);
      if (!is_done(node != nullptr, "node_open")) return false;
    }
    exs_svc_id_t id{};
    if (!is_done(exs_svc_key_id(key_, &id) == 0, "key_id")) return false;
    service_ = exs_svc_open(nodes_[1], key_, nullptr, nullptr);
    if (!is_done(service_ != nullptr, "open")) return false;
    peer_ = exs_svc_peer_open(nodes_[0], nullptr, &id, nullptr, nullptr);
    if (!is_done(peer_ != nullptr, "peer_open")) return false;
    return is_done(exs_svc_peer_trust(peer_, EXS_SVC_TRUST_WRITE, 1 << 20) == 0, "peer_trust");
  }

  [[nodiscard]] exs_svc_node_options_t options_of() const {
    exs_svc_node_options_t options{};
    options.struct_bytes = sizeof options;
    options.listen = "127.0.0.1";
    options.multicast = "off";
    options.find_ns = (may_fail_ ? 2'000 : 60'000) * kMs;
    options.find_by = way_ == Way::kHost ? EXS_SVC_BY_HOST : EXS_SVC_BY_DIRECTORY;
    options.directory = way_ == Way::kHost ? nullptr : directory_.c_str();
    return options;
  }

  bool send_and_ask() {
    const exs_svc_item_t item{const_cast<char*>("hello"), 5};
    std::array<char, 20'000> long_item{};
    const exs_iovec_t piece{long_item.data(), long_item.size(), EXS_MHANDLE_UNREGISTERED, 0};
    if (!is_done(exs_svc_send_short(peer_, &item, 1) == 0, "send_short")) return false;
    if (!is_done(exs_svc_send_long(peer_, &item, 1, &piece, 1, nullptr) == 0, "send_long")) return false;
    const bool is_sent = await(0, EXS_SVC_EVT_SENT);
    const bool is_asked =
        is_done(exs_svc_request(peer_, &item, 1, &piece, 1, nullptr, nullptr) == 0, "request");
    const bool is_answered = is_asked && await(0, EXS_SVC_EVT_REPLY);
    void* const place = exs_svc_return_alloc(peer_, long_item.size());
    bool is_returned = is_done(place != nullptr, "return_alloc");
    if (is_returned) {
      exs_svc_request_options_t options{};
      options.struct_bytes = sizeof options;
      const exs_iovec_t into{place, long_item.size(), EXS_MHANDLE_UNREGISTERED, 0};
      options.returns_count = 1;
      options.returns = &into;
      is_returned =
          is_done(exs_svc_request(peer_, &item, 1, nullptr, 0, &options, nullptr) == 0, "request") &&
          await(0, EXS_SVC_EVT_REPLY);
    }
    const bool is_pinged = is_done(exs_svc_ping(peer_) == 0, "ping");
    if (is_pinged) await_either(0, EXS_SVC_EVT_PONG, EXS_SVC_EVT_LOST);
    return is_sent && is_answered && is_returned && is_pinged;
  }

  void move() {
    exs_svc_t* const adopter = exs_svc_adopt(nodes_[0], key_, nullptr, nullptr);
    if (!is_done(adopter != nullptr, "adopt")) return;
    if (!is_done(exs_svc_move(service_, nullptr, nullptr) == 0, "move")) return;
    if (await(1, EXS_SVC_EVT_MOVED)) exs_svc_close(service_);
  }

  // True: the call has worked. A call that fails has an errno value and a text.
  bool is_done(bool has_worked, const char* call) {
    const int error = errno;
    if (has_worked) return true;
    if (!may_fail_) violate(report_, std::string(call) + " fails afterwards: " + exs_svc_errtext());
    if (error == 0 || *exs_svc_errtext() == '\0')
      violate(report_, std::string(call) + " fails without a reason");
    return false;
  }

  // Turns of both nodes until this node has an event of the type; returns whether it has no error. Others are answered and released.
  bool await(std::size_t at, int type) { return await_either(at, type, type); }
  bool await_either(std::size_t at, int type, int other) {
    for (int turn = 0; turn < kTurnsMax; ++turn) {
      for (std::size_t node = 0; node < nodes_.size(); ++node) {
        exs_svc_event_t event{};
        const int count = exs_svc_wait(nodes_[node], &event, 1, node == at ? kMs : 0);
        if (count < 0 && !may_fail_ && errno != EINTR) violate(report_, "wait fails afterwards");
        if (count < 1) continue;
        answer(event);
        if (node == at && (event.type == type || event.type == other)) return is_done_well(event);
      }
    }
    violate(report_, "no event of type " + std::to_string(type));
    return false;
  }

  void answer(const exs_svc_event_t& event) {
    if (event.type == EXS_SVC_EVT_REQUEST) {
      const exs_svc_item_t item{const_cast<char*>("yes"), 3};
      static_cast<void>(exs_svc_reply(event.message, 0, &item, 1, nullptr, 0, 0, nullptr));
    }
    exs_svc_release(event.message);
  }

  bool is_done_well(const exs_svc_event_t& event) {
    if (event.error == 0) return true;
    if (!may_fail_)
      violate(report_, "event " + std::to_string(event.type) + " has error " + std::to_string(event.error) +
                           " afterwards");
    return false;
  }

  const Way way_;
  const std::string& directory_;
  const bool may_fail_;
  LifeReport& report_;
  exs_svc_key_t* key_ = nullptr;
  std::array<exs_svc_node_t*, 2> nodes_{};
  exs_svc_t* service_ = nullptr;
  exs_svc_peer_t* peer_ = nullptr;
};

// A signal would not do: threads that wait for events hold it back.
bool ends_in_time(pid_t pid) {
  const auto descriptor = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  pollfd asked{descriptor, POLLIN, 0};
  const bool has_ended = ::poll(&asked, 1, kRoundLimitMs) == 1;
  ::close(descriptor);
  return has_ended;
}

// Empty: it ended well.
std::string end_of(pid_t pid, const LifeReport& report) {
  const bool hangs = !ends_in_time(pid);
  if (hangs) ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) != pid) continue;
  if (hangs) return "a hang";
  if (report.violation[0] != '\0') return report.violation;
  if (WIFSIGNALED(status)) return ::strsignal(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : "exit status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

DirectoryProcess::DirectoryProcess() {
  const PortPipe ports;
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    svc::DirectoryServer server(*parse_address("127.0.0.1:0"), "", false);
    ports.tell(port_number(server.address()));
    server.run();
  }
  address_ = "127.0.0.1:" + std::to_string(ports.hear());
}

DirectoryProcess::~DirectoryProcess() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void live_twice(Way way, const std::string& directory, const Faults& faults, LifeReport& report) {
  const std::size_t before = open_descriptors();
  faults.begin();
  Life(way, directory, true, report).run();
  report.failed = faults.end();
  Life(way, directory, false, report).run();
  await_no_engines();
  // Some are closed a moment after the event of the close.
  for (int look = 0; look < kLooksMax && open_descriptors() != before; ++look) ::poll(nullptr, 0, kLookMs);
  if (open_descriptors() != before)
    violate(report, std::to_string(open_descriptors()) + " descriptors are open, " + std::to_string(before) +
                        " were before");
}

namespace {

// The round that the command asks for, in this process, for a debugger: -- --round 17.
std::optional<std::uint32_t> asked_round() {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  if (suite.argc != 3 || std::string(suite.argv[1]) != "--round") return {};
  return static_cast<std::uint32_t>(std::strtoul(suite.argv[2], nullptr, 10));
}

}  // namespace

void run_rounds(const char* name, const std::function<void(std::uint32_t, LifeReport&)>& round) {
  if (const std::optional<std::uint32_t> only = asked_round(); only) {
    LifeReport report;
    round(*only, report);
    BOOST_TEST(report.violation[0] == '\0', report.violation);
    return;
  }
  constexpr std::size_t kBytes = kRoundsAtOnce * sizeof(LifeReport);
  void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  BOOST_REQUIRE(memory != MAP_FAILED);
  auto* const reports = new (memory) LifeReport[kRoundsAtOnce];
  std::uint32_t first = 0;
  for (bool some_failed = true; some_failed && first < kRoundsMax; first += kRoundsAtOnce) {
    std::array<pid_t, kRoundsAtOnce> rounds{};
    for (std::uint32_t i = 0; i < kRoundsAtOnce; ++i) {
      reports[i] = {};
      std::fflush(nullptr);
      rounds[i] = ::fork();
      if (rounds[i] != 0) continue;
      for (const int fault : {SIGABRT, SIGSEGV, SIGBUS}) ::signal(fault, SIG_DFL);
      round(first + i, reports[i]);
      std::exit(0);
    }
    some_failed = false;
    for (std::uint32_t i = 0; i < kRoundsAtOnce; ++i) {
      const std::string wrong = end_of(rounds[i], reports[i]);
      if (!wrong.empty()) BOOST_ERROR(name << ", round " << first + i << ": " << wrong);
      some_failed = some_failed || reports[i].failed || !wrong.empty();
    }
  }
  BOOST_TEST_MESSAGE(name << ": some " << first << ", one after the other");
  BOOST_TEST(first > kRoundsAtOnce);  // else nothing was tested
  BOOST_TEST(first < kRoundsMax);
  ::munmap(memory, kBytes);
}

}  // namespace exs::test
