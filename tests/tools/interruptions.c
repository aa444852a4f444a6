/* Loaded into a program (LD_PRELOAD), it interrupts it every few milliseconds: a signal that the program knows nothing of,
 * with a handler that does nothing, so that calls which wait end with EINTR. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

static void do_nothing(int number) {
  (void)number;
}

__attribute__((constructor)) static void begin(void) {
  struct sigaction action = {.sa_handler = do_nothing}; /* no SA_RESTART */
  struct itimerval period = {{0, 3000}, {0, 3000}};
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &period, NULL);
}
