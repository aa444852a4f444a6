/* A rank of a job of messages with tags, for test_messages.py.
 *
 *     job_rank survive        rank 1 ends by SIGKILL when all are connected; the others get its end and go on
 *     job_rank flood N FILE   rank 0 sends N messages, makes FILE, and rank 1 receives only then
 *     job_rank know           what rank 0 holds for each of those with whom it has exchanged a few messages
 *     job_rank label EXS_TOP  what that program says of the connections of rank 0, as its labels change */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <exs/msg.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kContext = 0, kMuch = 1 << 20, kMiB = 1 << 20 };

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "job_rank: %s: %s\n", what, strerror(errno));
  _exit(9);
}

static int ends_with(int returned, int error) {
  return returned == -1 && errno == error;
}

/* Everybody has heard from everybody. */
static void meet(exm_ep_t ep) {
  const int rank = exm_rank(ep);
  const int size = exm_size(ep);
  for (int to = 0; to < size; ++to)
    if (to != rank) expect(exm_send(ep, NULL, 0, to, 1, kContext, 0) == 0, "meet: send");
  for (int from = 0; from < size; ++from)
    if (from != rank) expect(exm_recv(ep, NULL, 0, from, 1, kContext, NULL) == 0, "meet: receive");
}

static void survive(exm_ep_t ep) {
  const int rank = exm_rank(ep);
  const int size = exm_size(ep);
  char* const much = calloc(1, kMuch);
  char byte = 0;
  meet(ep);
  if (rank == 1) raise(SIGKILL);
  exm_request_t requests[3];
  expect(exm_irecv(ep, &byte, 1, EXM_ANY_SOURCE, 2, kContext, &requests[0]) == 0, "receive from any");
  expect(exm_irecv(ep, &byte, 1, 1, 2, kContext, &requests[1]) == 0 || errno == ECONNRESET,
         "receive from the dead");
  expect(exm_isend(ep, much, kMuch, 1, 2, kContext, EXM_SYNC, &requests[2]) == 0, "send to the dead");
  for (int i = 0; i < 3; ++i) expect(ends_with(exm_wait(ep, &requests[i], NULL, -1), ECONNRESET), "an end");
  int failed = 0;
  expect(exm_failed(ep, &failed, 1) == 1 && failed == 1, "who has died");
  /* Round those that are left. */
  int number = 0;
  const int before = rank == 0 ? size - 1 : rank == 2 ? 0 : rank - 1;
  const int after = rank == size - 1 ? 0 : rank == 0 ? 2 : rank + 1;
  if (rank > 0)
    expect(exm_recv(ep, &number, sizeof number, before, 3, kContext, NULL) == 0, "receive the number");
  ++number;
  expect(exm_send(ep, &number, sizeof number, after, 3, kContext, 0) == 0, "send the number");
  if (rank == 0)
    expect(exm_recv(ep, &number, sizeof number, EXM_ANY_SOURCE, 3, kContext, NULL) == 0, "its return");
  if (rank == 0) expect(number == size - 1, "the number");
  printf("%d survived\n", rank);
  free(much);
}

static long resident_mib(void) {
  long pages = 0, resident = 0;
  FILE* const file = fopen("/proc/self/statm", "r");
  expect(file != NULL && fscanf(file, "%ld %ld", &pages, &resident) == 2, "statm");
  fclose(file);
  return resident * sysconf(_SC_PAGESIZE) / kMiB;
}

static void send_flood(exm_ep_t ep, int count, const char* file) {
  static char bytes[100];
  for (int i = 0; i < count; ++i) {
    exm_request_t request;
    expect(exm_isend(ep, bytes, sizeof bytes, 1, i, kContext, 0, &request) == 0, "send");
    expect(exm_free(ep, &request) == 0, "free");
  }
  FILE* const made = fopen(file, "w");
  expect(made != NULL && fclose(made) == 0, "make the file");
  expect(exm_recv(ep, bytes, sizeof bytes, 1, 0, kContext, NULL) == 0, "hear that all have come");
}

