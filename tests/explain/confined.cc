// Runs a program with fewer rights:  test-confined RESTRICTION... -- COMMAND...
//   deny NAME ERRNO   the system call fails (0: kills); tcp_socket, unix_socket: socket(2) for those
//   limit memlock|nofile NUMBER      user ID      pidns      netns
//   rdma_port STATE MODE   /sys shows one RDMA device, its port in this state; MODE: of its files in /dev
// Exit 77 when a restriction cannot be had here.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "tests/support/confinement.h"

namespace {

using namespace exs::test;

constexpr int kCannot = 77;

const std::map<std::string, long> kCalls{{"io_uring_setup", SYS_io_uring_setup},
                                         {"io_uring_enter", SYS_io_uring_enter},
                                         {"memfd_create", SYS_memfd_create},
                                         {"process_vm_readv", SYS_process_vm_readv}};
const std::map<std::string, int> kLimits{{"memlock", RLIMIT_MEMLOCK}, {"nofile", RLIMIT_NOFILE}};

void write_file(const std::filesystem::path& path, const std::string& line) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << line << '\n';
}

// For this process and its children alone.
bool show_rdma_port(const std::string& state, mode_t mode) {
  if (!enter_new_namespace(CLONE_NEWNS) || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("none", "/sys/class", "tmpfs", 0, nullptr) != 0 ||
      ::mount("none", "/dev", "tmpfs", 0, nullptr) != 0) {
    return false;
  }
  const std::filesystem::path device = "/sys/class/infiniband/card0";
  write_file(device / "node_type", "1: CA");
  write_file(device / "ports/1/state", state);
  write_file(device / "ports/1/phys_state", "5: LinkUp");
  write_file(device / "ports/1/link_layer", "Ethernet");
  write_file(device / "ports/1/rate", "100 Gb/sec (4X EDR)");
  write_file(device / "ports/1/gid_attrs/ndevs/0", "lo");
  write_file("/sys/class/infiniband_verbs/uverbs0/ibdev", "card0");
  for (const char* file : {"/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm"}) {
    write_file(file, "");
    if (::chmod(file, mode) != 0) return false;
  }
  return true;
}

// Takes its arguments; true: done.
bool restrict_by(char**& word) {
  const std::string what = *word++;
  if (what == "deny") {
    const std::string call = *word++;
    const int error = std::atoi(*word++);
    if (call == "unix_socket") return deny_system_calls({SYS_socket}, error, 1 /* AF_UNIX */);
    if (call == "tcp_socket") {
      return deny_system_calls({SYS_socket}, error, 2 /* AF_INET */) &&
             deny_system_calls({SYS_socket}, error, 10 /* AF_INET6 */);
    }
    return deny_system_calls({kCalls.at(call)}, error);
  }
  if (what == "limit") {
    const int resource = kLimits.at(*word++);
    return lower_limit(resource, std::strtoull(*word++, nullptr, 10));
  }
  if (what == "user") return become_user(static_cast<uid_t>(std::atoi(*word++)));
  if (what == "netns") return enter_new_namespace(CLONE_NEWNET);
  if (what == "pidns") return enter_new_namespace(CLONE_NEWPID);
  if (what == "rdma_port") {
    const std::string state = *word++;
    return show_rdma_port(state, static_cast<mode_t>(std::strtoul(*word++, nullptr, 8)));
  }
  std::fprintf(stderr, "test-confined: no restriction \"%s\"\n", what.c_str());
  std::exit(2);
}

}  // namespace

int main(int /*argc*/, char** argv) {
  char** word = argv + 1;
  while (*word != nullptr && std::string(*word) != "--") {
    if (!restrict_by(word)) return kCannot;
  }
  if (*word == nullptr || word[1] == nullptr) return 2;
  const pid_t child = ::fork();  // the first of a new PID namespace, if there is one
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // whoever kills this program means that one
    ::execv(word[1], word + 1);
    ::_exit(126);
  }
  int status = 0;
  if (child == -1 || ::waitpid(child, &status, 0) != child) return kCannot;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
