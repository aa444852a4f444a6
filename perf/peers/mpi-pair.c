/* Open MPI for comparison with exs-ping and exs-blast, after the OSU tests: messages there and back, windows of 64 sends to posted
 * receives, or collective operations with sums of doubles. perf/compare compiles this if Open MPI is installed.
 * mpirun -n N mpi-pair ping|blast|bcast|allgather|reduce|allreduce BYTES SECONDS */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 64, BATCH = 100 };

static char *buffer, *result;
static int size, rank, ranks;

static void ping(void) {
  for (int n = 0; n < BATCH; n++) {
    if (rank == 0) MPI_Send(buffer, size, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(buffer, size, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(buffer, size, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  }
}

/* Sends a window, and waits for the answer to it. */
static void blast(void) {
  MPI_Request requests[WINDOW];
  char answer = 0;
  for (int n = 0; n < WINDOW; n++) {
    if (rank == 0) MPI_Isend(buffer, size, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &requests[n]);
    if (rank == 1) MPI_Irecv(buffer, size, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &requests[n]);
  }
  MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
  if (rank == 1) MPI_Send(&answer, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
  if (rank == 0) MPI_Recv(&answer, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void bcast(void) {
  MPI_Bcast(buffer, size, MPI_CHAR, 0, MPI_COMM_WORLD);
}

static void allgather(void) {
  MPI_Allgather(buffer, size, MPI_CHAR, result, size, MPI_CHAR, MPI_COMM_WORLD);
}

static void reduce(void) {
  MPI_Reduce(buffer, result, size / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void allreduce(void) {
  MPI_Allreduce(buffer, result, size / (int)sizeof(double), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static const struct {
  const char* name;
  void (*step)(void);
} steps[] = {{"ping", ping},           {"blast", blast},   {"bcast", bcast},
             {"allgather", allgather}, {"reduce", reduce}, {"allreduce", allreduce}};

/* Returns NULL if the name is unknown. */
static void (*step_of(const char* name))(void) {
  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
    if (strcmp(steps[i].name, name) == 0) return steps[i].step;
  return NULL;
}

/* Repeats the step until the first end finds that the time is over, and tells the other. Returns the number of steps. */
static long repeat(void (*step)(void), double seconds, double* took) {
  double began = MPI_Wtime();
  long times = 0;
  for (int go_on = 1; go_on; times++) {
    step();
    *took = MPI_Wtime() - began;
    go_on = *took < seconds;
    MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  return times;
}

int main(int argc, char** argv) {
  double took;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  void (*const step)(void) = argc == 4 ? step_of(argv[1]) : NULL;
  if (step == NULL || atoi(argv[2]) < 1) {
    if (rank == 0)
      fprintf(stderr,
              "usage: mpirun -n N mpi-pair ping|blast|bcast|allgather|reduce|allreduce BYTES SECONDS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  size = atoi(argv[2]);
  buffer = calloc(1, (size_t)size);
  result = calloc((size_t)ranks, (size_t)size);
  repeat(step, atof(argv[3]) / 4, &took); /* warm-up */
  long times = repeat(step, atof(argv[3]), &took);
  if (rank == 0 && step == ping)
    printf("{\"one_way_us\": {\"mean\": %.4f}}\n", took * 1e6 / (2.0 * BATCH * (double)times));
  if (rank == 0 && step != ping && step != blast)
    printf("{\"operation_us\": {\"mean\": %.4f}}\n", took * 1e6 / (double)times);
  if (rank == 0 && step == blast)
    printf("{\"messages_per_second\": %.0f, \"bytes_per_second\": %.0f}\n", WINDOW * (double)times / took,
           WINDOW * (double)times * size / took);
  free(buffer);
  free(result);
  return MPI_Finalize();
}
