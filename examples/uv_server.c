/* exs inside libuv: one thread and one uv_loop serve the clients of exs, a plain TCP port and a timer.
 *
 * uv_poll watches the descriptor of the queue (exs_qfd). A client of exs sends "add NUMBER NUMBER" and gets the sum;
 * a client of the TCP port gets a line with the count. SIGINT ends the server. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <exs/exs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { SLOTS = 16384, BUFFERS = 1024, BATCH = 64, MESSAGE_MAX = 128, BACKLOG = 1024, PERIOD_MS = 10 };

static exs_qhandle_t queue;
static exs_mhandle_t region;
static exs_phandle_t pool;
static unsigned long answered, ticks;

struct viewer { /* a connection of the TCP port */
  uv_tcp_t stream;
  uv_write_t request;
  char line[MESSAGE_MAX];
};

static int check(int result, const char* what) {
  if (result != -1) return result;
  perror(what);
  exit(1);
}
static void check_uv(int result, const char* what) {
  if (result >= 0) return;
  fprintf(stderr, "%s: %s\n", what, uv_strerror(result));
  exit(1);
}

/* --- clients of exs --- */

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

/* Events that a batch leaves make the descriptor readable again. */
static void on_queue(uv_poll_t* poll, int status, int events) {
  (void)poll, (void)events;
  check_uv(status, "uv_poll");
  exs_event_t batch[BATCH];
  int count = exs_qdequeue(queue, batch, BATCH, &(struct timeval){0, 0});
  for (int i = 0; i < count; i++) handle(&batch[i]);
}

static int listen_exs(unsigned short port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  address.sin_port = htons(port);
  int listener = check(exs_socket(AF_INET, SOCK_SEQPACKET, 0), "exs_socket");
  check(exs_bind(listener, (struct sockaddr*)&address, length), "exs_bind");
  check(exs_listen(listener, BACKLOG), "exs_listen");
  check(exs_accept(listener, NULL, EXS_MULTISHOT, queue, NULL), "exs_accept");
  check(exs_getsockname(listener, (struct sockaddr*)&address, &length), "exs_getsockname");
  return ntohs(address.sin_port);
}

/* --- libuv --- */

static void on_gone(uv_handle_t* stream) {
  free(stream->data);
}
static void on_told(uv_write_t* request, int status) {
  (void)status;
  uv_close((uv_handle_t*)request->handle, on_gone);
}

static void on_viewer(uv_stream_t* listener, int status) {
  struct viewer* v = status < 0 ? NULL : malloc(sizeof *v);
  if (v == NULL) return;
  check_uv(uv_tcp_init(listener->loop, &v->stream), "uv_tcp_init");
  v->stream.data = v;
  check_uv(uv_accept(listener, (uv_stream_t*)&v->stream), "uv_accept");
  int length = snprintf(v->line, sizeof v->line, "%lu requests answered, %lu ticks\n", answered, ticks);
  uv_buf_t line = uv_buf_init(v->line, (unsigned)length);
  if (uv_write(&v->request, (uv_stream_t*)&v->stream, &line, 1, on_told) < 0)
    uv_close((uv_handle_t*)&v->stream, on_gone);
}

static void on_tick(uv_timer_t* timer) {
  (void)timer, ticks++;
}
static void on_signal(uv_signal_t* handle, int number) {
  (void)number, uv_stop(handle->loop);
}

static int listen_tcp(uv_loop_t* loop, uv_tcp_t* listener) {
  struct sockaddr_in address;
  int length = sizeof address;
  check_uv(uv_ip4_addr("127.0.0.1", 0, &address), "uv_ip4_addr");
  check_uv(uv_tcp_init(loop, listener), "uv_tcp_init");
  check_uv(uv_tcp_bind(listener, (struct sockaddr*)&address, 0), "uv_tcp_bind");
  check_uv(uv_listen((uv_stream_t*)listener, BACKLOG, on_viewer), "uv_listen");
  check_uv(uv_tcp_getsockname(listener, (struct sockaddr*)&address, &length), "uv_tcp_getsockname");
  return ntohs(address.sin_port);
}

static const char help[] =
    "usage: uv_server [PORT]\n"
    "Answers \"add NUMBER NUMBER\" with the sum, from a loop of libuv, until SIGINT.\n"
    "Listens at 127.0.0.1, PORT (7778; 0: any free port). A TCP port prints the count.\n"
    "The exit status is 0, or 1 after an error.\n";

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return fputs(help, stdout) < 0 ? 1 : 0;
  check(exs_init(EXS_VERSION), "exs_init");
  queue = check(exs_qcreate(SLOTS), "exs_qcreate");
  void* buffers = exs_alloc((size_t)BUFFERS * MESSAGE_MAX, &region);
  check(buffers == NULL ? -1 : 0, "exs_alloc");
  pool = check(exs_pool_create(buffers, MESSAGE_MAX, BUFFERS, region), "exs_pool_create");

  uv_loop_t* loop = uv_default_loop();
  uv_poll_t events;
  check_uv(uv_poll_init(loop, &events, check(exs_qfd(queue), "exs_qfd")), "uv_poll_init");
  check_uv(uv_poll_start(&events, UV_READABLE, on_queue), "uv_poll_start");
  uv_timer_t timer;
  check_uv(uv_timer_init(loop, &timer), "uv_timer_init");
  check_uv(uv_timer_start(&timer, on_tick, PERIOD_MS, PERIOD_MS), "uv_timer_start");
  uv_signal_t stop;
  check_uv(uv_signal_init(loop, &stop), "uv_signal_init");
  check_uv(uv_signal_start(&stop, on_signal, SIGINT), "uv_signal_start");
  uv_tcp_t tcp;
  int tcp_port = listen_tcp(loop, &tcp);
  int port = listen_exs((unsigned short)(argc > 1 ? atoi(argv[1]) : 7778)); /* 0: any free port */
  printf("tcp on port %d, listening on port %d\n", tcp_port, port), fflush(stdout);

  uv_run(loop, UV_RUN_DEFAULT);
  uv_poll_stop(&events); /* before the queue closes its descriptor */
  exs_fini();            /* closes all sockets and frees queues and registrations */
  printf("%lu requests answered\n", answered);
  return 0;
}
