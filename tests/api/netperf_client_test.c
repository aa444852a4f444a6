/* The one public client of the Extended Sockets API, netperf's EXS_TCP_STREAM, by its calls: five functions,
 * on a socket that plain calls make and end, from a ring narrower than what is under way, until a timer's
 * signal says stop. The reader knows nothing of exs and checks every byte. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/exs.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
  SEND_BYTES = 65536,
  RING_WIDTH = 2,
  SENDS_MAX = 16,
  QUEUE_DEPTH = 128,
  RUN_US = 300000,
  SENDS_LEAST = 64
};

static volatile sig_atomic_t time_is_up;

static void on_alarm(int signal_number) {
  (void)signal_number;
  time_is_up = 1;
}

static void need(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "%s failed: %s\n", what, strerror(errno));
  _exit(1);
}

/* Bytes of the stream repeat with the ring. */
static unsigned char byte_at(uint64_t offset) {
  const uint64_t in_ring = offset % (RING_WIDTH * SEND_BYTES);
  return (unsigned char)((in_ring * 2654435761u) >> 13);
}

/* A plain reader: everything until the end of the stream, then it closes. Its exit status says whether the
 * bytes were right and came in whole sends. */
static void read_all(int listening) {
  static unsigned char buffer[100000];
  const int connection = accept(listening, NULL, NULL);
  need(connection >= 0, "accept");
  uint64_t offset = 0;
  for (;;) {
    const ssize_t bytes = recv(connection, buffer, sizeof buffer, 0);
    need(bytes >= 0, "recv");
    if (bytes == 0) break;
    for (ssize_t i = 0; i < bytes; ++i, ++offset) {
      if (buffer[i] == byte_at(offset)) continue;
      fprintf(stderr, "wrong byte at %llu\n", (unsigned long long)offset);
      _exit(1);
    }
  }
  printf("reader: %llu bytes\n", (unsigned long long)offset);
  fflush(stdout);
  _exit(offset % SEND_BYTES == 0 && offset >= (uint64_t)SENDS_LEAST * SEND_BYTES ? 0 : 1);
}

static unsigned char* make_ring(exs_mhandle_t* region) {
  const size_t length = (size_t)RING_WIDTH * SEND_BYTES;
  unsigned char* ring = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  need(ring != MAP_FAILED, "mmap");
  for (size_t i = 0; i < length; ++i) ring[i] = byte_at(i);
  *region = exs_mregister((void*)ring, length, 0);
  need(*region != EXS_MHANDLE_INVALID, "exs_mregister");
  return ring;
}

static void start_timer(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_alarm; /* no SA_RESTART */
  need(sigaction(SIGALRM, &action, NULL) == 0, "sigaction");
  const struct itimerval limit = {{0, 0}, {0, RUN_US}};
  need(setitimer(ITIMER_REAL, &limit, NULL) == 0, "setitimer");
}

/* Sends until the timer's signal; every accepted send gives one good event. */
static void send_for_a_while(int connection) {
  exs_mhandle_t region;
  unsigned char* ring = make_ring(&region);
  const exs_qhandle_t queue = exs_qcreate(QUEUE_DEPTH);
  need(queue != EXS_QHANDLE_INVALID, "exs_qcreate");
  exs_event_t events[QUEUE_DEPTH];
  need(exs_qdequeue(queue, events, 0, NULL) == 0, "exs_qdequeue of none");
  int pending = 0;
  uint64_t sent = 0;
  uint64_t done = 0;
  start_timer();
  while (!time_is_up || sent < SENDS_LEAST) {
    while (pending < SENDS_MAX && (!time_is_up || sent < SENDS_LEAST)) {
      const int result = exs_send(connection, ring + sent % RING_WIDTH * SEND_BYTES, SEND_BYTES, 0, queue,
                                  (exs_ahandle_t)-1, region);
      if (result != 0) need(errno == EAGAIN || errno == EINTR, "exs_send");
      if (result != 0) break;
      ++pending;
      ++sent;
    }
    const int taken = exs_qdequeue(queue, events, -(pending >> 1), NULL);
    if (taken < 0) need(errno == EINTR, "exs_qdequeue of half");
    for (int i = 0; i < taken; ++i) need(events[i].exs_evt_errno == 0, "a send");
    if (taken > 0) pending -= taken;
    if (taken > 0) done += (uint64_t)taken;
  }
  while (pending > 0) {
    const int taken = exs_qdequeue(queue, events, -pending, NULL);
    if (taken < 0 && errno == EINTR) continue;
    need(taken == pending, "exs_qdequeue of all");
    for (int i = 0; i < taken; ++i) need(events[i].exs_evt_errno == 0, "a send");
    pending -= taken;
    done += (uint64_t)taken;
  }
  need(done == sent, "an event for each send");
  printf("client: %llu sends\n", (unsigned long long)sent);
}

/* The signal ends a wait for events that cannot come, and takes none away. */
static void wait_for_a_signal(void) {
  const exs_qhandle_t queue = exs_qcreate(QUEUE_DEPTH);
  need(queue != EXS_QHANDLE_INVALID, "exs_qcreate");
  exs_event_t events[QUEUE_DEPTH];
  time_is_up = 0;
  start_timer();
  need(exs_qdequeue(queue, events, -8, NULL) == -1 && errno == EINTR && time_is_up, "the signal");
}

static void run_client(const struct sockaddr_in* address) {
  need(exs_init(EXS_VERSION) != -1, "exs_init");
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  need(connection >= 0, "socket");
  need(connect(connection, (const struct sockaddr*)address, sizeof *address) == 0, "connect");
  const int mode = fcntl(connection, F_GETFL);
  send_for_a_while(connection);
  need(fcntl(connection, F_GETFL) == mode, "the blocking mode");
  wait_for_a_signal();
  /* Plain calls follow; the receive has to wait for the reader. */
  char byte;
  need(shutdown(connection, SHUT_WR) == 0, "shutdown");
  need(recv(connection, &byte, 1, 0) == 0, "the end of the peer's stream");
  need(close(connection) == 0, "close");
  exit(0); /* nothing of exs is undone */
}

static int good_end(pid_t child) {
  int status = 0;
  need(waitpid(child, &status, 0) == child, "waitpid");
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(void) {
  struct sockaddr_in address;
  socklen_t length = sizeof address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  need(bind(listening, (struct sockaddr*)&address, length) == 0 && listen(listening, 1) == 0, "listen");
  need(getsockname(listening, (struct sockaddr*)&address, &length) == 0, "getsockname");
  const pid_t reader = fork();
  need(reader >= 0, "fork");
  if (reader == 0) read_all(listening);
  const pid_t client = fork();
  need(client >= 0, "fork");
  if (client == 0) run_client(&address);
  const int client_ok = good_end(client);
  const int reader_ok = good_end(reader);
  if (!client_ok) fprintf(stderr, "the client failed\n");
  if (!reader_ok) fprintf(stderr, "the reader failed\n");
  return client_ok && reader_ok ? 0 : 1;
}
