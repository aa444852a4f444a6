/* ring: each rank of a job adds 1 to a number and passes it on; the first one gets it back.
 *
 *     exs-run -n 4 ring */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <exs/msg.h>
#include <stdio.h>
#include <string.h>

static int fail(const char* what) {
  perror(what);
  return 1;
}

static const char help[] =
    "usage: exs-run -n RANKS ring\n"
    "Each rank adds 1 to a number and passes it on. The first rank prints where it came from.\n"
    "The exit status is 0, or 1 after an error.\n";

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return fputs(help, stdout) < 0 ? 1 : 0;
  exm_ep_t ep;
  exm_status_t status;
  int number = 0;

  if (exm_init(NULL, &ep) == -1) return fail("exm_init");
  const int rank = exm_rank(ep);
  const int size = exm_size(ep);

  if (rank > 0 && exm_recv(ep, &number, sizeof number, rank - 1, 0, 0, NULL) == -1) return fail("exm_recv");
  ++number;
  if (exm_send(ep, &number, sizeof number, (rank + 1) % size, 0, 0, 0) == -1) return fail("exm_send");
  if (rank == 0) {
    if (exm_recv(ep, &number, sizeof number, EXM_ANY_SOURCE, EXM_ANY_TAG, 0, &status) == -1)
      return fail("exm_recv");
    printf("%d ranks; the number came from rank %d\n", number, (int)status.source);
  }
  return exm_finalize(ep) == 0 ? 0 : fail("exm_finalize");
}
