// A connection between two processes. They use it by the C library until one of them does what its first
// argument says, and go on. The bytes must stay right, and no process may die.
//   strict            PR_SET_SECCOMP, mode strict: read, write and exit are left
//   filter PR|CALL    a filter that kills for all but a few calls, set by prctl(2) or by syscall(2)
//   uring LIB|CALL    rings of io_uring, by liburing or by syscall(2): polls, receives and sends
//   syscall           syscall(2) in place of the functions
//   raw               one read past the C library: prints what arrived on the connection
//   child HOW         in each round a child that closes the connection: by vfork (VFORK), by fork through syscall(2) (CALL)
//                     or past the C library (INSTRUCTION)
// Prints "rounds N" for each end that has completed all its rounds.
// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <errno.h>
#include <liburing.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 40, CHANGE_AT = 20, BYTES = 64 };

static struct io_uring ring;

static void check(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  exit(1);
}

static long by_instruction(long call, long a, long b, long c) {
#if defined(__x86_64__)
  long result = call;
  __asm__ volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
#else
  register long x8 __asm__("x8") = call;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory", "cc");
  return x0;
#endif
}

// Allows what the rounds need, and kills for anything else.
static struct sock_fprog few_calls(void) {
  static struct sock_filter filter[32];
  static const long allowed[] = {SYS_read,  SYS_write, SYS_recvfrom,  SYS_sendto,
                                 SYS_close, SYS_exit,  SYS_exit_group};
  const unsigned count = sizeof allowed / sizeof *allowed;
  unsigned at = 0;
  filter[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (unsigned i = 0; i < count; ++i)
    filter[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i],
                                                (unsigned char)(count - i), 0);
  filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  filter[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  return (struct sock_fprog){(unsigned short)at, filter};
}

static void change(const char* how, const char* by) {
  if (strcmp(how, "strict") == 0) {
    check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0, "strict");
  } else if (strcmp(how, "filter") == 0) {
    const struct sock_fprog filter = few_calls();
    check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
    const long result = strcmp(by, "PR") == 0 ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)
                                              : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
    check(result == 0, "filter");
  } else if (strcmp(how, "uring") == 0 && strcmp(by, "LIB") == 0) {
    check(io_uring_queue_init(8, &ring, 0) == 0, "liburing");
  } else if (strcmp(how, "uring") == 0) {
    struct io_uring_params parameters = {0};
    const long descriptor = syscall(SYS_io_uring_setup, 8, &parameters);
    check(descriptor >= 0, "io_uring_setup");
    check(io_uring_queue_mmap((int)descriptor, &parameters, &ring) == 0, "map");
    for (unsigned i = 0; i < parameters.sq_entries; ++i) ring.sq.array[i] = i;
  }
}

static int complete(void) {
  struct io_uring_cqe* done;
  check(io_uring_submit(&ring) == 1 && io_uring_wait_cqe(&ring, &done) == 0, "io_uring");
  const int result = done->res;
  io_uring_cqe_seen(&ring, done);
  return result;
}

static long receive(const char* how, int number, int round, char* bytes) {
  if (round < CHANGE_AT) return read(number, bytes, BYTES);
  if (strcmp(how, "uring") == 0 && round % 3 != 0) {
    struct io_uring_sqe* entry = io_uring_get_sqe(&ring);
    io_uring_prep_poll_add(entry, number, POLLIN);
    check((complete() & POLLIN) != 0, "poll");
    entry = io_uring_get_sqe(&ring);
    io_uring_prep_recv(entry, number, bytes, BYTES, 0);
    return complete();
  }
  if (strcmp(how, "syscall") == 0 && round % 3 != 0) return syscall(SYS_read, number, bytes, BYTES);
  if (strcmp(how, "raw") == 0) return by_instruction(SYS_read, number, (long)bytes, BYTES);
  return read(number, bytes, BYTES);
}
static long send_by(const char* how, int number, int round, const char* bytes) {
  if (strcmp(how, "uring") == 0 && round >= CHANGE_AT && round % 2 != 0) {
    struct io_uring_sqe* entry = io_uring_get_sqe(&ring);
    io_uring_prep_send(entry, number, bytes, BYTES, 0);
    return complete();
  }
  if (strcmp(how, "syscall") == 0 && round % 2 != 0) return syscall(SYS_write, number, bytes, BYTES);
  return write(number, bytes, BYTES);
}

static void fill(char* bytes, int round, int from_server) {
  for (int i = 0; i < BYTES; ++i) bytes[i] = (char)(round * 7 + i + from_server * 100);
}