static void take_flood(exm_ep_t ep, int count, const char* file) {
  const long before_mib = resident_mib();
  for (int i = 0; access(file, F_OK) == -1; ++i) {
    expect(i < 60000, "the file");
    usleep(1000);
  }
  exm_stats_t stats;
  expect(exm_stats(ep, &stats) == 0, "stats");
  const long held_mib = resident_mib() - before_mib;
  char bytes[100];
  exm_status_t status;
  for (int i = 0; i < count; ++i)
    expect(exm_recv(ep, bytes, sizeof bytes, 0, i, kContext, &status) == 0 && status.length == sizeof bytes,
           "receive");
  expect(exm_send(ep, bytes, sizeof bytes, 0, 0, kContext, 0) == 0, "say that all have come");
  printf("%d messages, %lu bytes held of them, %ld MiB more than before\n", count,
         (unsigned long)stats.unexpected_bytes, held_mib);
}

/* Of this process alone, files and shared memory left out. */
static long private_kib(void) {
  char line[128];
  long kib = -1;
  FILE* const file = fopen("/proc/self/status", "r");
  expect(file != NULL, "status");
  while (kib < 0 && fgets(line, sizeof line, file) != NULL) sscanf(line, "RssAnon: %ld kB", &kib);
  fclose(file);
  return kib;
}

static void exchange(exm_ep_t ep, int other) {
  char bytes[64] = {0};
  for (int i = 0; i < 10; ++i) {
    if (exm_rank(ep) == 0)
      expect(exm_send(ep, bytes, sizeof bytes, other, 1, kContext, 0) == 0, "exchange: send");
    expect(exm_recv(ep, bytes, sizeof bytes, other, 1, kContext, NULL) == 0, "exchange: receive");
    if (exm_rank(ep) != 0)
      expect(exm_send(ep, bytes, sizeof bytes, other, 1, kContext, 0) == 0, "exchange: send back");
  }
}

/* Tables that grow by doubling are there when the second half comes. */
static void know(exm_ep_t ep) {
  const int size = exm_size(ep);
  const int half = 1 + (size - 1) / 2;
  if (exm_rank(ep) != 0) {
    exchange(ep, 0);
    expect(exm_recv(ep, NULL, 0, 0, 2, kContext, NULL) == 0, "hear that all are there");
    return;
  }
  for (int other = 1; other < half; ++other) exchange(ep, other);
  const long before_kib = private_kib();
  for (int other = half; other < size; ++other) exchange(ep, other);
  printf("%ld bytes a peer\n", (private_kib() - before_kib) * 1024 / (size - half));
  for (int other = 1; other < size; ++other)
    expect(exm_send(ep, NULL, 0, other, 2, kContext, 0) == 0, "say that all are there");
}

static void show_labels(const char* exs_top) {
  char line[256];
  snprintf(line, sizeof line, "%s --json -p %d", exs_top, (int)getpid());
  FILE* const shown = popen(line, "r");
  expect(shown != NULL, "exs-top");
  while (fgets(line, sizeof line, shown) != NULL) {
    char* const label = strstr(line, "\"label\": ");
    if (label != NULL) printf("%s", label);
  }
  expect(pclose(shown) == 0, "the end of exs-top");
}

static void label(exm_ep_t ep, const char* exs_top) {
  expect(exm_set_label(ep, "before") == 0, "a label");
  meet(ep);
  if (exm_rank(ep) == 0) show_labels(exs_top);
  expect(exm_set_label(ep, "after") == 0, "another label");
  if (exm_rank(ep) == 0) show_labels(exs_top);
  meet(ep);
}

int main(int argc, char** argv) {
  exm_ep_t ep;
  expect(exm_init(NULL, &ep) == 0, "join");
  if (argc == 2 && strcmp(argv[1], "survive") == 0) {
    survive(ep);
  } else if (argc == 2 && strcmp(argv[1], "know") == 0) {
    know(ep);
  } else if (argc == 3 && strcmp(argv[1], "label") == 0) {
    label(ep, argv[2]);
  } else if (argc == 4) {
    (exm_rank(ep) == 0 ? send_flood : take_flood)(ep, atoi(argv[2]), argv[3]);
  } else {
    return 2;
  }
  return exm_finalize(ep) == 0 ? 0 : 1;
}
