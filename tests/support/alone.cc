// Runs a program in its own network namespace: loopback only, all ports free, no abstract sockets of other
// programs.
//   test-alone PROGRAM ARGUMENT...
// Only root can make a network namespace alone. Another user would also need a user namespace, where files of
// other users seem to have new owners. The program then runs in the existing network.
// SPDX-License-Identifier: BSD-2-Clause
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

bool bring_up_loopback() {
  const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::strncpy(request.ifr_name, "lo", sizeof request.ifr_name - 1);
  request.ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING;
  const bool up = any >= 0 && ioctl(any, SIOCSIFFLAGS, &request) == 0;
  close(any);
  return up;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fputs("usage: test-alone PROGRAM ARGUMENT...\n", stderr);
    return 2;
  }
  if (unshare(CLONE_NEWNET) == 0 && !bring_up_loopback()) {
    std::fprintf(stderr, "test-alone: loopback does not come up: %s\n", std::strerror(errno));
    return 2;
  }
  execvp(arguments[1], arguments + 1);
  std::fprintf(stderr, "test-alone: %s: %s\n", arguments[1], std::strerror(errno));
  return 127;
}
