/* A simulation that can be watched: heat spreads over a plate, and viewers may read the plate while it runs.
 *
 * The plate, in several slots, is published with one persistent send on each viewer's connection. From then
 * on viewers read it by RDMA, served by the library: the thread that computes makes no call into the library
 * and no system call, and does not know whether it is watched. The main thread accepts viewers. heat_view.c is the viewer. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <exs/exs.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WIDTH = 128, HEIGHT = 128, HOT = 100, QUEUE_DEPTH = 1024, SLOTS = 16 };

/* The data that viewers read. Each step is computed into another slot, from the slot of the step before. So
 * viewers always find whole steps: 2^14 steps, a tenth of a second, may pass while they read one. */
struct plate {
  uint64_t step; /* 1: the initial plate */
  uint32_t width, height;
  float cells[HEIGHT][WIDTH];
};
static exs_slots_t* slots;
static int stopped;
static exs_qhandle_t queue;

static int check(int result, const char* what) {
  if (result != -1) return result;
  perror(what);
  exit(1);
}

/* A hot disc in the middle of a cold plate, whose edges stay cold. */
static void heat_up(void) {
  struct plate* plate = exs_slots_begin(slots);
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++) {
      int dx = x - WIDTH / 2, dy = y - HEIGHT / 2;
      if (dx * dx + dy * dy < WIDTH * HEIGHT / 64) plate->cells[y][x] = HOT;
    }
  plate->step = 1, plate->width = WIDTH, plate->height = HEIGHT;
  exs_slots_end(slots);
}

/* One step of Jacobi's method: each cell becomes the mean of its neighbours. The row in the middle is heated.
 */
static void diffuse(float to[HEIGHT][WIDTH], float from[HEIGHT][WIDTH]) {
  for (int y = 1; y < HEIGHT - 1; y++)
    for (int x = 1; x < WIDTH - 1; x++)
      to[y][x] = 0.25F * (from[y - 1][x] + from[y + 1][x] + from[y][x - 1] + from[y][x + 1]);
  for (int x = WIDTH / 4; x < WIDTH / 2; x++) to[HEIGHT / 2][x] = HOT;
}

/* The simulation only computes. */
static void* simulate(void* unused) {
  for (uint64_t step = 2; !__atomic_load_n(&stopped, __ATOMIC_RELAXED); step++) {
    struct plate *from = exs_slots_at(slots, step - 1), *to = exs_slots_begin(slots);
    diffuse(to->cells, from->cells);
    to->step = step, to->width = WIDTH, to->height = HEIGHT;
    exs_slots_end(slots);
  }
  return unused;
}

/* Turns SIGINT into an event, because a handler does not end a wait that begins just after it. */
static void* await_interrupt(void* signals) {
  int number;
  sigwait(signals, &number);
  while (exs_qpost(queue, NULL, NULL) == -1 && errno == EAGAIN) sched_yield(); /* the queue is full for now */
  return NULL;
}

static pthread_t start_thread(void* (*run)(void*), void* argument, const char* name) {
  pthread_t thread;
  check(pthread_create(&thread, NULL, run, argument) != 0 ? -1 : 0, "pthread_create");
  pthread_setname_np(thread, name);
  return thread;
}

/* The receive never gets a message; its event means that the viewer has gone. */
static void publish(int viewer, exs_mhandle_t region) {
  if (exs_send(viewer, slots, exs_slots_bytes(SLOTS, sizeof(struct plate)), EXS_PERSISTENT, queue, NULL,
               region) == -1 ||
      exs_recv(viewer, NULL, 0, 0, queue, NULL, region) == -1)
    exs_close(viewer);
}

static void handle(const exs_event_t* event, int listener, exs_mhandle_t region) {
  if (event->exs_evt_type == EXS_EVT_USER) {
    __atomic_store_n(&stopped, 1, __ATOMIC_RELAXED);
  } else if (event->exs_evt_type == EXS_EVT_ACCEPT) {
    check(exs_accept(listener, NULL, 0, queue, NULL), "exs_accept");
    if (event->exs_evt_errno == 0) publish(exs_event_new_socket(event), region);
  } else if (event->exs_evt_type == EXS_EVT_RECV && event->exs_evt_errno != ECANCELED) {
    exs_close(event->exs_evt_socket); /* this completes the persistent send, with an event of no interest */
  }
}

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static const char help[] =
    "usage: heat [PORT [ADDRESS]]\n"
    "Computes how heat spreads over a plate, until SIGINT. heat_view watches it meanwhile.\n"
    "Listens at ADDRESS (127.0.0.1), PORT (7779; 0: any free port).\n"
    "The exit status is 0, 1 after an error, or 2 if the arguments are invalid.\n";

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return fputs(help, stdout) < 0 ? 1 : 0;
  if (argc > 1 && argv[1][strspn(argv[1], "0123456789")] != '\0') return fputs(help, stderr), 2;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  address.sin_port = htons((unsigned short)(argc > 1 ? atoi(argv[1]) : 7779)); /* 0: any free port */
  if (argc > 2 && inet_pton(AF_INET, argv[2], &address.sin_addr) != 1)
    return fprintf(stderr, "no address: %s\n", argv[2]), 2;
  sigset_t interrupt; /* blocked in every thread */
  sigemptyset(&interrupt), sigaddset(&interrupt, SIGINT), pthread_sigmask(SIG_BLOCK, &interrupt, NULL);

  exs_mhandle_t region;
  check(exs_init(EXS_VERSION), "exs_init");
  slots = exs_alloc(exs_slots_bytes(SLOTS, sizeof(struct plate)), &region);
  check(slots == NULL ? -1 : 0, "exs_alloc");
  exs_slots_init(slots, SLOTS, sizeof(struct plate));
  heat_up();
  queue = check(exs_qcreate(QUEUE_DEPTH), "exs_qcreate");
  int listener = check(exs_socket(AF_INET, SOCK_SEQPACKET, 0), "exs_socket");
  check(exs_bind(listener, (struct sockaddr*)&address, length), "exs_bind");
  check(exs_listen(listener, 16), "exs_listen");
  check(exs_getsockname(listener, (struct sockaddr*)&address, &length), "exs_getsockname");
  check(exs_accept(listener, NULL, 0, queue, NULL), "exs_accept");
  printf("listening on port %d\n", ntohs(address.sin_port)), fflush(stdout);

  double start = now();
  pthread_t waiter = start_thread(await_interrupt, &interrupt, "interrupt");
  pthread_t simulation = start_thread(simulate, NULL, "simulation");
  while (!stopped) {
    exs_event_t event;
    int taken = exs_qdequeue(queue, &event, 1, NULL);
    if (taken == -1 && errno != EINTR) check(-1, "exs_qdequeue");
    if (taken == 1) handle(&event, listener, region);
  }
  pthread_join(simulation, NULL);
  pthread_join(waiter, NULL);
  double seconds = now() - start;
  unsigned long long steps = slots->window.sequence / 2 - 1;
  printf("%llu steps in %.3f s, %.0f a second\n", steps, seconds, (double)steps / seconds);
  return exs_fini();
}