static void receive_all(const char* how, int number, int round, int from_server) {
  char wanted[BYTES];
  char bytes[BYTES];
  fill(wanted, round, from_server);
  for (long got = 0; got < BYTES;) {
    char piece[BYTES];
    const long count = receive(how, number, round, piece);
    if (strcmp(how, "raw") == 0 && round == CHANGE_AT) {
      check(count > 0, "raw read");
      // A count below the full number belongs to a bell. The bytes are right, and the run ends.
      long next = count;
      if (count < BYTES) next = read(number, piece, BYTES);
      if (next != BYTES || memcmp(piece, wanted, BYTES) != 0) _exit(7);
      if (count < BYTES) next = read(number, piece, BYTES);
      printf("raw %s\n", next < 0 && errno == ECONNRESET ? "reset" : "bytes");
      exit(0);
    }
    if (count <= 0) _exit(2);
    memcpy(bytes + got, piece, (size_t)count);
    got += count;
  }
  if (memcmp(bytes, wanted, BYTES) != 0) _exit(3);
}

// The child closes its own descriptor, even where the layer's memory is shared with the parent.
static void close_in_child(int number, const char* by) {
  const pid_t child = strcmp(by, "VFORK") == 0  ? vfork()
                      : strcmp(by, "CALL") == 0 ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)
                                                : (pid_t)by_instruction(SYS_clone, SIGCHLD, 0, 0);
  if (child == 0) {
    if (close(number) != 0 || dup2(STDERR_FILENO, number) != number) _exit(1);
    _exit(0);
  }
  int status = 1;
  check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "child");
}
static void fail_to_make_one(void) {
  const struct rlimit none = {0, 0};
  if (getuid() == 0) check(setresuid(65534, 65534, 65534) == 0, "user");  // root has no limit
  check(setrlimit(RLIMIT_NPROC, &none) == 0, "limit");
  errno = 0;
  const pid_t child = vfork();
  if (child == 0) _exit(0);
  check(child == -1 && errno == EAGAIN, "vfork at its limit");
}

static void play_server(int number, const char* how, const char* by) {
  char bytes[BYTES];
  static const char told[] = "rounds\n";
  for (int round = 0; round < ROUNDS; ++round) {
    if (round == CHANGE_AT) change(how, by);
    if (round >= CHANGE_AT && strcmp(how, "child") == 0) close_in_child(number, by);
    receive_all(how, number, round, 0);
    fill(bytes, round, 1);
    if (send_by(how, number, round, bytes) != BYTES) _exit(4);
  }
  if (write(1, told, sizeof told - 1) < 0) _exit(5);
  if (strcmp(how, "child") == 0) fail_to_make_one();
  if (strcmp(how, "strict") == 0) by_instruction(SYS_exit, 0, 0, 0);
  close(number);
  _exit(0);
}

static void play_client(int number) {
  char bytes[BYTES];
  for (int round = 0; round < ROUNDS; ++round) {
    fill(bytes, round, 0);
    if (write(number, bytes, BYTES) != BYTES) _exit(6);
    receive_all("client", number, round, 1);
  }
  printf("rounds\n");
  fflush(stdout);
  _exit(0);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  const char* by = argc > 2 ? argv[2] : "";
  alarm(30);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  check(bind(listener, (struct sockaddr*)&address, length) == 0 && listen(listener, 1) == 0, "listen");
  check(getsockname(listener, (struct sockaddr*)&address, &length) == 0, "name");
  const pid_t client = fork();
  check(client >= 0, "fork");
  if (client == 0) {
    const int number = socket(AF_INET, SOCK_STREAM, 0);
    check(connect(number, (struct sockaddr*)&address, length) == 0, "connect");
    play_client(number);
  }
  // The server is a child, too, so that its parent reports how it ended.
  const pid_t server = fork();
  check(server >= 0, "fork");
  if (server == 0) {
    const int number = accept(listener, NULL, NULL);
    check(number >= 0, "accept");
    play_server(number, how, by);
  }
  int status = 0;
  check(waitpid(server, &status, 0) == server, "wait");
  if (WIFSIGNALED(status)) printf("server killed by %d\n", WTERMSIG(status));
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0) printf("server ended with %d\n", WEXITSTATUS(status));
  check(waitpid(client, &status, 0) == client, "wait");
  const int client_ended = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (client_ended != 0 && strcmp(how, "raw") != 0) printf("client ended with %d\n", client_ended);
  return 0;
}
