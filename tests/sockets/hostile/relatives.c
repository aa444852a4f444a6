// A server with a hostile child. The child gives up rights as the first argument says. It then writes random
// values into all memory of the sockets layer that was shared at the fork, again and again. The server
// continues its old connection and a new one: their bytes must be right.
//   setuid setgid seteuid setegid setreuid setregid setresuid setresgid capset unshare seccomp   by the C library's function
//   number     setresuid by syscall(2)
//   clone      a child that begins in its own namespaces
//   parent     the server gives up rights, and its later child keeps them
// Prints "rounds" for each end that has completed all its rounds, and "writes" once the child has written
// everything.
// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 40, BYTES = 64, AREAS = 64, NOBODY = 65534, LIMIT_S = 60 };

static void check(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(1);
}

// Memory behind a descriptor of the layer, or anonymous where there is no descriptor.
static struct area {
  uint64_t* begin;
  uint64_t* end;
} areas[AREAS];
static unsigned area_count;

static void find_areas(const char* kind) {
  static const size_t limit = 256 << 10;  // used slots lie at the beginning
  FILE* maps = fopen("/proc/self/maps", "r");
  check(maps != NULL, "maps");
  char line[512];
  while (fgets(line, sizeof line, maps) != NULL && area_count < AREAS) {
    unsigned long begin;
    unsigned long end;
    char rights[8];
    if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) != 3 || strcmp(rights, "rw-s") != 0) continue;
    if (strstr(line, kind) == NULL && strstr(line, "/dev/zero") == NULL) continue;
    if (end - begin > limit) end = begin + limit;
    areas[area_count++] = (struct area){(uint64_t*)begin, (uint64_t*)end};
  }
  fclose(maps);
  check(area_count > 0, "no memory of the layer's is found: the test tests nothing");
}

static sigjmp_buf behind_area;
static void pass_over(int signal) {
  siglongjmp(behind_area, signal);
}

static void write_area(struct area area, unsigned turn) {
  static uint64_t state = 88172645463325252ULL;
  if (sigsetjmp(behind_area, 1) != 0) return;  // the memory is gone
  for (volatile uint64_t* word = area.begin; word < area.end; ++word) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    if (turn % 2 == 0 || state % 8 == 0) *word = turn % 3 == 2 ? state : state & 0xffff;
  }
}

static void write_everywhere(int told) {
  alarm(LIMIT_S);
  signal(SIGSEGV, pass_over);
  for (unsigned turn = 0;; ++turn) {
    for (unsigned i = 0; i < area_count; ++i) write_area(areas[i], turn);
    if (turn == 1 && syscall(SYS_write, told, "w", 1) != 1) break;
  }
}

static void drop_by_capset(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct none[2] = {{0}};
  extern int capset(void*, const void*);
  check(capset(&header, none) == 0, "capset");
}

static void allow_all_by_filter(void) {
  struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const struct sock_fprog filter = {1, all};
  check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
  check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0, "filter");
}

static void give_up(const char* how) {
  int result = 0;
  if (strcmp(how, "setuid") == 0)
    result = setuid(NOBODY);
  else if (strcmp(how, "setgid") == 0)
    result = setgid(NOBODY);
  else if (strcmp(how, "seteuid") == 0)
    result = seteuid(NOBODY);
  else if (strcmp(how, "setegid") == 0)
    result = setegid(NOBODY);
  else if (strcmp(how, "setreuid") == 0)
    result = setreuid(NOBODY, NOBODY);
  else if (strcmp(how, "setregid") == 0)
    result = setregid(NOBODY, NOBODY);
  else if (strcmp(how, "setresuid") == 0 || strcmp(how, "parent") == 0)
    result = setresuid(NOBODY, NOBODY, NOBODY);
  else if (strcmp(how, "setresgid") == 0)
    result = setresgid(NOBODY, NOBODY, NOBODY);
  else if (strcmp(how, "unshare") == 0)
    result = unshare(CLONE_NEWNS);
  else if (strcmp(how, "number") == 0)
    result = (int)syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY);
  else if (strcmp(how, "capset") == 0)
    drop_by_capset();
  else if (strcmp(how, "seccomp") == 0)
    allow_all_by_filter();
  check(result == 0, how);
}

