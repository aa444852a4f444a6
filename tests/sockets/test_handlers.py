# SPDX-License-Identifier: BSD-2-Clause
"""Handlers during which the signals of faults are blocked make calls with memory that is not there. They must get the
kernel's errors, and see their own actions. EXS_SOCKETS_LIBRARY is the library. The test needs a compiler."""
import os
import subprocess
import tempfile
import unittest

from compared import LAYERED, LIBRARY, LIMIT_S

# Each word of the command is a step. "connect" may come before or after an action is set.
PROGRAM = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>
static int near, far, handled;
static char *wall;
static sigjmp_buf back;
static void connect_both(void) {
  struct sockaddr_in name = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}};
  socklen_t length = sizeof name;
  char byte = 1;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  near = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (void*)&name, length) != 0 || listen(listener, 1) != 0) exit(2);
  if (getsockname(listener, (void*)&name, &length) != 0 || connect(near, (void*)&name, length) != 0) exit(2);
  far = accept(listener, NULL, NULL);
  for (int i = 0; i < 100; ++i)
    if (write(near, &byte, 1) != 1 || read(far, &byte, 1) != 1 || write(far, &byte, 1) != 1 || read(near, &byte, 1) != 1) exit(2);
}
static void call_with_bad_memory(const char* where) {
  char bytes[4];
  errno = 0;
  const long written = write(near, wall, 4);
  const int write_error = errno;
  errno = 0;
  const long sent = write(near, "good", 4);
  if (recv(far, bytes, 4, MSG_PEEK | MSG_WAITALL) != 4) exit(2);
  const long failed = recv(far, wall, 4, 0);
  const int recv_error = errno;
  const long got = recv(far, bytes, 4, MSG_WAITALL);
  printf("%s: %ld %d %ld %ld %d %ld\n", where, written, write_error, sent, failed, recv_error, got);
  fflush(stdout);
}
static void handle(int number) {
  ++handled;
  call_with_bad_memory(strsignal(number));
}
static void handle_fully(int number, siginfo_t* info, void* context) {
  (void)context;
  printf("code %d\n", info->si_code);
  handle(number);
}
static void jump(int number) {
  handle(number);
  siglongjmp(back, 1);
}
static void set(int number, int flags, void (*handler)(int), int blocks) {
  struct sigaction action = {.sa_flags = flags};
  action.sa_handler = handler;
  if (blocks) sigfillset(&action.sa_mask);
  if (flags & SA_SIGINFO) action.sa_sigaction = handle_fully;
  if (sigaction(number, &action, NULL) != 0) exit(2);
}
static void tell(int number) {
  struct sigaction action;
  sigaction(number, NULL, &action);
  printf("action: %s, flags %#x, blocks %d %d\n",
         action.sa_handler == SIG_DFL ? "default" : action.sa_handler == handle ? "handle" : action.sa_handler == jump ? "jump"
         : action.sa_sigaction == handle_fully ? "handle_fully" : "another",
         (unsigned)action.sa_flags & ~0x04000000U, sigismember(&action.sa_mask, SIGSEGV), sigismember(&action.sa_mask, SIGTERM));
}
static void wait_with(const char* how) {
  sigset_t own, usual, during;
  const struct timespec limit = {10, 0};
  struct epoll_event event;
  sigemptyset(&own);
  sigaddset(&own, SIGUSR2);
  sigprocmask(SIG_BLOCK, &own, &usual);
  raise(SIGUSR2);
  sigfillset(&during);
  sigdelset(&during, SIGUSR2);
  struct pollfd one = {far, POLLIN, 0};
  fd_set ends;
  FD_ZERO(&ends);
  FD_SET(far, &ends);
  const int set_number = epoll_create1(0);
  event.events = EPOLLIN;
  epoll_ctl(set_number, EPOLL_CTL_ADD, far, &event);
  int result = 0;
  if (strcmp(how, "ppoll") == 0) result = ppoll(&one, 1, &limit, &during);
  if (strcmp(how, "pselect") == 0) result = pselect(far + 1, &ends, NULL, NULL, &limit, &during);
  if (strcmp(how, "epoll_pwait") == 0) result = epoll_pwait(set_number, &event, 1, 10000, &during);
  if (strcmp(how, "sigsuspend") == 0) result = sigsuspend(&during);
  printf("%s: %d %d\n", how, result, errno);
  close(set_number);
  sigprocmask(SIG_SETMASK, &usual, NULL);
}
int main(int count, char** words) {
  wall = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 1; i < count; ++i) {
    const char* const word = words[i];
    if (strcmp(word, "connect") == 0) connect_both();
    if (strcmp(word, "set") == 0) set(SIGUSR1, SA_RESTART, handle, 1);
    if (strcmp(word, "set-fully") == 0) set(SIGUSR1, SA_SIGINFO, NULL, 1);
    if (strcmp(word, "set-once") == 0) set(SIGUSR1, (int)SA_RESETHAND, handle, 1);
    if (strcmp(word, "set-open") == 0) set(SIGUSR2, 0, handle, 0);
    if (strcmp(word, "set-jump") == 0) set(SIGUSR1, 0, jump, 1);
    if (strcmp(word, "set-fault") == 0) set(SIGSEGV, 0, jump, 0);
    if (strcmp(word, "default") == 0) printf("before: %d\n", signal(SIGUSR1, SIG_DFL) == handle);
    if (strcmp(word, "raise") == 0 && sigsetjmp(back, 1) == 0) raise(SIGUSR1);
    if (strcmp(word, "fault") == 0 && sigsetjmp(back, 1) == 0) *(volatile char*)wall = 1;
    if (strcmp(word, "tell") == 0) tell(SIGUSR1);
    if (strcmp(word, "wait") == 0) wait_with(words[++i]);
    if (strcmp(word, "call") == 0) call_with_bad_memory("outside");
  }
  printf("handled %d\n", handled);
  return 0;
}
"""


class Handlers(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.program = folder.name + "/handlers"
        subprocess.run(["gcc", "-w", "-x", "c", "-o", cls.program, "-"], input=PROGRAM, text=True, check=True, timeout=LIMIT_S)

    def run_program(self, words, more):
        done = subprocess.run([self.program, *words], env={**os.environ, **more}, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        return done.returncode, done.stdout, done.stderr

    def compare(self, words, code=0):
        expected = self.run_program(words.split(), {})
        self.assertEqual(expected[0], code, expected)
        for name, settings in LAYERED.items():
            with self.subTest(words, layer=name):
                self.assertEqual(self.run_program(words.split(), {"LD_PRELOAD": LIBRARY, "EXS_SOCKETS": settings}), expected)

    def test_by_the_mask_of_an_action(self):
        self.compare("connect set call raise call tell raise")
        self.compare("set connect call raise tell call")
        self.compare("connect set-fully raise tell call raise")

    def test_by_the_mask_of_an_action_that_another_replaces(self):
        self.compare("connect set raise default tell set tell raise call")
        self.compare("connect set default raise", code=-10)

    def test_by_the_mask_of_an_action_for_once(self):
        self.compare("connect set-once tell raise tell call")
        self.compare("set-once connect raise tell call")
        self.compare("connect set-once raise raise", code=-10)

    def test_that_leaves_by_a_jump(self):
        self.compare("connect set-jump raise call raise call")

    def test_of_a_fault(self):
        self.compare("connect set-fault fault call fault call")

    def test_by_the_mask_of_a_wait(self):
        for how in "ppoll", "pselect", "epoll_pwait", "sigsuspend":
            self.compare(f"connect set-open call wait {how} call wait {how}")


if __name__ == "__main__":
    unittest.main()
