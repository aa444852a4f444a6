/* ZeroMQ for comparison with exs-blast: messages from a PUSH to a PULL socket over TCP, between two processes with a core each. The I/O
 * thread of each process runs on the same core. perf/compare compiles this if libzmq is installed. zeromq-blast BYTES SECONDS */
/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

struct usage {
  double messages, seconds, cpu_seconds;
};

static void check(int is_good, const char* what) {
  if (is_good) return;
  fprintf(stderr, "zeromq-blast: %s: %s\n", what, zmq_strerror(zmq_errno()));
  exit(1);
}

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static double cpu(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

/* Pins to the core with this index among those allowed, before ZeroMQ makes its thread. */
static void pin(int index) {
  cpu_set_t allowed, one;
  sched_getaffinity(0, sizeof allowed, &allowed);
  if (CPU_COUNT(&allowed) < 2) return;
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE; core++) {
    if (CPU_ISSET(core, &allowed) && index-- == 0) CPU_SET(core, &one);
  }
  sched_setaffinity(0, sizeof one, &one);
}

/* Receives until a message of one byte ends it. */
static void receive(int result, int address, size_t size) {
  char endpoint[256];
  size_t length = sizeof endpoint;
  char* buffer = malloc(size);
  void* socket = zmq_socket(zmq_ctx_new(), ZMQ_PULL);
  check(socket != NULL && buffer != NULL && zmq_bind(socket, "tcp://127.0.0.1:*") == 0, "cannot listen");
  check(zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &length) == 0, "no address");
  check(write(address, endpoint, length) == (ssize_t)length, "cannot tell the address");
  struct usage out = {0, 0, 0};
  double began = 0;
  for (int got; (got = zmq_recv(socket, buffer, size, 0)) != 1; out.messages++) {
    check(got == (int)size, "zmq_recv");
    if (out.messages == 0) began = now(), out.cpu_seconds = cpu();
  }
  out.seconds = now() - began;
  out.cpu_seconds = cpu() - out.cpu_seconds;
  check(write(result, &out, sizeof out) == sizeof out, "cannot tell the result");
}

int main(int argc, char** argv) {
  if (argc != 3 || atoi(argv[1]) < 2)
    return fprintf(stderr, "usage: zeromq-blast BYTES SECONDS, of 2 bytes or more\n"), 2;
  size_t size = (size_t)atol(argv[1]);
  double seconds = atof(argv[2]);
  int result[2], address[2];
  char endpoint[256] = "";
  struct usage peer;
  check(pipe(result) == 0 && pipe(address) == 0, "pipe");
  pid_t child = fork();
  check(child != -1, "fork");
  if (child == 0) {
    pin(1);
    receive(result[1], address[1], size);
    _exit(0);
  }
  close(result[1]), close(address[1]);
  pin(0);
  check(read(address[0], endpoint, sizeof endpoint) > 0, "the receiver has ended");
  char* message = calloc(1, size);
  void* socket = zmq_socket(zmq_ctx_new(), ZMQ_PUSH);
  check(socket != NULL && message != NULL && zmq_connect(socket, endpoint) == 0, "cannot connect");
  double began = now(), cpu_began = cpu();
  while (now() < began + seconds) {
    for (int n = 0; n < 16; n++) check(zmq_send(socket, message, size, 0) == (int)size, "zmq_send");
  }
  check(zmq_send(socket, message, 1, 0) == 1, "zmq_send");
  check(read(result[0], &peer, sizeof peer) == sizeof peer, "the receiver has ended");
  double wall = now() - began;
  waitpid(child, NULL, 0);
  printf(
      "{\"messages_per_second\": %.0f, \"bytes_per_second\": %.0f, \"sender_cpu_percent\": %.1f, "
      "\"receiver_cpu_percent\": %.1f}\n",
      peer.messages / peer.seconds, peer.messages * (double)size / peer.seconds,
      100 * (cpu() - cpu_began) / wall, 100 * peer.cpu_seconds / peer.seconds);
  return 0;
}