static int child_of_clone(void* told) {
  write_everywhere(*(const int*)told);
  return 0;
}

static pid_t start_child(const char* how, int told, int may_begin) {
  static char stack[64 << 10] __attribute__((aligned(16)));
  static int told_to_clone;
  told_to_clone = told;
  if (strcmp(how, "clone") == 0)
    return clone(child_of_clone, stack + sizeof stack, CLONE_NEWNS | SIGCHLD, &told_to_clone);
  const pid_t child = fork();
  if (child != 0) return child;
  char byte;
  if (strcmp(how, "parent") != 0)
    give_up(how);
  else
    check(read(may_begin, &byte, 1) == 1, "begin");
  write_everywhere(told);
  _exit(1);
}

static void fill(char* bytes, int connection, int round, int direction) {
  for (int i = 0; i < BYTES; ++i) bytes[i] = (char)(connection * 97 + round * 31 + direction * 7 + i);
}

static void take(int number, int connection, int round, int direction) {
  char bytes[BYTES];
  char right[BYTES];
  fill(right, connection, round, direction);
  size_t count = 0;
  while (count < BYTES) {
    const ssize_t got = read(number, bytes + count, BYTES - count);
    check(got > 0, "read");
    count += (size_t)got;
  }
  errno = 0;
  check(memcmp(bytes, right, BYTES) == 0, "wrong bytes");
}

static void play(int number, int connection, int from, int to, int is_client) {
  char bytes[BYTES];
  for (int round = from; round < to; ++round) {
    if (!is_client) take(number, connection, round, 0);
    fill(bytes, connection, round, is_client ? 0 : 1);
    check(write(number, bytes, BYTES) == BYTES, "write");
    if (is_client) take(number, connection, round, 1);
  }
}

static void be_client(const struct sockaddr_in* address) {
  for (int connection = 0; connection < 2; ++connection) {
    const int number = socket(AF_INET, SOCK_STREAM, 0);
    check(connect(number, (const struct sockaddr*)address, sizeof *address) == 0, "connect");
    play(number, connection, 0, ROUNDS, 1);
    close(number);
  }
  puts("rounds");
  exit(0);
}

int main(int count, char** words) {
  check(count == 2, "relatives HOW");
  setvbuf(stdout, NULL, _IOLBF, 0);
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  check(bind(listener, (struct sockaddr*)&address, length) == 0 && listen(listener, 4) == 0, "listen");
  getsockname(listener, (struct sockaddr*)&address, &length);
  const pid_t client = fork();
  if (client == 0) be_client(&address);
  int number = accept(listener, NULL, NULL);
  play(number, 0, 0, ROUNDS / 2, 0);
  // A process with more rights may damage connections that it has. Of the other ones it has only the family's
  // memory.
  find_areas(strcmp(words[1], "parent") == 0 ? "exs-sockets-family" : "exs-sockets");
  int pipes[2];
  int begins[2];
  check(pipe(pipes) == 0 && pipe(begins) == 0, "pipe");
  const pid_t child = start_child(words[1], pipes[1], begins[0]);
  check(child > 0, "child");
  if (strcmp(words[1], "parent") == 0) give_up("parent");
  check(write(begins[1], "b", 1) == 1, "begin");
  close(pipes[1]);
  char byte;
  check(read(pipes[0], &byte, 1) == 1, "the child has not written");
  puts("writes");
  play(number, 0, ROUNDS / 2, ROUNDS, 0);
  close(number);
  number = accept(listener, NULL, NULL);
  play(number, 1, 0, ROUNDS, 0);
  close(number);
  puts("rounds");
  if (strcmp(words[1], "parent") != 0) kill(child, SIGKILL);  // fails for another user's process
  int status;
  check(waitpid(client, &status, 0) == client && status == 0, "client");
  return 0;
}
