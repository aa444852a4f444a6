// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sockets/twin/actor.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/sockets/twin/call.h"
#include "tests/sockets/twin/calling_thread.h"
#include "tests/sockets/twin/protocol.h"
#include "tests/sockets/twin/signals.h"

namespace twin {
namespace {

// SIGALRM ends an actor that hangs after its controller has ended.
constexpr unsigned kLifeSeconds = 300;
constexpr int kAttentionMs = 1;
constexpr int kFirstAttended = 3;
constexpr int kAttended = kDupBase + 10;
constexpr const char* kSelf = "/proc/self/exe";

class Actor {
 public:
  Actor(int control, int child_control) : control_(control), child_control_(child_control) {}

  int run() {
    begin();
    Command command = {};
    while (next(command)) {
      const Answer answer = obey(command);
      if (is_silent_) {
        is_silent_ = false;
        continue;
      }
      tell(answer);
      if (command.op == Op::leave) leave(command);
    }
    return 0;
  }

 private:
  void begin() {
    alarm(kLifeSeconds);
    count_signals();
    Answer hello;
    hello.result = 0;
    hello.pid = getpid();
    tell(hello);
  }

  bool next(Command& command) {
    ssize_t taken = 0;
    if (is_attentive_) attend();
    do taken = read(control_, &command, sizeof command);
    while (taken < 0 && errno == EINTR);
    return taken == static_cast<ssize_t>(sizeof command);
  }

  // While it waits, it also sleeps in waits for its connections, like a program with an event loop.
  void attend() {
    pollfd commands = {control_, POLLIN, 0};
    while (::poll(&commands, 1, kAttentionMs) == 0) {
      std::array<pollfd, kAttended + 1> all = {};
      for (int i = 0; i < kAttended; ++i) all[static_cast<std::size_t>(i)] = {kFirstAttended + i, POLLIN, 0};
      // Closed numbers would end the wait.
      for (pollfd& each : all)
        if (fcntl(each.fd, F_GETFD) < 0) each.fd = -1;
      all.back() = commands;
      ::poll(all.data(), all.size(), kAttentionMs);
    }
  }

  void tell(const Answer& answer) {
    if (write(control_, &answer, sizeof answer) != static_cast<ssize_t>(sizeof answer)) _exit(3);
  }

  Answer obey(const Command& command) {
    switch (command.op) {
      case Op::fork: return fork_child();
      case Op::spawn: return spawn_child();
      case Op::exec: return exec_self();
      case Op::leave: return answer_of(0);
      case Op::reap: return reap(command);
      case Op::pass: return pass(command);
      case Op::take: return take(command);
      case Op::start: return thread_.start(command);
      case Op::pending: return thread_.pending();
      case Op::interrupt: return thread_.interrupt();
      case Op::join: return thread_.join(command.timeout_ms);
      default: return perform(command);
    }
  }

  Answer fork_child() {
    const pid_t child = ::fork();
    if (child == 0) {
      close(control_);
      control_ = child_control_;
      child_control_ = -1;
      is_silent_ = true;
      begin();
      return {};
    }
    return with_child(child);
  }

  Answer with_child(pid_t child) {
    Answer answer = answer_of(child < 0 ? -1 : 0);
    answer.pid = child;
    if (child < 0) return answer;
    close(child_control_);
    child_control_ = -1;
    return answer;
  }

  Answer spawn_child() {
    const std::string control = std::to_string(child_control_);
    std::array<std::string, 4> words = {"sockets-twin", "--actor", control, "-1"};
    std::array<char*, 5> arguments = {words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                                      nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addclose(&actions, control_);
    pid_t child = -1;
    const int error = posix_spawn(&child, kSelf, &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    errno = error;
    return with_child(error == 0 ? child : -1);
  }

  Answer exec_self() {
    std::array<std::string, 4> words = {"sockets-twin", "--actor", std::to_string(control_),
                                        std::to_string(child_control_)};
    std::array<char*, 5> arguments = {words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                                      nullptr};
    return answer_of(execve(kSelf, arguments.data(), environ));
  }

  static Answer reap(const Command& command) {
    int status = 0;
    Answer answer = answer_of(waitpid(command.value, &status, 0) == command.value ? 0 : -1);
    answer.values[0] = status;
    return answer;
  }

  [[noreturn]] static void leave(const Command& command) {
    if (static_cast<LeaveCall>(command.variant) == LeaveCall::exit) exit(command.value);
    _exit(command.value);
  }

  static Answer pass(const Command& command) {
    char byte = 'p';
    iovec part = {&byte, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space = {};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space.data();
    message.msg_controllen = space.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &command.fd, sizeof command.fd);
    return answer_of(sendmsg(kPassing, &message, 0));
  }

  static Answer take(const Command& command) {
    char byte = 0;
    iovec part = {&byte, 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space = {};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space.data();
    message.msg_controllen = space.size();
    Answer answer = answer_of(recvmsg(kTaking, &message, MSG_DONTWAIT | command.flags));
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (answer.result != 1 || header == nullptr || header->cmsg_type != SCM_RIGHTS) return answer;
    int number = -1;
    std::memcpy(&number, CMSG_DATA(header), sizeof number);
    answer.result = number;
    return answer;
  }

  int control_;
  int child_control_;
  const bool is_attentive_ = std::getenv("TWIN_ATTENTIVE") != nullptr;
  bool is_silent_ = false;  // in a new child: the parent answers
  CallingThread thread_;
};

}  // namespace

int run_actor(int control, int child_control) {
  return Actor(control, child_control).run();
}

}  // namespace twin
