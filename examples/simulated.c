/* A client that reconnects until a server has all of its messages, on a network that loses connections and kills the server. Each
 * seed is another network, and the same seed is always the same one (exs-sim(7)).
 *   simulated [SEED]
 * SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <exs/exs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMessages = 200, kRoom = 64 };

static const char kHelp[] =
    "usage: simulated [SEED]\n\n"
    "A client sends 200 messages to a server on a simulated network, which loses connections\n"
    "and kills the server. It connects again each time, and prints how often. SEED, a number,\n"
    "chooses the network (default 1).\n\n"
    "The exit status is 0, 1 after an error, or 2 if the arguments are invalid.\n";

struct ends {
  exs_qhandle_t queue;
  int listener, client, connects;
  struct sockaddr_in address;
  char *out, (*in)[kRoom];
  exs_mhandle_t region;
  long sent, received;
};

static void check(int failed, const char* what) {
  if (!failed) return;
  fprintf(stderr, "simulated: %s: %s\n", what, exs_errtext());
  exit(1);
}

static void connect_again(struct ends* ends) {
  if (ends->client >= 0) check(exs_close(ends->client) != 0, "close");
  ends->client = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  check(ends->client < 0, "socket");
  ++ends->connects;
  check(exs_connect(ends->client, (struct sockaddr*)&ends->address, sizeof ends->address, 0, ends->queue,
                    NULL) != 0,
        "connect");
}

/* The server has all messages up to `received`. */
static void send_next(struct ends* ends) {
  ends->sent = ends->received;
  snprintf(ends->out, kRoom, "message %ld", ends->sent);
  /* An error of the call has its event, too: that of the receive, or of the next connect. */
  exs_send(ends->client, ends->out, kRoom, EXS_NO_IMMEDIATE, ends->queue, NULL, ends->region);
}

static void take(struct ends* ends, const exs_event_t* event) {
  const int failed = event->exs_evt_errno != 0;
  switch (event->exs_evt_type) {
    case EXS_EVT_ACCEPT:
      if (failed) break;
      exs_recv(exs_event_new_socket(event), ends->in, kRoom, 0, ends->queue, NULL, ends->region);
      check(exs_accept(ends->listener, NULL, 0, ends->queue, NULL) != 0, "accept");
      break;
    case EXS_EVT_RECV:
      if (failed || exs_event_bytes(event) == 0) {
        check(exs_close(event->exs_evt_socket) != 0, "close of the server's end");
        break;
      }
      ends->received = atol(*ends->in + strlen("message ")) + 1;
      exs_recv(event->exs_evt_socket, ends->in, kRoom, 0, ends->queue, NULL, ends->region);
      break;
    case EXS_EVT_CONNECT:
    case EXS_EVT_SEND:
      if (event->exs_evt_socket != ends->client) break;
      if (failed)
        connect_again(ends);
      else if (ends->received < kMessages)
        send_next(ends);
      break;
    default: break;
  }
}

int main(int argc, char** argv) {
  char network[80];
  struct ends ends = {.client = -1, .address = {.sin_family = AF_INET}};
  socklen_t length = sizeof ends.address;
  exs_event_t event;
  if (argc > 1 && (argc > 2 || argv[1][0] < '0' || argv[1][0] > '9')) {
    fputs(kHelp, argc == 2 && strcmp(argv[1], "--help") == 0 ? stdout : stderr);
    return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
  }
  snprintf(network, sizeof network, "sim:seed=%ld,lose=1/100,die=1/500,down=100us,slow=1/50",
           argc > 1 ? atol(argv[1]) : 1L);
  setenv("EXS_PROVIDER", network, 1);
  setenv("EXS_LOG", "off", 0); /* the losses are meant */
  if (exs_init(EXS_VERSION) != 0) return 1;

  ends.queue = exs_qcreate(64);
  ends.out = exs_alloc(2 * kRoom, &ends.region);
  check(ends.out == NULL, "alloc");
  ends.in = (char(*)[kRoom])(ends.out + kRoom);
  ends.address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ends.listener = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  check(exs_bind(ends.listener, (struct sockaddr*)&ends.address, length) != 0, "bind");
  check(exs_listen(ends.listener, 4) != 0, "listen");
  check(exs_getsockname(ends.listener, (struct sockaddr*)&ends.address, &length) != 0, "name");
  check(exs_accept(ends.listener, NULL, 0, ends.queue, NULL) != 0, "accept");
  connect_again(&ends);
  while (ends.received < kMessages) {
    check(exs_qdequeue(ends.queue, &event, 1, NULL) != 1, "dequeue");
    take(&ends, &event);
  }
  printf("%ld messages, %d connects\n", ends.received, ends.connects);
  return exs_fini();
}
