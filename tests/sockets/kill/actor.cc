// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sockets/kill/actor.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/sockets/twin/stream.h"

namespace killing {
namespace {

constexpr unsigned kLifeSeconds = 30;
constexpr int kPollMs = 1000;
constexpr int kHangUpMs = 300;
constexpr int kSleepMs = 1;
constexpr rlim_t kFileBytes = rlim_t{64} << 20U;  // enough for a ring, too little for a family

std::atomic<std::uint32_t> g_pipe_signals{0};

class Actor {
 public:
  explicit Actor(Who who) : who_(who), notes_(map_notes() + static_cast<std::size_t>(who)) {}

  [[noreturn]] void run() {
    begin();
    Command command = {};
    while (read(kControl, &command, sizeof command) == static_cast<ssize_t>(sizeof command)) {
      const Answer answer = obey(command);
      if (is_new_) {
        is_new_ = false;
        continue;
      }
      tell(answer);
    }
    exit(0);
  }
  [[noreturn]] void go_on(const Command& command, int connection) {
    connection_ = connection;
    begin();
    tell(run_step(command));
    run();
  }

 private:
  void begin() {
    alarm(kLifeSeconds);
    // Done here, so that no step has to do it.
    twin::fill_from_stream(own_, static_cast<std::uint64_t>(who_), 0);
    struct sigaction action = {};
    action.sa_handler = [](int) { g_pipe_signals.fetch_add(1); };
    sigaction(SIGPIPE, &action, nullptr);
  }
  static void tell(const Answer& answer) {
    if (write(kControl, &answer, sizeof answer) != static_cast<ssize_t>(sizeof answer)) _exit(3);
  }

  Answer obey(const Command& command) {
    if (command.op != Op::kStep) return perform(command);
    raise(SIGSTOP);  // the tracer starts here
    return run_step(command);
  }
  Answer run_step(Command command) {
    Answer answer = {};
    const std::vector<Cue>& step = scripts()[command.script].step;
    for (std::uint32_t i = command.first; i < step.size(); ++i) {
      Command call = command;
      call.op = step[i].op;
      call.bytes = step[i].bytes;
      call.first = i + 1;
      notes_->phase.store(2 * i + 1);
      answer = perform(call);
      if (is_new_) return answer;
      notes_->phase.store(2 * i + 2);
    }
    return answer;
  }

  Answer perform(const Command& command) {
    const std::uint32_t before = g_pipe_signals.load();
    Answer answer = {};
    answer.result = call(command, answer);
    answer.error = answer.result < 0 ? errno : 0;
    answer.signals = g_pipe_signals.load() - before;
    return answer;
  }

  std::int64_t call(const Command& command, Answer& answer) {
    switch (command.op) {
      case Op::kListen: return open_listener();
      case Op::kConnect: return connect_to(command.port);
      case Op::kAccept: return accept_one();
      case Op::kSend: return send_bytes(command.bytes);
      case Op::kReceive: return receive_bytes(command.bytes, MSG_WAITALL);
      case Op::kTryReceive: return receive_all(MSG_DONTWAIT);
      case Op::kDrain: return receive_all(0);
      case Op::kPoll: return ask(POLLIN | POLLOUT | POLLRDHUP, kPollMs, answer);
      case Op::kAwaitHangUp: return ask(0, kHangUpMs, answer);
      case Op::kSettle: return settle();
      case Op::kWatch: return watch();
      case Op::kAskSet: return ask_set(0);
      case Op::kSleepInSet: return ask_set(kSleepMs);
      case Op::kTrustSet: return trust_set();
      case Op::kLimitFiles: return limit_files();
      case Op::kGiveUpRing: return give_up_ring();
      case Op::kShutdown: return shutdown(connection_, SHUT_WR);
      case Op::kClose: return close(connection_);
      case Op::kFork: return fork_child(answer);
      case Op::kExec: return execute(command);
      case Op::kExit: exit(0);
      case Op::kEnd: return end();
      case Op::kStep: break;
    }
    return -1;
  }

