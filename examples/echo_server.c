/* An asynchronous echo server: many clients, one thread (beside the one that waits for SIGINT), one event
 * queue, one pool of buffers.
 *
 * One accept and, for each client, one receive stay posted. A message arrives in a buffer of the pool. The send that
 * returns it uses the same buffer, and its event gives the buffer back. So the program needs as many buffers as messages
 * that it holds at a time, whatever the number of clients, and keeps no state of a client. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <exs/exs.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { QUEUE_DEPTH = 65536, BATCH = 64, MESSAGE_MAX = 65536, BUFFERS = 256, LINGER_MS = 1000 };

struct reply {
  int socket;
  void* buffer;
  size_t bytes;
};

static int stopped;
static exs_qhandle_t queue;
static exs_mhandle_t region;
static exs_phandle_t pool;
static struct reply
    stalled[BUFFERS]; /* their sends failed with EAGAIN; repeated after each batch of events */
static int stalled_count;
static unsigned long served, failed, echoed;

static int check(int result, const char* what) {
  if (result != -1) return result;
  perror(what);
  exit(1);
}

static void create_pool(void) {
  void* buffers = exs_alloc((size_t)BUFFERS * MESSAGE_MAX, &region);
  check(buffers == NULL ? -1 : 0, "exs_alloc");
  pool = check(exs_pool_create(buffers, MESSAGE_MAX, BUFFERS, region), "exs_pool_create");
}

static void drop(int socket, unsigned long* counter) {
  ++*counter;
  if (exs_close_async(socket, 0, queue, NULL) == -1) exs_close(socket); /* no slot for an event */
}

static void echo(struct reply reply) {
  if (exs_send(reply.socket, reply.buffer, reply.bytes, 0, queue, NULL, region) == 0) return;
  if (errno == EAGAIN) {
    stalled[stalled_count++] = reply; /* the queue is full: dequeue events first */
  } else {
    exs_pool_return(pool, reply.buffer); /* the client has gone: the last event of its receive follows */
  }
}

static void echo_stalled(void) {
  int count = stalled_count;
  struct reply list[BUFFERS];
  memcpy(list, stalled, (size_t)count * sizeof *list);
  stalled_count = 0;
  for (int i = 0; i < count; i++) echo(list[i]);
}

static void handle_accept(const exs_event_t* event) {
  if (event->exs_evt_errno != 0) {
    fprintf(stderr, "a client could not connect: %s\n", strerror(event->exs_evt_errno));
    return;
  }
  int client = exs_event_new_socket(event);
  if (exs_recv_pooled(client, pool, 0, queue, NULL) == -1) drop(client, &failed);
}

static void handle_message(const exs_event_t* event) {
  if (!(event->exs_evt_flags & EXS_EVF_MORE)) { /* the end: of the client's sending, or of the connection */
    drop(event->exs_evt_socket, event->exs_evt_flags & EXS_EVF_EOF ? &served : &failed);
  } else if (event->exs_evt_flags & EXS_EVF_TRUNC) { /* longer than a buffer: the last event follows */
    exs_pool_return(pool, exs_event_buffer(event));
    exs_cancel(event->exs_evt_socket, NULL, EXS_CAF_FILDES);
  } else {
    echo((struct reply){event->exs_evt_socket, exs_event_buffer(event), exs_event_bytes(event)});
  }
}

static void handle_sent(const exs_event_t* event) {
  if (event->exs_evt_errno == 0) echoed++;
  exs_pool_return(pool, exs_event_buffer(event));
}

/* Turns SIGINT into an event, because a handler does not end a wait that begins just after it. */
static void* await_interrupt(void* signals) {
  int number;
  sigwait(signals, &number);
  while (exs_qpost(queue, NULL, NULL) == -1 && errno == EAGAIN) sched_yield(); /* the queue is full for now */
  return NULL;
}

static void handle(const exs_event_t* event) {
  switch (event->exs_evt_type) {
    case EXS_EVT_USER: stopped = 1; break;
    case EXS_EVT_ACCEPT: handle_accept(event); break;
    case EXS_EVT_RECV: handle_message(event); break;
    case EXS_EVT_SEND: handle_sent(event); break;
    default: break; /* EXS_EVT_CLOSE */
  }
}

static int listen_on(const char* host, int port) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t length = sizeof address;
  address.sin_port = htons((unsigned short)port);
  check(inet_pton(AF_INET, host, &address.sin_addr) == 1 ? 0 : (errno = EINVAL, -1), host);
  int listener = check(exs_socket(AF_INET, SOCK_SEQPACKET, 0), "exs_socket");
  /* exs_close blocks on the peer; a silent peer must not delay the others for long. */
  check(exs_setsockopt(listener, SOL_EXS, EXS_SO_LINGER_MS, &(int){LINGER_MS}, sizeof(int)),
        "exs_setsockopt");
  check(exs_bind(listener, (struct sockaddr*)&address, length), "exs_bind");
  check(exs_listen(listener, 1024), "exs_listen");
  check(exs_getsockname(listener, (struct sockaddr*)&address, &length), "exs_getsockname");
  printf("listening on port %d\n", ntohs(address.sin_port));
  fflush(stdout);
  return listener;
}

static const char help[] =
    "usage: echo_server [-a ADDRESS] [-p PORT]\n"
    "Returns each message to its sender, for many clients, until SIGINT.\n"
    "Listens at ADDRESS (127.0.0.1), PORT (7777; 0: any free port).\n"
    "The exit status is 0, 1 after an error, or 2 if the arguments are invalid.\n";

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return fputs(help, stdout) < 0 ? 1 : 0;
  int option, port = 7777;
  const char* host = "127.0.0.1";
  while ((option = getopt(argc, argv, "a:p:")) != -1) {
    if (option == 'a') host = optarg;
    if (option == 'p') port = atoi(optarg);
    if (option == '?')
      return fprintf(stderr, "usage: echo_server [-a ADDRESS] [-p PORT]; port 0: any free one\n"), 2;
  }
  struct rlimit files; /* each connection is a descriptor */
  if (getrlimit(RLIMIT_NOFILE, &files) == 0)
    files.rlim_cur = files.rlim_max, setrlimit(RLIMIT_NOFILE, &files);
  sigset_t interrupt; /* blocked in every thread */
  sigemptyset(&interrupt), sigaddset(&interrupt, SIGINT), pthread_sigmask(SIG_BLOCK, &interrupt, NULL);

  check(exs_init(EXS_VERSION), "exs_init");
  queue = check(exs_qcreate(QUEUE_DEPTH), "exs_qcreate");
  int listener = listen_on(host, port);
  create_pool();
  check(exs_accept(listener, NULL, EXS_MULTISHOT, queue, NULL), "exs_accept");
  pthread_t waiter;
  check(pthread_create(&waiter, NULL, await_interrupt, &interrupt) != 0 ? -1 : 0, "pthread_create");
  while (!stopped) {
    exs_event_t events[BATCH];
    int count = exs_qdequeue(queue, events, BATCH, NULL);
    if (count == -1 && errno != EINTR) check(count, "exs_qdequeue");
    for (int i = 0; i < count; i++) handle(&events[i]);
    echo_stalled();
  }
  pthread_join(waiter, NULL);
  exs_fini(); /* closes all sockets and frees all registrations */
  printf("%lu clients served, %lu failed, %lu messages echoed\n", served, failed, echoed);
  return 0;
}
