/* Load for request_server: opens many connections at once, keeps one request pending on each, and checks
 * every reply. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <exs/exs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 64, CONNECTING_MAX = 64, MESSAGE_MAX = 64, SILENCE_LIMIT_S = 30 };

struct connection {
  int socket, number, sent, answered;
  char request[MESSAGE_MAX], reply[MESSAGE_MAX];
};

static struct sockaddr_in server = {.sin_family = AF_INET};
static exs_qhandle_t queue;
static exs_mhandle_t region; /* of all connections */
static int requests = 10;

static int check(int result, const char* what) {
  if (result != -1) return result;
  perror(what);
  exit(1);
}

static void open_connection(struct connection* c) {
  c->socket = check(exs_socket(AF_INET, SOCK_SEQPACKET, 0), "exs_socket");
  check(exs_connect(c->socket, (struct sockaddr*)&server, sizeof server, 0, queue, c), "exs_connect");
}

/* The receive is posted first, so that the reply arrives in place. */
static void ask(struct connection* c) {
  int length = snprintf(c->request, MESSAGE_MAX, "add %d %d", c->number, c->answered);
  check(exs_recv(c->socket, c->reply, MESSAGE_MAX, 0, queue, c, region), "exs_recv");
  check(exs_send(c->socket, c->request, (size_t)length, 0, queue, c, region), "exs_send");
}

static void check_reply(struct connection* c, size_t length) {
  char expected[MESSAGE_MAX];
  int expected_length = snprintf(expected, MESSAGE_MAX, "%d", c->number + c->answered);
  if (length == (size_t)expected_length && memcmp(c->reply, expected, length) == 0) return;
  fprintf(stderr, "\"%s\" was answered with \"%.*s\"\n", c->request, (int)length, c->reply);
  exit(1);
}

/* Returns 1 when this was the last event of its connection. */
static int handle(const exs_event_t* event) {
  struct connection* c = event->exs_evt_ahandle;
  if (event->exs_evt_errno != 0 || event->exs_evt_flags & EXS_EVF_EOF) {
    const char* reason = event->exs_evt_errno != 0 ? strerror(event->exs_evt_errno) : "the server has ended";
    fprintf(stderr, "%s: %s\n", exs_evtname(event->exs_evt_type), reason);
    exit(1);
  }
  if (event->exs_evt_type == EXS_EVT_SEND) c->sent++;
  if (event->exs_evt_type == EXS_EVT_RECV) {
    check_reply(c, exs_event_bytes(event));
    c->answered++;
  }
  if (c->sent != c->answered) return 0; /* the other event of this request follows */
  if (c->answered == requests) return 1;
  ask(c);
  return 0;
}

/* A signal is no reason to stop waiting. */
static int wait_for_events(exs_event_t* events, int room, struct timeval* limit) {
  int taken;
  do taken = exs_qdequeue(queue, events, room, limit);
  while (taken == -1 && errno == EINTR);
  return check(taken, "exs_qdequeue");
}

static void run(struct connection* connections, int count) {
  int opened = 0, connected = 0, finished = 0;
  while (finished < count) {
    for (; opened < count && opened - connected < CONNECTING_MAX; opened++) {
      connections[opened].number = opened;
      open_connection(&connections[opened]);
    }
    exs_event_t events[BATCH];
    struct timeval limit = {.tv_sec = SILENCE_LIMIT_S};
    int taken = wait_for_events(events, BATCH, &limit);
    if (taken == 0) {
      fprintf(stderr, "nothing for %d s, %d of %d connections finished\n", SILENCE_LIMIT_S, finished, count);
      exit(1);
    }
    for (int i = 0; i < taken; i++) {
      connected += events[i].exs_evt_type == EXS_EVT_CONNECT;
      finished += handle(&events[i]);
    }
  }
}

static const char help[] =
    "usage: request_load [-a ADDRESS] [-p PORT] [-c CONNECTIONS] [-m REQUESTS]\n"
    "Opens CONNECTIONS (100) to request_server at ADDRESS (127.0.0.1), PORT (7778), at once.\n"
    "Sends REQUESTS on each, one at a time, and checks every reply.\n"
    "The exit status is 0, 1 after an error, or 2 if the arguments are invalid.\n";

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return fputs(help, stdout) < 0 ? 1 : 0;
  int option, port = 7778, count = 100;
  const char* address = "127.0.0.1";
  while ((option = getopt(argc, argv, "a:p:c:m:")) != -1) {
    if (option == 'a') address = optarg;
    if (option == 'p') port = atoi(optarg);
    if (option == 'c') count = atoi(optarg);
    if (option == 'm') requests = atoi(optarg);
    if (option == '?' || count < 1 || requests < 1) return fputs(help, stderr), 2;
  }
  server.sin_port = htons((unsigned short)port);
  if (inet_pton(AF_INET, address, &server.sin_addr) != 1)
    return fprintf(stderr, "no address: %s\n", address), 2;
  struct rlimit files; /* each connection is a descriptor */
  if (getrlimit(RLIMIT_NOFILE, &files) == 0)
    files.rlim_cur = files.rlim_max, setrlimit(RLIMIT_NOFILE, &files);

  check(exs_init(EXS_VERSION), "exs_init");
  queue =
      check(exs_qcreate(2 * count + BATCH), "exs_qcreate"); /* at most two operations on each connection */
  struct connection* connections = calloc((size_t)count, sizeof *connections);
  check(connections == NULL ? -1 : 0, "calloc");
  region = check(exs_mregister(connections, (size_t)count * sizeof *connections, 0), "exs_mregister");
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  run(connections, count);
  clock_gettime(CLOCK_MONOTONIC, &end);
  double seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
  printf("%d connections, %d requests on each, all answered, in %.2f s\n", count, requests, seconds);
  for (int i = 0; i < count; i++) check(exs_close(connections[i].socket), "exs_close");
  exs_fini();
  free(connections);
  return 0;
}
