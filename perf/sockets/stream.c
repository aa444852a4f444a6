/* Plain sockets, which know nothing of exs: what a message, a stream of bytes and a short connection cost between two processes.
 *
 *     sockets-stream latency|bandwidth|connect tcp|unix BYTES SECONDS [nodelay]
 *
 * prints one number: microseconds one way, MB/s (10^6), or connections per second, each of which carries one request of BYTES
 * and its answer. Without nodelay TCP combines small messages, as it does by default. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REPLY = 1, BATCH = 64 };

static int is_tcp, has_nodelay;
static size_t bytes;
static double seconds;
static char* buffer;

static void fail(const char* what) {
  perror(what);
  _exit(1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void prepare(int number) {
  int on = 1;
  if (is_tcp && has_nodelay && setsockopt(number, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
    fail("TCP_NODELAY");
}

static void send_all(int number, size_t count) {
  for (size_t done = 0; done < count;) {
    ssize_t moved = send(number, buffer + done, count - done, MSG_NOSIGNAL);
    if (moved <= 0) fail("send");
    done += (size_t)moved;
  }
}

/* 0: the peer has ended. */
static int receive_all(int number, size_t count) {
  for (size_t done = 0; done < count;) {
    ssize_t moved = recv(number, buffer + done, count - done, 0);
    if (moved < 0) fail("recv");
    if (moved == 0) return 0;
    done += (size_t)moved;
  }
  return 1;
}

static void echo(int number) {
  while (receive_all(number, bytes)) send_all(number, bytes);
}

/* A byte back for each batch. */
static void swallow(int number) {
  while (receive_all(number, bytes * BATCH)) send_all(number, REPLY);
}

static _Noreturn void serve(int listener, void (*play)(int)) {
  for (;;) {
    int number = accept(listener, NULL, NULL);
    if (number < 0) fail("accept");
    prepare(number);
    play(number);
    close(number);
  }
}

static int connect_to(const struct sockaddr* address, socklen_t length) {
  int number = socket(address->sa_family, SOCK_STREAM, 0);
  if (number < 0 || connect(number, address, length) != 0) fail("connect");
  prepare(number);
  return number;
}

static double measure_latency(int number) {
  unsigned long count = 0;
  double end = 0;
  for (int i = 0; i < 200; ++i) { /* the ends have met by then */
    send_all(number, bytes);
    if (!receive_all(number, bytes)) fail("the server ended");
  }
  const double begin = now();
  do {
    for (int i = 0; i < 16; ++i, ++count) {
      send_all(number, bytes);
      if (!receive_all(number, bytes)) fail("the server ended");
    }
    end = now();
  } while (end - begin < seconds);
  return 1e6 * (end - begin) / (double)count / 2;
}

static double measure_bandwidth(int number) {
  double begin = 0, end = 0;
  unsigned long batches = 0;
  for (int warm = 1; warm >= 0; --warm) {
    begin = now();
    batches = 0;
    do {
      for (int i = 0; i < BATCH; ++i) send_all(number, bytes);
      if (!receive_all(number, REPLY)) fail("the server ended");
      ++batches;
      end = now();
    } while (end - begin < (warm ? seconds / 5 : seconds));
  }
  return 1e-6 * (double)batches * BATCH * (double)bytes / (end - begin);
}

static double measure_connect(const struct sockaddr* address, socklen_t length) {
  double begin = now(), end = 0;
  unsigned long count = 0;
  do {
    int number = connect_to(address, length);
    send_all(number, bytes);
    if (!receive_all(number, bytes)) fail("the server ended");
    close(number);
    ++count;
    end = now();
  } while (end - begin < seconds);
  return (double)count / (end - begin);
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const char* kind = argv[1];
  is_tcp = strcmp(argv[2], "tcp") == 0;
  bytes = strtoul(argv[3], NULL, 10);
  seconds = strtod(argv[4], NULL);
  has_nodelay = argc > 5;
  if (bytes == 0 || seconds <= 0) return 2;
  buffer = calloc(BATCH, bytes);
  struct sockaddr_in tcp = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct sockaddr_un name = {.sun_family = AF_UNIX}; /* the kernel chooses one */
  struct sockaddr_storage place;
  socklen_t length = sizeof place;
  int listener = socket(is_tcp ? AF_INET : AF_UNIX, SOCK_STREAM, 0);
  const void* address = is_tcp ? (const void*)&tcp : (const void*)&name;
  if (buffer == NULL || listener < 0 ||
      bind(listener, address, is_tcp ? sizeof tcp : sizeof name.sun_family) != 0 ||
      listen(listener, 64) != 0 || getsockname(listener, (struct sockaddr*)&place, &length) != 0)
    fail("listen");
  int is_bandwidth = strcmp(kind, "bandwidth") == 0;
  pid_t parent = getpid(), server = fork();
  if (server < 0) fail("fork");
  if (server == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    serve(listener, is_bandwidth ? swallow : echo);
  }
  close(listener);
  double figure = 0;
  if (strcmp(kind, "connect") == 0) {
    figure = measure_connect((struct sockaddr*)&place, length);
  } else {
    int number = connect_to((struct sockaddr*)&place, length);
    figure = is_bandwidth ? measure_bandwidth(number) : measure_latency(number);
    close(number);
  }
  kill(server, SIGKILL);
  waitpid(server, NULL, 0);
  printf("%.4f\n", figure);
  return 0;
}
