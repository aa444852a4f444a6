/* A request/response server for thousands of clients: threads that share nothing but the listening socket.
 *
 * Each thread has its own queue, an accept that stays posted there, and a pool of buffers; the clients that it
 * accepts use both. Each client has one receive that stays posted. A request arrives in a buffer; the reply replaces
 * it there and is sent. A request is "add NUMBER NUMBER"; the reply is the sum. Closing the listening socket
 * cancels the accepts, and that stops the threads. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <exs/exs.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { THREADS = 2, SLOTS = 65536, BUFFERS = 1024, BATCH = 64 };
enum { MESSAGE_MAX = 128, BACKLOG = 1024, LINGER_MS = 1000 };

static struct worker {
  pthread_t thread;
  exs_qhandle_t queue;
  exs_mhandle_t region;
  exs_phandle_t pool;
  int stopped;
  unsigned long served, failed, answered;
} workers[THREADS];
static int listener;

static int check(int result, const char* what) {
  if (result != -1) return result;
  perror(what);
  exit(1);
}

/* Replaces the request in `text` by the reply; returns its length. */
static size_t answer(char text[MESSAGE_MAX], size_t length) {
  long a, b;
  char request[MESSAGE_MAX + 1] = "";
  memcpy(request, text, length); /* the message need not end with a zero; the copy does */
  int known = sscanf(request, "add %9ld %9ld", &a, &b) == 2;
  return (size_t)(known ? snprintf(text, MESSAGE_MAX, "%ld", a + b)
                        : snprintf(text, MESSAGE_MAX, "error: not a request"));
}

/* EXS_EVT_CLOSE follows, or the queue has no slot for it. */
static void drop(struct worker* w, int client, unsigned long* counter) {
  ++*counter;
  if (exs_close_async(client, 0, w->queue, NULL) == -1) exs_close(client);
}

/* Without a slot for its event the reply cannot be sent. Closing tells the client to try again. */
static void reply(struct worker* w, int client, char* text, size_t length) {
  if (exs_send(client, text, length, 0, w->queue, NULL, w->region) == 0) return;
  exs_pool_return(w->pool, text);
  exs_cancel(client, NULL, EXS_CAF_FILDES);
}

static void handle_request(struct worker* w, const exs_event_t* event) {
  char* request = exs_event_buffer(event);
  if (!(event->exs_evt_flags & EXS_EVF_MORE)) { /* the client has closed, or the connection failed */
    drop(w, event->exs_evt_socket, event->exs_evt_flags & EXS_EVF_EOF ? &w->served : &w->failed);
  } else if (event->exs_evt_flags & EXS_EVF_TRUNC) { /* too long: the last event of the receive follows */
    exs_pool_return(w->pool, request);
    exs_cancel(event->exs_evt_socket, NULL, EXS_CAF_FILDES);
  } else {
    reply(w, event->exs_evt_socket, request, answer(request, exs_event_bytes(event)));
  }
}

static void handle_accept(struct worker* w, const exs_event_t* event) {
  int client = exs_event_new_socket(event);
  if (!(event->exs_evt_flags & EXS_EVF_MORE)) w->stopped = 1; /* the listening socket is closed */
  if (client == -1) return; /* that client could not connect; the next one may */
  if (exs_recv_pooled(client, w->pool, 0, w->queue, NULL) == -1) drop(w, client, &w->failed);
}

static void handle(struct worker* w, const exs_event_t* event) {
  switch (event->exs_evt_type) {
    case EXS_EVT_ACCEPT: handle_accept(w, event); break;
    case EXS_EVT_RECV: handle_request(w, event); break;
    case EXS_EVT_SEND:
      if (event->exs_evt_errno == 0) w->answered++;
      exs_pool_return(w->pool, exs_event_buffer(event));
      break;
    default: break; /* EXS_EVT_CLOSE */
  }
}

static void* work(void* worker) {
  struct worker* w = worker;
  exs_event_t events[BATCH];
  while (!w->stopped) {
    int count = exs_qdequeue(w->queue, events, BATCH, NULL);
    if (count == -1 && errno != EINTR) check(count, "exs_qdequeue"); /* a signal is no reason to stop */
    for (int i = 0; i < count; i++) handle(w, &events[i]);
  }
  return NULL;
}

static void start(struct worker* w) {
  w->queue = check(exs_qcreate(SLOTS), "exs_qcreate");
  void* buffers = exs_alloc((size_t)BUFFERS * MESSAGE_MAX, &w->region);
  check(buffers == NULL ? -1 : 0, "exs_alloc");
  w->pool = check(exs_pool_create(buffers, MESSAGE_MAX, BUFFERS, w->region), "exs_pool_create");
  check(exs_accept(listener, NULL, EXS_MULTISHOT, w->queue, NULL), "exs_accept");
  check(pthread_create(&w->thread, NULL, work, w) != 0 ? -1 : 0, "pthread_create");
}

static const char help[] =
    "usage: request_server [PORT [ADDRESS]]\n"
    "Answers \"add NUMBER NUMBER\" with the sum, for thousands of clients, until SIGINT.\n"
    "Listens at ADDRESS (127.0.0.1), PORT (7778; 0: any free port).\n"
    "The exit status is 0, 1 after an error, or 2 if the arguments are invalid.\n";

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return fputs(help, stdout) < 0 ? 1 : 0;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  address.sin_port = htons((unsigned short)(argc > 1 ? atoi(argv[1]) : 7778)); /* 0: any free port */
  if (argc > 2 && inet_pton(AF_INET, argv[2], &address.sin_addr) != 1)
    return fprintf(stderr, "no address: %s\n", argv[2]), 2;
  struct rlimit files; /* each connection is a descriptor */
  if (getrlimit(RLIMIT_NOFILE, &files) == 0)
    files.rlim_cur = files.rlim_max, setrlimit(RLIMIT_NOFILE, &files);
  sigset_t stop; /* blocked in every thread, and taken below */
  sigemptyset(&stop), sigaddset(&stop, SIGINT), pthread_sigmask(SIG_BLOCK, &stop, NULL);

  check(exs_init(EXS_VERSION), "exs_init");
  listener = check(exs_socket(AF_INET, SOCK_SEQPACKET, 0), "exs_socket");
  check(exs_setsockopt(listener, SOL_EXS, EXS_SO_LINGER_MS, &(int){LINGER_MS}, sizeof(int)), "linger");
  check(exs_bind(listener, (struct sockaddr*)&address, length), "exs_bind");
  check(exs_listen(listener, BACKLOG), "exs_listen");
  check(exs_getsockname(listener, (struct sockaddr*)&address, &length), "exs_getsockname");
  for (int i = 0; i < THREADS; i++) start(&workers[i]);
  printf("listening on port %d\n", ntohs(address.sin_port)), fflush(stdout);

  int number;
  sigwait(&stop, &number);
  exs_close(listener);
  struct worker all = {0};
  for (struct worker* w = workers; w < workers + THREADS; w++) {
    pthread_join(w->thread, NULL);
    all.served += w->served, all.failed += w->failed, all.answered += w->answered;
  }
  exs_fini(); /* closes all sockets and frees queues and registrations */
  printf("%lu clients served, %lu failed, %lu requests answered\n", all.served, all.failed, all.answered);
  return 0;
}
