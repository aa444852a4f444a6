/* Double buffering: one process produces blocks, another reads them, and neither waits while the other works.
 *
 * Each of two buffers is published with a persistent send on a separate connection. EXS_NOTIFY reports to the
 * producer that the consumer has read a buffer (EXS_EVT_PEER_READ), which can then hold the next block. A
 * third connection carries the number of each block after the first two, so that the consumer reads no block
 * twice. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <exs/exs.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 200, BLOCK_WORDS = 65536, READY = 2, CONNECTIONS = 3, QUEUE_DEPTH = 16, NUMBERS = 8 };

/* Each process has one of these, in registered memory. */
struct memory {
  uint64_t buffers[2][BLOCK_WORDS];
  uint64_t numbers[NUMBERS]; /* of blocks, on the way to the consumer */
};

static exs_qhandle_t queue;
static exs_mhandle_t region;
static struct memory* memory;

static int check(int result, const char* what) {
  if (result != -1) return result;
  perror(what);
  exit(1);
}

static void start_library(void) {
  check(exs_init(EXS_VERSION), "exs_init");
  queue = check(exs_qcreate(QUEUE_DEPTH), "exs_qcreate");
  memory = exs_alloc(sizeof *memory, &region);
  check(memory == NULL ? -1 : 0, "exs_alloc");
}

static exs_event_t next_event(void) {
  exs_event_t event;
  struct timeval limit = {.tv_sec = 30};
  int taken;
  do taken = exs_qdequeue(queue, &event, 1, &limit);
  while (taken == -1 && errno == EINTR);
  check(taken, "exs_qdequeue");
  errno = taken == 0 ? ETIMEDOUT : event.exs_evt_errno;
  check(errno != 0 ? -1 : 0, "the other process");
  return event;
}

/* ---- the producer */

static void fill(uint64_t block) {
  for (uint64_t i = 0; i < BLOCK_WORDS; i++) memory->buffers[block % 2][i] = block * BLOCK_WORDS + i;
}

static void tell(uint64_t block, int ready) {
  uint64_t* number = &memory->numbers[block % NUMBERS];
  *number = block;
  check(exs_send(ready, number, sizeof *number, 0, queue, NULL, region), "exs_send");
}

static uint64_t produce(int listener) {
  int sockets[CONNECTIONS];
  uint64_t held[2] = {0, 1}, reads = 0; /* block in each buffer; reads of both buffers */
  for (int i = 0; i < CONNECTIONS; i++) {
    check(exs_accept(listener, NULL, 0, queue, NULL), "exs_accept");
    exs_event_t event = next_event();
    sockets[i] = exs_event_new_socket(&event);
  }
  for (int i = 0; i < 2; i++) {
    fill(held[i]);
    check(exs_send(sockets[i], memory->buffers[i], sizeof memory->buffers[i], EXS_PERSISTENT | EXS_NOTIFY,
                   queue, NULL, region),
          "exs_send");
  }
  while (reads < BLOCKS) {
    exs_event_t event = next_event();
    if (event.exs_evt_type != EXS_EVT_PEER_READ) continue; /* the send of a number */
    int buffer = event.exs_evt_socket == sockets[1];
    reads += exs_event_count(&event);
    held[buffer] += 2;
    if (held[buffer] >= BLOCKS) continue;
    fill(held[buffer]);
    tell(held[buffer], sockets[READY]);
  }
  tell(BLOCKS, sockets[READY]); /* the consumer may close */
  return reads;
}

/* ---- the consumer */

static void connect_all(int port, int sockets[CONNECTIONS]) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  address.sin_port = htons((unsigned short)port);
  for (int i = 0; i < CONNECTIONS; i++) {
    sockets[i] = check(exs_socket(AF_INET, SOCK_SEQPACKET, 0), "exs_socket");
    check(exs_connect_sync(sockets[i], (struct sockaddr*)&address, sizeof address), "exs_connect_sync");
  }
}

static void receive(int socket, void* to, size_t length) {
  check(exs_recv(socket, to, length, 0, queue, NULL, region), "exs_recv");
  exs_event_t event = next_event();
  if (exs_event_bytes(&event) != length) errno = EPIPE, check(-1, "the producer");
}

/* The notifications of the two connections have no common order, nor have the numbers. */
static void wait_for(uint64_t block, uint64_t filled[2], int ready) {
  while (filled[block % 2] != block) {
    receive(ready, memory->numbers, sizeof memory->numbers[0]);
    filled[memory->numbers[0] % 2] = memory->numbers[0];
  }
}

static int consume(int port) {
  int sockets[CONNECTIONS];
  uint64_t filled[2] = {0, 1};
  start_library();
  connect_all(port, sockets);
  for (uint64_t block = 0; block < BLOCKS; block++) {
    wait_for(block, filled, sockets[READY]);
    uint64_t* words = memory->buffers[block % 2];
    receive(sockets[block % 2], words, sizeof memory->buffers[0]);
    for (uint64_t i = 0; i < BLOCK_WORDS; i++)
      if (words[i] != block * BLOCK_WORDS + i) return fprintf(stderr, "block %d is damaged\n", (int)block), 1;
  }
  wait_for(BLOCKS, filled, sockets[READY]); /* the producer knows every read */
  return exs_fini();
}

static const char help[] =
    "usage: double_buffer\n"
    "Produces blocks in one process and reads them in another, by two published buffers.\n"
    "Prints how many blocks were read.\n"
    "The exit status is 0, or 1 after an error.\n";

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return fputs(help, stdout) < 0 ? 1 : 0;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int status, port, channel[2];
  check(pipe(channel), "pipe");
  pid_t consumer = check(fork(), "fork"); /* before the library is in use */
  if (consumer == 0) return read(channel[0], &port, sizeof port) == sizeof port ? consume(port) : 1;

  start_library();
  int listener = check(exs_socket(AF_INET, SOCK_SEQPACKET, 0), "exs_socket");
  check(exs_bind(listener, (struct sockaddr*)&address, length), "exs_bind");
  check(exs_listen(listener, CONNECTIONS), "exs_listen");
  check(exs_getsockname(listener, (struct sockaddr*)&address, &length), "exs_getsockname");
  port = ntohs(address.sin_port);
  check(write(channel[1], &port, sizeof port) == sizeof port ? 0 : -1, "write");
  uint64_t reads = produce(listener);
  while (waitpid(consumer, &status, 0) == -1) check(errno == EINTR ? 0 : -1, "waitpid");
  printf("%d blocks of %zu bytes, read %d times\n", BLOCKS, sizeof memory->buffers[0], (int)reads);
  return exs_fini() == 0 && status == 0 && reads == BLOCKS ? 0 : 1;
}