  std::int64_t open_listener() {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in name = {};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof name;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&name), length) != 0 || listen(listener_, 1) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&name), &length) != 0)
      return -1;
    notes_->port.store(ntohs(name.sin_port));
    return 0;
  }
  std::int64_t connect_to(std::uint32_t port) {
    connection_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in name = {};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    name.sin_port = htons(static_cast<std::uint16_t>(port));
    const int result = connect(connection_, reinterpret_cast<sockaddr*>(&name), sizeof name);
    socklen_t length = sizeof name;
    getsockname(connection_, reinterpret_cast<sockaddr*>(&name), &length);
    notes_->port.store(ntohs(name.sin_port));
    send_at_once();
    return result;
  }
  std::int64_t accept_one() {
    connection_ = accept(listener_, nullptr, nullptr);
    send_at_once();
    return connection_;
  }
  // Makes each send reach the peer before the call returns.
  void send_at_once() const {
    const int on = 1;
    setsockopt(connection_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }

  std::int64_t send_bytes(std::size_t count) {
    notes_->to_send.store(notes_->sent.load() + count);
    const ssize_t sent = send(connection_, own_.data() + notes_->sent.load(), count, 0);
    if (sent > 0) notes_->sent.fetch_add(static_cast<std::uint64_t>(sent));
    notes_->to_send.store(notes_->sent.load());
    return sent;
  }
  std::int64_t receive_bytes(std::size_t count, int flags) {
    const std::uint64_t before = notes_->received.load();
    count = std::min<std::size_t>(count, Notes::kBytesMax - before);
    notes_->to_receive.store(before + count);
    const ssize_t got = recv(connection_, notes_->bytes + before, count, flags);
    if (got > 0) notes_->received.store(before + static_cast<std::uint64_t>(got));
    notes_->to_receive.store(notes_->received.load());
    return got;
  }
  // Returns the result that ended it.
  std::int64_t receive_all(int flags) {
    constexpr std::size_t kPiece = 3000;
    std::int64_t got = 0;
    do got = receive_bytes(kPiece, flags);
    while (got > 0);
    return got;
  }

  std::int64_t ask(int events, int limit_ms, Answer& answer) const {
    pollfd entry = {connection_, static_cast<short>(events), 0};
    const int result = poll(&entry, 1, limit_ms);
    answer.events = entry.revents;
    return result;
  }
  std::int64_t settle() const {
    pollfd entry = {connection_, POLLRDHUP, 0};
    const timespec limit = {kPollMs / 1000, 0};
    return syscall(SYS_ppoll, &entry, 1, &limit, nullptr, 0);
  }
  std::int64_t end() const {
    if (listener_ >= 0) close(listener_);
    if (set_ >= 0) close(set_);
    return 0;
  }
  std::int64_t watch() {
    set_ = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event = {};
    event.events = EPOLLIN;
    return epoll_ctl(set_, EPOLL_CTL_ADD, connection_, &event);
  }
  std::int64_t ask_set(int limit_ms) const {
    epoll_event event = {};
    return epoll_wait(set_, &event, 1, limit_ms);
  }
  std::int64_t trust_set() const {
    char byte = 0;
    return ask_set(0) == 1 && recv(connection_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN ? 1
                                                                                                          : 0;
  }
  static std::int64_t limit_files() {
    const rlimit limit = {kFileBytes, kFileBytes};
    return setrlimit(RLIMIT_FSIZE, &limit);
  }
  std::int64_t give_up_ring() const {
    const int on = 1;
    return setsockopt(connection_, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on);
  }

  std::int64_t fork_child(Answer& answer) {
    const pid_t child = fork();
    answer.pid = child;
    if (child != 0) {
      close(kChildControl);
      return child < 0 ? -1 : 0;
    }
    dup2(kChildControl, kControl);
    close(kChildControl);
    if (listener_ >= 0) close(listener_);
    listener_ = -1;
    who_ = Who::kChild;
    notes_ = map_notes() + static_cast<std::size_t>(who_);
    is_new_ = true;
    begin();
    return 0;
  }
  std::int64_t execute(const Command& command) const {
    std::array<std::string, 5> words = {"sockets-kill", "--successor", std::to_string(command.script),
                                        std::to_string(command.first), std::to_string(connection_)};
    std::array<char*, 6> arguments = {};
    for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
    return execve("/proc/self/exe", arguments.data(), environ);
  }

  Who who_;
  Notes* notes_;
  int listener_ = -1;
  int connection_ = -1;
  int set_ = -1;
  // All bytes that it may send.
  std::vector<unsigned char> own_ = std::vector<unsigned char>(Notes::kBytesMax);
  bool is_new_ = false;  // a forked child, whose parent answers
};

}  // namespace

Notes* map_notes() {
  static void* const place =
      mmap(nullptr, kActors * sizeof(Notes), PROT_READ | PROT_WRITE, MAP_SHARED, kNotes, 0);
  return static_cast<Notes*>(place);
}

void act(Who who) {
  Actor(who).run();
}

void act_on(char** words) {
  Command command = {};
  command.op = Op::kStep;
  command.script = static_cast<std::uint32_t>(std::atoi(words[0]));
  command.first = static_cast<std::uint32_t>(std::atoi(words[1]));
  map_notes()->phase.store(2 * command.first);
  Actor(Who::kVictim).go_on(command, std::atoi(words[2]));
}

}  // namespace killing
