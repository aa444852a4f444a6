// SPDX-License-Identifier: BSD-2-Clause
package exs.mpj.kernels;

import mpi.Intracomm;
import mpi.MPI;

/** The communicator of all ranks, with the few forms of it that several kernels call. */
final class Ranks {
  final Intracomm all;
  final int rank;
  final int count;

  Ranks(Intracomm all) {
    this.all = all;
    rank = all.Rank();
    count = all.Size();
  }

  boolean powerOfTwo() {
    return Integer.bitCount(count) == 1;
  }

  double sum(double mine) {
    double[] total = new double[1];
    all.Allreduce(new double[] {mine}, 0, total, 0, 1, MPI.DOUBLE, MPI.SUM);
    return total[0];
  }

  double max(double mine) {
    double[] most = new double[1];
    all.Allreduce(new double[] {mine}, 0, most, 0, 1, MPI.DOUBLE, MPI.MAX);
    return most[0];
  }

  /** Waits for all ranks. Returns the time to measure from. */
  long start() {
    all.Barrier();
    return System.nanoTime();
  }

  /** Seconds since then, of the slowest rank. */
  double secondsSince(long start) {
    return max((System.nanoTime() - start) / 1e9);
  }

  /** Exchanges in both directions between two ranks; copies if both are this one. */
  void exchange(double[] from, int fromAt, int to, double[] into, int intoAt, int source, int length, int tag) {
    if (to == rank && source == rank) {
      System.arraycopy(from, fromAt, into, intoAt, length);
    } else {
      all.Sendrecv(from, fromAt, length, MPI.DOUBLE, to, tag, into, intoAt, length, MPI.DOUBLE, source, tag);
    }
  }
}
