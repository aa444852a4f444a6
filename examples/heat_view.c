/* A viewer for heat.c: samples the plate while the simulation runs, thirty times a second, and draws it.
 *
 * Each sample is one exs_recv_snapshot: it reads a whole step from the simulation's persistent send, however
 * many the simulation computes meanwhile. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <exs/exs.h>
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
  WIDTH = 128,
  HEIGHT = 128,
  HOT = 100,
  COLUMNS = 64,
  ROWS = 32,
  PERIOD_NS = 33333333,
  EXTRA_FRAMES = 1000
};
static const int64_t LIMIT_NS = 30000000000;

struct plate { /* as in heat.c */
  uint64_t step;
  uint32_t width, height;
  float cells[HEIGHT][WIDTH];
};

static int check(int result, const char* what) {
  if (result != -1) return result;
  perror(what);
  exit(1);
}

/* A connect that a signal has cancelled needs a new socket. */
static int connect_to(const struct sockaddr_in* address) {
  for (;;) {
    int connection = check(exs_socket(AF_INET, SOCK_SEQPACKET, 0), "exs_socket");
    if (exs_connect_sync(connection, (const struct sockaddr*)address, sizeof *address) == 0)
      return connection;
    check(errno == EINTR ? 0 : -1, "exs_connect_sync");
    exs_close(connection);
  }
}

static void sample(int simulation, struct plate* plate, exs_mhandle_t region) {
  static exs_snapshot_t snapshot;
  ssize_t bytes;
  do bytes = exs_recv_snapshot(simulation, plate, sizeof *plate, region, 0, 0, &snapshot, LIMIT_NS);
  while (bytes == -1 && errno == EINTR);
  if (bytes == -1 && (errno == ECANCELED || errno == ENOTCONN || errno == ECONNRESET)) {
    fprintf(stderr, "the simulation has ended\n");
    exit(1);
  }
  check(bytes == -1 ? -1 : 0, "exs_recv_snapshot");
  if (plate->width == WIDTH && plate->height == HEIGHT) return;
  fprintf(stderr, "the peer publishes something else than a plate\n");
  exit(1);
}

/* Maps heat from black over red and yellow to white, in the 216 colours that any terminal has. */
static int colour(float heat) {
  int level = (int)(heat * 15 / HOT);
  int red = level < 5 ? level : 5, green = level < 5 ? 0 : level < 10 ? level - 5 : 5;
  return 16 + 36 * red + 6 * green + (level > 10 ? level - 10 : 0);
}

static void draw(const struct plate* plate) {
  const float(*cells)[WIDTH] = plate->cells;
  printf("\033[H");
  for (int row = 0; row < ROWS; row++) {
    for (int column = 0; column < COLUMNS; column++)
      printf("\033[48;5;%dm ", colour(cells[row * HEIGHT / ROWS][column * WIDTH / COLUMNS]));
    printf("\033[0m\n");
  }
  printf("step %llu\033[K\n", (unsigned long long)plate->step);
  fflush(stdout);
}

/* No cell can be colder than the edges or hotter than the heater. */
static void check_and_print(const struct plate* plate) {
  const float* cell = plate->cells[0];
  float least = HOT, most = 0, sum = 0;
  for (int i = 0; i < WIDTH * HEIGHT; i++) {
    if (!(cell[i] >= 0 && cell[i] <= HOT)) {
      fprintf(stderr, "step %llu: cell %d is %g\n", (unsigned long long)plate->step, i, (double)cell[i]);
      exit(1);
    }
    least = cell[i] < least ? cell[i] : least;
    most = cell[i] > most ? cell[i] : most;
    sum += cell[i];
  }
  printf("step %llu: %.1f to %.1f, mean %.2f\n", (unsigned long long)plate->step, (double)least, (double)most,
         (double)sum / (WIDTH * HEIGHT));
}

static void wait_for_next_frame(struct timespec* at) {
  at->tv_nsec += PERIOD_NS;
  if (at->tv_nsec >= 1000000000) at->tv_nsec -= 1000000000, at->tv_sec++;
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, at, NULL);
}

static const char help[] =
    "usage: heat_view [-a ADDRESS] [-p PORT] [-n FRAMES] [-t]\n"
    "Draws the plate of heat at ADDRESS (127.0.0.1), PORT (7779), thirty times a second.\n"
    "  -a, --address ADDRESS  where heat listens\n"
    "  -p, --port PORT        its port\n"
    "  -n, --frames FRAMES    end after so many frames\n"
    "  -t, --plain            check each frame and print a line, instead of drawing it\n"
    "The exit status is 0, 1 after an error, or 2 if the arguments are invalid.\n";

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return fputs(help, stdout) < 0 ? 1 : 0;
  const struct option options[] = {{"address", 1, NULL, 'a'},
                                   {"port", 1, NULL, 'p'},
                                   {"frames", 1, NULL, 'n'},
                                   {"plain", 0, NULL, 't'},
                                   {0}};
  const char* host = "127.0.0.1";
  int option, port = 7779, frames = 0, plain = 0; /* 0 frames: no limit */
  while ((option = getopt_long(argc, argv, "a:p:n:t", options, NULL)) != -1) {
    if (option == 'a') host = optarg;
    if (option == 'p') port = atoi(optarg);
    if (option == 'n') frames = atoi(optarg);
    if (option == 't') plain = 1;
    if (option == '?') return 2;
  }
  if (optind < argc) return fprintf(stderr, "heat_view: \"%s\" is no option\n", argv[optind]), 2;
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  if (inet_pton(AF_INET, host, &address.sin_addr) != 1) return fprintf(stderr, "no address: %s\n", host), 2;

  exs_mhandle_t region;
  check(exs_init(EXS_VERSION), "exs_init");
  struct plate* plate = exs_alloc(sizeof *plate, &region);
  check(plate == NULL ? -1 : 0, "exs_alloc");
  int simulation = connect_to(&address);

  uint64_t first = 0;
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  if (!plain) printf("\033[2J");
  /* With --frames it runs until the simulation has advanced, which may take long on a busy machine. */
  for (int n = 0; frames == 0 || n < frames || (plate->step == first && n < frames + EXTRA_FRAMES); n++) {
    if (n > 0) wait_for_next_frame(&at);
    sample(simulation, plate, region);
    if (n == 0) first = plate->step;
    plain ? check_and_print(plate) : draw(plate);
  }
  if (plate->step == first) return fprintf(stderr, "the simulation makes no progress\n"), 1;
  exs_close(simulation);
  return exs_fini();
}
