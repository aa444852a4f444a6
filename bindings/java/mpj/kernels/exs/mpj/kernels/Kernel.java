// SPDX-License-Identifier: BSD-2-Clause
package exs.mpj.kernels;

/** One of the programs. An object belongs to one rank: under smpdev ranks are threads of one process and share what is static. */
interface Kernel {
  /** Computes, and returns a report; every rank gets the same `verified`. */
  Report run();
}
