/* An asynchronous echo server: many clients, one thread (beside the one that waits for SIGINT), one event
 * queue.
 *
 * Each client has one pending operation: a receive, or the send that returns the message. So no two
 * operations use its buffer at once, and the state of a client is which of the two it is. */
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

enum { QUEUE_DEPTH = 65536, BATCH = 64, MESSAGE_MAX = 65536, LINGER_MS = 1000 };

struct client {
  int socket;
  char* buffer;
  exs_mhandle_t region;
  int receiving;      /* the operation that is pending or to be posted: a receive, else a send */
  size_t reply_bytes; /* of that send */
  struct client* next_stalled;
};

static int stopped;
static exs_qhandle_t queue;
static struct client* stalled; /* their posts failed with EAGAIN; repeated after each batch of events */
static unsigned long served, failed, echoed;

static int check(int result, const char* what) {
  if (result != -1) return result;
  perror(what);
  exit(1);
}

/* The client has no pending operation when this is called, so the program owns its memory. */
static void drop(struct client* client, unsigned long* counter) {
  ++*counter;
  exs_close(client->socket);
  exs_mderegister(client->region, 0);
  free(client->buffer);
  free(client);
}

static void post(struct client* c) {
  int result = c->receiving ? exs_recv(c->socket, c->buffer, MESSAGE_MAX, 0, queue, c, c->region)
                            : exs_send(c->socket, c->buffer, c->reply_bytes, 0, queue, c, c->region);
  if (result == 0) return;
  if (errno != EAGAIN) {
    drop(c, &failed);
    return;
  }
  c->next_stalled = stalled; /* the queue is full: dequeue events first */
  stalled = c;
}

static void post_stalled(void) {
  struct client* list = stalled;
  stalled = NULL;
  while (list != NULL) {
    struct client* client = list;
    list = client->next_stalled;
    post(client);
  }
}

static void handle_accept(int listener, const exs_event_t* event) {
  check(exs_accept(listener, NULL, 0, queue, NULL), "exs_accept"); /* one is always posted */
  if (event->exs_evt_errno != 0) {
    fprintf(stderr, "a client could not connect: %s\n", strerror(event->exs_evt_errno));
    return;
  }
  struct client* client = calloc(1, sizeof *client);
  check(client != NULL && (client->buffer = malloc(MESSAGE_MAX)) != NULL ? 0 : -1, "a client's buffer");
  client->socket = event->exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  client->receiving = 1;
  client->region = check(exs_mregister(client->buffer, MESSAGE_MAX, 0), "exs_mregister");
  post(client);
}

static void handle_transfer(struct client* client, const exs_event_t* event) {
  if (event->exs_evt_flags & EXS_EVF_EOF) {
    drop(client, &served);
  } else if (event->exs_evt_errno != 0 || event->exs_evt_flags & EXS_EVF_TRUNC) {
    drop(client, &failed); /* the connection failed, or the message was longer than the buffer */
  } else {
    if (client->receiving) client->reply_bytes = event->exs_evt_union.exs_evt_xfer.exs_evt_length;
    if (!client->receiving) echoed++;
    client->receiving = !client->receiving;
    post(client);
  }
}

/* SIGINT becomes an event: a handler does not end a wait that begins just after it. */
static void* await_interrupt(void* signals) {
  int number;
  sigwait(signals, &number);
  while (exs_qpost(queue, NULL, NULL) == -1 && errno == EAGAIN) sched_yield(); /* full: just now */
  return NULL;
}

static void handle(int listener, const exs_event_t* event) {
  switch (event->exs_evt_type) {
    case EXS_EVT_USER: stopped = 1; break;
    case EXS_EVT_ACCEPT: handle_accept(listener, event); break;
    default: handle_transfer(event->exs_evt_ahandle, event);
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

int main(int argc, char** argv) {
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
  check(exs_accept(listener, NULL, 0, queue, NULL), "exs_accept");
  pthread_t waiter;
  check(pthread_create(&waiter, NULL, await_interrupt, &interrupt) != 0 ? -1 : 0, "pthread_create");
  while (!stopped) {
    exs_event_t events[BATCH];
    int count = exs_qdequeue(queue, events, BATCH, NULL);
    if (count == -1 && errno != EINTR) check(count, "exs_qdequeue");
    for (int i = 0; i < count; i++) handle(listener, &events[i]);
    post_stalled();
  }
  pthread_join(waiter, NULL);
  exs_fini(); /* closes all sockets and frees all registrations */
  printf("%lu clients served, %lu failed, %lu messages echoed\n", served, failed, echoed);
  return 0;
}
