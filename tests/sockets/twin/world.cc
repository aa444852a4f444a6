// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sockets/twin/world.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

namespace twin {
namespace {

constexpr int kAnswerMs = 8000;
constexpr int kEndMs = 3000;
// An idle actor ends by itself when its channel closes.
constexpr int kGoMs = 200;

struct Pair {
  Pair() {
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
      throw std::system_error(errno, std::generic_category(), "socketpair");
  }
  ~Pair() {
    for (const int end : ends)
      if (end >= 0) close(end);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  int take(std::size_t which) {
    const int end = ends[which];
    ends[which] = -1;
    return end;
  }
  std::array<int, 2> ends = {-1, -1};
};

}  // namespace

World::World(const std::vector<std::string>& environment) {
  const Pair passing;
  start_root(0, environment, passing.ends[0], passing.ends[1]);
  start_root(2, environment, passing.ends[0], passing.ends[1]);
}

World::~World() {
  for (int& channel : channels_) {
    if (channel < 0) continue;
    ::shutdown(channel, SHUT_WR);
  }
  for (std::size_t i = 0; i < kProcesses; ++i) {
    if (pids_[i] > 0 && !ends_within(i, kGoMs)) ::kill(pids_[i], SIGKILL);
    if (pids_[i] > 0 && Model::is_root(i)) waitpid(pids_[i], nullptr, 0);
    if (channels_[i] >= 0) close(channels_[i]);
  }
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }  // orphans of a root become our children
}

void World::start_root(std::size_t process, const std::vector<std::string>& environment, int passing,
                       int taking) {
  Pair own;
  Pair child;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, own.ends[1], kControl);
  posix_spawn_file_actions_adddup2(&actions, child.ends[1], kChildControl);
  posix_spawn_file_actions_adddup2(&actions, passing, kPassing);
  posix_spawn_file_actions_adddup2(&actions, taking, kTaking);
  std::array<std::string, 4> words = {"sockets-twin", "--actor", std::to_string(kControl),
                                      std::to_string(kChildControl)};
  std::array<char*, 5> arguments = {words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                                    nullptr};
  std::vector<std::string> added = environment;
  std::vector<char*> variables;
  for (std::string& variable : added) variables.push_back(variable.data());
  for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
  variables.push_back(nullptr);
  const int error =
      posix_spawn(&pids_[process], "/proc/self/exe", &actions, nullptr, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category(), "posix_spawn");
  channels_[process] = own.take(0);
  channels_[process + 1] = child.take(0);
}

void World::tell(std::size_t process, const Command& command) {
  const ssize_t sent = send(channels_[process], &command, sizeof command, MSG_NOSIGNAL);
  static_cast<void>(sent);  // a process that has ended gives no answer
}

Answer World::answer(std::size_t process) {
  Answer answer;
  pollfd readable = {channels_[process], POLLIN, 0};
  const bool came = poll(&readable, 1, kAnswerMs) == 1;
  if (came &&
      recv(channels_[process], &answer, sizeof answer, MSG_WAITALL) == static_cast<ssize_t>(sizeof answer))
    return answer;
  answer = Answer();
  answer.error = kHung;
  return answer;
}

bool World::ends_within(std::size_t process, int timeout_ms) {
  pollfd hung_up = {channels_[process], POLLRDHUP, 0};
  return poll(&hung_up, 1, timeout_ms) == 1;
}

void World::kill(std::size_t process) {
  ::kill(pids_[process], SIGKILL);
  static_cast<void>(wait_for_end(process));
}

int World::wait_for_end(std::size_t process) {
  int status = -1;
  if (!ends_within(process, kEndMs)) ::kill(pids_[process], SIGKILL);
  if (Model::is_root(process)) waitpid(pids_[process], &status, 0);
  pids_[process] = -1;
  return status;
}

}  // namespace twin
