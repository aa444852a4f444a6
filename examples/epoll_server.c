/* A server in a program that has a loop of its own: one thread sleeps in epoll_wait, for the queue of exs, a timer,
 * signals and its standard input.
 *
 * A client sends "add NUMBER NUMBER" and gets the sum. The word "count" on the standard input prints the number
 * of answers, the timer prints it when it has changed, and the end of the input, or SIGINT, ends the server. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <exs/exs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { SLOTS = 16384, BUFFERS = 1024, BATCH = 64, MESSAGE_MAX = 128, BACKLOG = 1024, PERIOD_NS = 100000000 };

static exs_qhandle_t queue;
static exs_mhandle_t region;
static exs_phandle_t pool;
static unsigned long answered, told;

static int check(int result, const char* what) {
  if (result != -1) return result;
  perror(what);
  exit(1);
}

/* Replaces the request in `text` by the reply; returns its length. */
static size_t answer(char text[MESSAGE_MAX], size_t length) {
  long a, b;
  char request[MESSAGE_MAX + 1] = "";
  memcpy(request, text, length);
  int known = sscanf(request, "add %9ld %9ld", &a, &b) == 2;
  return (size_t)(known ? snprintf(text, MESSAGE_MAX, "%ld", a + b)
                        : snprintf(text, MESSAGE_MAX, "error: not a request"));
}

static void drop(int client) {
  if (exs_close_async(client, 0, queue, NULL) == -1) exs_close(client);
}

static void handle_request(const exs_event_t* event) {
  if (!(event->exs_evt_flags & EXS_EVF_MORE)) { /* the client has closed, or the connection failed */
    drop(event->exs_evt_socket);
    return;
  }
  char* text = exs_event_buffer(event);
  size_t length = answer(text, exs_event_bytes(event));
  if (exs_send(event->exs_evt_socket, text, length, 0, queue, NULL, region) == -1) {
    exs_pool_return(pool, text);
    exs_cancel(event->exs_evt_socket, NULL, EXS_CAF_FILDES);
  }
}

static void handle(const exs_event_t* event) {
  if (event->exs_evt_type == EXS_EVT_ACCEPT) {
    int client = exs_event_new_socket(event);
    if (client != -1 && exs_recv_pooled(client, pool, 0, queue, NULL) == -1) drop(client);
  } else if (event->exs_evt_type == EXS_EVT_RECV) {
    handle_request(event);
  } else if (event->exs_evt_type == EXS_EVT_SEND) {
    if (event->exs_evt_errno == 0) answered++;
    exs_pool_return(pool, exs_event_buffer(event));
  }
}

/* The queue's descriptor is level-triggered: events that a batch leaves wake epoll_wait again. */
static void handle_queue(void) {
  exs_event_t events[BATCH];
  int count = exs_qdequeue(queue, events, BATCH, &(struct timeval){0, 0});
  for (int i = 0; i < count; i++) handle(&events[i]);
}

static void tell(void) {
  told = answered;
  printf("%lu requests answered\n", answered), fflush(stdout);
}

static void handle_timer(int timer) {
  uint64_t expirations;
  if (read(timer, &expirations, sizeof expirations) > 0 && told != answered) tell();
}

/* Returns 0 at the end of the input. */
static int handle_input(void) {
  char line[MESSAGE_MAX + 1];
  ssize_t length = read(STDIN_FILENO, line, MESSAGE_MAX);
  if (length <= 0) return length == -1 && errno == EINTR;
  line[length] = 0;
  if (strstr(line, "count") != NULL) tell();
  return 1;
}

static int watched(int set, int descriptor) {
  struct epoll_event wanted = {.events = EPOLLIN, .data.fd = descriptor};
  check(descriptor, "descriptor");
  check(epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &wanted), "epoll_ctl");
  return descriptor;
}

static int listening(unsigned short port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  address.sin_port = htons(port);
  int listener = check(exs_socket(AF_INET, SOCK_SEQPACKET, 0), "exs_socket");
  check(exs_bind(listener, (struct sockaddr*)&address, length), "exs_bind");
  check(exs_listen(listener, BACKLOG), "exs_listen");
  check(exs_accept(listener, NULL, EXS_MULTISHOT, queue, NULL), "exs_accept");
  check(exs_getsockname(listener, (struct sockaddr*)&address, &length), "exs_getsockname");
  printf("listening on port %d\n", ntohs(address.sin_port)), fflush(stdout);
  return listener;
}

static const char help[] =
    "usage: epoll_server [PORT]\n"
    "Answers \"add NUMBER NUMBER\" with the sum, from a loop of epoll, until SIGINT.\n"
    "The line \"count\" on standard input prints the number of answers; its end ends the server.\n"
    "Listens at 127.0.0.1, PORT (7778; 0: any free port).\n"
    "The exit status is 0, or 1 after an error.\n";

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return fputs(help, stdout) < 0 ? 1 : 0;
  sigset_t stop;
  sigemptyset(&stop), sigaddset(&stop, SIGINT), sigprocmask(SIG_BLOCK, &stop, NULL);
  check(exs_init(EXS_VERSION), "exs_init");
  queue = check(exs_qcreate(SLOTS), "exs_qcreate");
  void* buffers = exs_alloc((size_t)BUFFERS * MESSAGE_MAX, &region);
  check(buffers == NULL ? -1 : 0, "exs_alloc");
  pool = check(exs_pool_create(buffers, MESSAGE_MAX, BUFFERS, region), "exs_pool_create");
  listening((unsigned short)(argc > 1 ? atoi(argv[1]) : 7778)); /* 0: any free port */

  int set = check(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  int events = watched(set, exs_qfd(queue));
  int signals = watched(set, signalfd(-1, &stop, SFD_CLOEXEC));
  int timer = watched(set, timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  struct itimerspec period = {{0, PERIOD_NS}, {0, PERIOD_NS}};
  check(timerfd_settime(timer, 0, &period, NULL), "timerfd_settime");
  watched(set, STDIN_FILENO);

  for (int going_on = 1; going_on;) {
    struct epoll_event ready[4];
    int count = epoll_wait(set, ready, 4, -1);
    if (count == -1 && errno != EINTR) check(count, "epoll_wait");
    for (int i = 0; i < count; i++) {
      int descriptor = ready[i].data.fd;
      if (descriptor == events) handle_queue();
      if (descriptor == timer) handle_timer(timer);
      if (descriptor == signals || (descriptor == STDIN_FILENO && !handle_input())) going_on = 0;
    }
  }
  exs_fini(); /* closes all sockets and frees queues and registrations */
  printf("ended, %lu requests answered\n", answered);
  return 0;
}
