// SPDX-License-Identifier: BSD-2-Clause
#include "perf/service_check/networks.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <vector>

#include "tools/common/failure.h"

namespace service_check {
namespace {

constexpr int kPatienceMs = 30'000;

void run_ip(std::vector<std::string> words) {
  words.insert(words.begin(), "ip");
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t process = -1;
  if (const int error = ::posix_spawnp(&process, "ip", nullptr, nullptr, arguments.data(), environ);
      error != 0)
    tools::fail("cannot run ip (Debian: iproute2)", error);
  int status = 0;
  while (::waitpid(process, &status, 0) == -1 && errno == EINTR) continue;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw tools::Failure("ip " + words[1] + " " + words[2] + " fails");
}

void write_file(const char* path, const std::string& text) {
  std::ofstream file(path);
  file << text;
}

void new_network() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWNET) == 0) return;
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
    tools::fail("no namespaces here, so what is left could be anybody's", errno);
  write_file("/proc/self/setgroups", "deny");
  write_file("/proc/self/uid_map", "0 " + std::to_string(user) + " 1");
  write_file("/proc/self/gid_map", "0 " + std::to_string(group) + " 1");
}

void tell(int pipe) {
  const char byte = 0;
  if (::write(pipe, &byte, 1) != 1) tools::fail("the other process has ended", errno);
}
void hear(int pipe) {
  char byte = 0;
  pollfd state{pipe, POLLIN, 0};
  if (::poll(&state, 1, kPatienceMs) != 1 || ::read(pipe, &byte, 1) != 1)
    throw tools::Failure("the other process has ended");
}

std::string cable_of(unsigned place) {
  return "cable" + std::to_string(place);
}
std::string address_of(unsigned place, int end) {
  return "10.78." + std::to_string(place) + "." + std::to_string(end);
}

}  // namespace

void enter_own_network() {
  new_network();
  run_ip({"link", "set", "lo", "up"});
}

Host::Host(unsigned place) : place_(place) {
  if (::pipe2(ready_.data(), O_CLOEXEC) != 0 || ::pipe2(joined_.data(), O_CLOEXEC) != 0)
    tools::fail("no pipe", errno);
}

Host::~Host() {
  try {
    if (is_joined_) run_ip({"link", "delete", cable_of(place_)});
  } catch (const tools::Failure& failure) {
    std::fprintf(stderr, "service-check: %s\n", failure.what());
  }
  for (const int end : {ready_[0], ready_[1], joined_[0], joined_[1]}) ::close(end);
}

std::string Host::address(unsigned place) {
  return address_of(place, 2) + ":" + std::to_string(kPort);
}

void Host::enter() {
  new_network();
  tell(ready_[1]);
  hear(joined_[0]);
  run_ip({"link", "set", "lo", "up"});
  run_ip({"address", "add", address_of(place_, 2) + "/24", "dev", "cable"});
  run_ip({"link", "set", "cable", "up"});
  tell(ready_[1]);
}

void Host::join(pid_t process) {
  hear(ready_[0]);
  run_ip({"link", "add", cable_of(place_), "type", "veth", "peer", "name", "cable", "netns",
          std::to_string(process)});
  is_joined_ = true;
  tell(joined_[1]);
  hear(ready_[0]);
  // The address comes last. An earlier connect to a host that is not up would be repeated only after a second, by a timer of the kernel.
  run_ip({"address", "add", address_of(place_, 1) + "/24", "dev", cable_of(place_)});
  mend();
}

void Host::cut() const {
  run_ip({"link", "set", cable_of(place_), "down"});
}

void Host::mend() const {
  run_ip({"link", "set", cable_of(place_), "up"});
}

}  // namespace service_check
