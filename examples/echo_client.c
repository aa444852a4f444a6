/* Load for echo_server: opens many connections at once and checks every echo. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <exs/exs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BATCH = 64, CONNECTING_MAX = 64, SILENCE_LIMIT_S = 30 };

struct connection {
  int socket;
  char *out, *in; /* both in `region` */
  exs_mhandle_t region;
  int sent, received;
};

static exs_qhandle_t queue;
static struct sockaddr_in server = {.sin_family = AF_INET};
static int messages = 10;
static size_t message_bytes = 512;

static int check(int result, const char* what) {
  if (result != -1) return result;
  perror(what);
  exit(1);
}

static void open_connection(struct connection* c) {
  c->out = malloc(2 * message_bytes);
  check(c->out == NULL ? -1 : 0, "malloc");
  c->in = c->out + message_bytes;
  c->region = check(exs_mregister(c->out, 2 * message_bytes, 0), "exs_mregister");
  c->socket = check(exs_socket(AF_INET, SOCK_SEQPACKET, 0), "exs_socket");
  check(exs_connect(c->socket, (struct sockaddr*)&server, sizeof server, 0, queue, c), "exs_connect");
}

static void start_round(struct connection* c) {
  for (size_t i = 0; i < message_bytes; i++)
    c->out[i] = (char)((size_t)(c->socket * 7 + c->received * 13) + i);
  /* The receive is posted first, so that the reply arrives in place. */
  check(exs_recv(c->socket, c->in, message_bytes, 0, queue, c, c->region), "exs_recv");
  check(exs_send(c->socket, c->out, message_bytes, 0, queue, c, c->region), "exs_send");
}

static void check_reply(const struct connection* c, const exs_event_t* event) {
  size_t length = exs_event_bytes(event);
  if (length == message_bytes && memcmp(c->in, c->out, message_bytes) == 0) return;
  fprintf(stderr, "connection %d: message %d came back wrong\n", c->socket, c->received);
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
    check_reply(c, event);
    c->received++;
  }
  if (c->sent != c->received) return 0; /* the other event of the round follows */
  if (c->received == messages) return 1;
  start_round(c);
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
    while (opened < count && opened - connected < CONNECTING_MAX) open_connection(&connections[opened++]);
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
    "usage: echo_client [-a ADDRESS] [-p PORT] [-c CONNECTIONS] [-m MESSAGES] [-s BYTES]\n"
    "                   [-i IDLE_S]\n"
    "Opens CONNECTIONS (1) to echo_server at ADDRESS (127.0.0.1), PORT (7777), all at once.\n"
    "Sends MESSAGES of BYTES on each, checks every echo, and keeps all open for IDLE_S seconds.\n"
    "The exit status is 0, 1 after an error, or 2 if the arguments are invalid.\n";

static int usage(void) {
  fputs(help, stderr);
  return 2;
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return fputs(help, stdout) < 0 ? 1 : 0;
  int option, port = 7777, count = 1, idle_s = 0;
  const char* address = "127.0.0.1";
  while ((option = getopt(argc, argv, "a:p:c:m:s:i:")) != -1) {
    if (option == 'a')
      address = optarg;
    else if (option == 'p')
      port = atoi(optarg);
    else if (option == 'c')
      count = atoi(optarg);
    else if (option == 'm')
      messages = atoi(optarg);
    else if (option == 's')
      message_bytes = strtoul(optarg, NULL, 10);
    else if (option == 'i')
      idle_s = atoi(optarg);
    else
      return usage();
  }
  server.sin_port = htons((unsigned short)port);
  if (inet_pton(AF_INET, address, &server.sin_addr) != 1) return usage();
  if (count < 1 || messages < 1 || message_bytes < 1 || message_bytes > 65536 || idle_s < 0) return usage();
  struct rlimit files; /* each connection is a descriptor */
  if (getrlimit(RLIMIT_NOFILE, &files) == 0)
    files.rlim_cur = files.rlim_max, setrlimit(RLIMIT_NOFILE, &files);

  check(exs_init(EXS_VERSION), "exs_init");
  queue =
      check(exs_qcreate(2 * count + BATCH), "exs_qcreate"); /* each connection has two operations at most */
  struct connection* connections = calloc((size_t)count, sizeof *connections);
  check(connections == NULL ? -1 : 0, "calloc");
  run(connections, count);
  printf("%d connections, %d messages of %zu bytes on each, all echoed\n", count, messages, message_bytes);
  fflush(stdout);
  sleep((unsigned)idle_s);
  for (int i = 0; i < count; i++) {
    check(exs_close(connections[i].socket), "exs_close");
    exs_mderegister(connections[i].region, 0);
    free(connections[i].out);
  }
  free(connections);
  return exs_fini();
}
