/* An owner of memory, and a peer that reads it: two processes for owner-makes-no-call.
 *   tools-reads owner ADDRESS [notify]     publishes one buffer for one peer, until the peer goes
 *   tools-reads reader ADDRESS PORT READS  reads once, then waits for a line on its input, reads, waits again
 * What each has come to is said by a line: the port; "ready"; "done". */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <exs/exs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 4096, CONTENT = 0x5a, QUEUE_DEPTH = 64 };

static exs_qhandle_t queue;
static struct sockaddr_in address = {.sin_family = AF_INET};

static int check(int result, const char* what) {
  if (result != -1) return result;
  perror(what);
  exit(1);
}

static exs_event_t next(const char* what) {
  exs_event_t event;
  check(exs_qdequeue(queue, &event, 1, NULL) == 1 ? 0 : -1, "exs_qdequeue");
  errno = event.exs_evt_type == EXS_EVT_SEND
              ? 0
              : event.exs_evt_errno; /* the peer's end ends a persistent send */
  check(errno == 0 ? 0 : -1, what);
  return event;
}

static void say(const char* word) {
  puts(word);
  fflush(stdout);
}

static void wait_for_line(void) {
  while (getchar() != '\n' && !feof(stdin)) continue;
}

static void own(int flags) {
  char port[8];
  exs_mhandle_t region;
  socklen_t length = sizeof address;
  char* buffer = exs_alloc(SIZE, &region);
  check(buffer == NULL ? -1 : 0, "exs_alloc");
  memset(buffer, CONTENT, SIZE);
  int listener = check(exs_socket(AF_INET, SOCK_SEQPACKET, 0), "exs_socket");
  check(exs_bind(listener, (struct sockaddr*)&address, length), "exs_bind");
  check(exs_listen(listener, 1), "exs_listen");
  check(exs_getsockname(listener, (struct sockaddr*)&address, &length), "exs_getsockname");
  check(exs_accept(listener, NULL, 0, queue, NULL), "exs_accept");
  snprintf(port, sizeof port, "%d", ntohs(address.sin_port));
  say(port);
  int peer = next("accept").exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  check(exs_send(peer, buffer, SIZE, flags, queue, NULL, region), "exs_send");
  check(exs_recv(peer, NULL, 0, 0, queue, NULL, region), "exs_recv");
  while (next("recv").exs_evt_type != EXS_EVT_RECV) continue; /* notices of reads; the end */
}

static void read_once(int owner, char* buffer, exs_mhandle_t region) {
  memset(buffer, 0, SIZE);
  check(exs_recv(owner, buffer, SIZE, 0, queue, NULL, region), "exs_recv");
  next("recv");
  for (int i = 0; i < SIZE; i++) {
    if (buffer[i] == CONTENT) continue;
    fprintf(stderr, "byte %d is wrong\n", i);
    exit(1);
  }
}

static void read_all(int reads) {
  exs_mhandle_t region;
  char* buffer = exs_alloc(SIZE, &region);
  check(buffer == NULL ? -1 : 0, "exs_alloc");
  int owner = check(exs_socket(AF_INET, SOCK_SEQPACKET, 0), "exs_socket");
  check(exs_connect(owner, (struct sockaddr*)&address, sizeof address, 0, queue, NULL), "exs_connect");
  next("connect");
  read_once(owner, buffer, region);
  say("ready");
  wait_for_line();
  for (int i = 0; i < reads; i++) read_once(owner, buffer, region);
  say("done");
  wait_for_line();
  check(exs_close(owner), "exs_close");
}

int main(int argc, char** argv) {
  const int owns = argc >= 3 && strcmp(argv[1], "owner") == 0;
  if ((!owns && argc != 5) || inet_pton(AF_INET, argv[2], &address.sin_addr) != 1) return 2;
  const int mode = EXS_WAIT_NOTIFY;
  check(exs_init(EXS_VERSION), "exs_init");
  queue = check(exs_qcreate(QUEUE_DEPTH), "exs_qcreate");
  check(exs_qmodify(queue, EXS_QATTR_WAIT, &mode, sizeof mode), "exs_qmodify");
  if (owns) {
    own(EXS_PERSISTENT | (argc > 3 ? EXS_NOTIFY : 0));
  } else {
    address.sin_port = htons((unsigned short)atoi(argv[3]));
    read_all(atoi(argv[4]));
  }
  return exs_fini();
}
