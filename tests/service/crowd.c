/* Many peers of one server, by exs: they connect, and stay until standard input ends. Prints how many are connected when all have
 * heard. What they want is asked for at the bare socket, so servers of any kind take them.
 *   crowd PORT PEERS */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <exs/exs.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PEERS_MAX = 1024, LIMIT_MS = 1500 };

static int check(int result, const char* what) {
  if (result != -1) return result;
  perror(what);
  exit(1);
}

int main(int argc, char** argv) {
  const int peers = argc == 3 ? atoi(argv[2]) : 0;
  if (peers < 1 || peers > PEERS_MAX) return fprintf(stderr, "usage: crowd PORT PEERS\n"), 2;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  check(exs_init(EXS_VERSION), "exs_init");
  const exs_qhandle_t queue = exs_qcreate(PEERS_MAX);
  int waiting = 0;
  for (int i = 0; i < peers; ++i) {
    const int limit_ms = LIMIT_MS;
    const int socket = check(exs_socket(AF_INET, SOCK_SEQPACKET, 0), "exs_socket");
    check(exs_setsockopt(socket, SOL_EXS, EXS_SO_CONNECT_TIMEOUT_MS, &limit_ms, sizeof limit_ms),
          "the limit");
    waiting += exs_connect(socket, (struct sockaddr*)&address, sizeof address, 0, queue, NULL) == 0;
  }
  int connected = 0;
  while (waiting > 0) {
    exs_event_t event;
    waiting -= check(exs_qdequeue(queue, &event, 1, NULL), "exs_qdequeue");
    connected += event.exs_evt_errno == 0;
  }
  printf("%d\n", connected);
  fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  return 0;
}
