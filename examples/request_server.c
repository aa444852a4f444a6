/* A request/response server for thousands of clients: threads that share nothing but the listening socket.
 *
 * Each thread has its own queue with one posted accept; the clients that it accepts use that queue. A client
 * has one pending operation: the receive of a request, or the send of its reply. A request is
 * "add NUMBER NUMBER"; the reply is the sum. Closing the listening socket cancels the accepts, and that stops
 * the threads. */
#include <arpa/inet.h>
#include <errno.h>
#include <exs/exs.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { THREADS = 2, CLIENTS_MAX = 16384, BATCH = 64, MESSAGE_MAX = 128, BACKLOG = 1024, LINGER_MS = 1000 };

struct client {
  int socket, replying;
  struct client* next_free;
  char text[MESSAGE_MAX]; /* the request, then the reply */
};

static struct worker {
  pthread_t thread;
  exs_qhandle_t queue;
  exs_mhandle_t region;   /* all clients: registering once is cheaper than once for each */
  struct client* clients; /* CLIENTS_MAX, of which `used` were ever in use: the others cost no memory */
  struct client* free;
  int used, stopped;
  unsigned long served, failed, answered;
} workers[THREADS];
static int listener;

static int check(int result, const char* what) {
  if (result != -1) return result;
  perror(what);
  exit(1);
}

/* The request in `text` becomes the reply; returns its length. */
static size_t answer(char text[MESSAGE_MAX], size_t length) {
  long a, b;
  char request[MESSAGE_MAX + 1] = "";
  memcpy(request, text, length); /* the message need not end with a zero; the copy does */
  int known = sscanf(request, "add %9ld %9ld", &a, &b) == 2;
  return (size_t)(known ? snprintf(text, MESSAGE_MAX, "%ld", a + b)
                        : snprintf(text, MESSAGE_MAX, "error: not a request"));
}

/* The client has no pending operation when this is called. EXS_EVT_CLOSE follows. */
static void drop(struct worker* w, struct client* c, unsigned long* counter) {
  check(exs_close_async(c->socket, 0, w->queue, c), "exs_close_async"), ++*counter;
}

/* The queue has a slot for every client, so any error means that the connection is gone. */
static void receive(struct worker* w, struct client* c) {
  c->replying = 0;
  if (exs_recv(c->socket, c->text, MESSAGE_MAX, 0, w->queue, c, w->region) == -1) drop(w, c, &w->failed);
}

static void reply(struct worker* w, struct client* c, size_t length) {
  c->replying = 1;
  if (exs_send(c->socket, c->text, length, 0, w->queue, c, w->region) == -1) drop(w, c, &w->failed);
}

static void handle(struct worker* w, struct client* c, const exs_event_t* event) {
  if (event->exs_evt_type == EXS_EVT_CLOSE) {
    c->next_free = w->free, w->free = c;
  } else if (event->exs_evt_flags & EXS_EVF_EOF) {
    drop(w, c, &w->served); /* the client has closed */
  } else if (event->exs_evt_errno != 0 || event->exs_evt_flags & EXS_EVF_TRUNC) {
    drop(w, c, &w->failed); /* the connection failed, or the request is too long */
  } else if (c->replying) {
    w->answered++, receive(w, c);
  } else {
    reply(w, c, answer(c->text, event->exs_evt_union.exs_evt_xfer.exs_evt_length));
  }
}

static void handle_accept(struct worker* w, const exs_event_t* event) {
  w->stopped = event->exs_evt_errno == ECANCELED;
  if (w->stopped) return;
  if (exs_accept(listener, NULL, 0, w->queue, NULL) == -1) w->stopped = 1; /* closed just now */
  if (event->exs_evt_errno != 0) return; /* that client could not connect; the next one may */
  int socket = event->exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  struct client* c = w->free;
  if (c != NULL) w->free = c->next_free;
  if (c == NULL && w->used < CLIENTS_MAX) c = &w->clients[w->used++];
  if (c == NULL) { /* full: this client is rejected */
    exs_close(socket), w->failed++;
    return;
  }
  c->socket = socket, receive(w, c);
}

static void* work(void* worker) {
  struct worker* w = worker;
  exs_event_t events[BATCH];
  while (!w->stopped) {
    int count = exs_qdequeue(w->queue, events, BATCH, NULL);
    if (count == -1 && errno != EINTR) check(count, "exs_qdequeue"); /* a signal is no reason to stop */
    for (int i = 0; i < count; i++) {
      if (events[i].exs_evt_type == EXS_EVT_ACCEPT) handle_accept(w, &events[i]);
      if (events[i].exs_evt_type != EXS_EVT_ACCEPT) handle(w, events[i].exs_evt_ahandle, &events[i]);
    }
  }
  return NULL;
}

static void start(struct worker* w) {
  w->queue = check(exs_qcreate(CLIENTS_MAX + BATCH), "exs_qcreate");
  w->clients = calloc(CLIENTS_MAX, sizeof *w->clients);
  check(w->clients == NULL ? -1 : 0, "calloc");
  w->region = check(exs_mregister(w->clients, CLIENTS_MAX * sizeof *w->clients, 0), "exs_mregister");
  check(exs_accept(listener, NULL, 0, w->queue, NULL), "exs_accept");
  check(pthread_create(&w->thread, NULL, work, w) != 0 ? -1 : 0, "pthread_create");
}

int main(int argc, char** argv) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  address.sin_port = htons((unsigned short)(argc > 1 ? atoi(argv[1]) : 7778)); /* 0: any free one */
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
  exs_fini(); /* closes what is open and frees queues and registrations */
  printf("%lu clients served, %lu failed, %lu requests answered\n", all.served, all.failed, all.answered);
  return 0;
}
