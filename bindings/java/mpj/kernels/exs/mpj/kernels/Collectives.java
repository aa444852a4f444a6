// SPDX-License-Identifier: BSD-2-Clause
package exs.mpj.kernels;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import mpi.MPI;

/**
 * Times bcast, allgather, reduce and allreduce (sums of doubles) by length, and checks what arrives. The aggregate bandwidth counts the
 * bytes that the operation has to bring to ranks which lack them: of n ranks n-1 times the length, for allgather n(n-1) times, for
 * allreduce 2(n-1) times.
 */
final class Collectives implements Kernel {
  private static final int[] OPERATIONS = {0, 1, 2, 3};
  private static final String[] NAMES = {"bcast", "allgather", "reduce", "allreduce"};

  private final Ranks ranks;
  private final char size;
  private final int longest;   // doubles
  private final double[] mine;
  private final double[] result;
  private boolean right = true;

  Collectives(char size, Ranks ranks) {
    this.size = size;
    this.ranks = ranks;
    longest = size == 'S' ? 1 << 13 : size == 'W' ? 1 << 17 : 1 << 20;
    mine = new double[longest];
    result = new double[longest * ranks.count];
  }

  @Override
  public Report run() {
    List<Report> rows = new ArrayList<>();
    for (int operation : OPERATIONS)
      for (int length = 1; length <= longest; length *= 8) rows.add(measure(operation, length));
    return Report.of("collectives", size, ranks, ranks.sum(right ? 0 : 1) == 0)
        .put("operations", rows);
  }

  private Report measure(int operation, int length) {
    int calls = Math.max(10, Math.min(1000, (1 << 17) / length));
    fill(length);
    call(operation, length);
    check(operation, length);
    for (int call = 0; call < calls / 2; ++call) call(operation, length);
    long start = ranks.start();
    for (int call = 0; call < calls; ++call) call(operation, length);
    double seconds = ranks.secondsSince(start) / calls;
    double bytes = 8.0 * length * (ranks.count - 1) * (operation == 1 ? ranks.count : operation == 3 ? 2 : 1);
    return new Report()
        .put("operation", NAMES[operation])
        .put("length_bytes", 8 * length)
        .put("calls", calls)
        .put("time_us", seconds * 1e6)
        .put("aggregate_gbit_per_s", 8 * bytes / seconds / 1e9);
  }

  private void fill(int length) {
    for (int at = 0; at < length; ++at) mine[at] = at + ranks.rank;
    Arrays.fill(result, 0, length, at(length));
  }

  private static double at(int length) {
    return -length;  // no operation has this result
  }

  private void call(int operation, int length) {
    switch (operation) {
      case 0: ranks.all.Bcast(mine, 0, length, MPI.DOUBLE, 0); break;
      case 1: ranks.all.Allgather(mine, 0, length, MPI.DOUBLE, result, 0, length, MPI.DOUBLE); break;
      case 2: ranks.all.Reduce(mine, 0, result, 0, length, MPI.DOUBLE, MPI.SUM, 0); break;
      default: ranks.all.Allreduce(mine, 0, result, 0, length, MPI.DOUBLE, MPI.SUM);
    }
  }

  private void check(int operation, int length) {
    double others = ranks.count * (ranks.count - 1) / 2.0;
    for (int at = 0; at < length; ++at) {
      if (operation == 0) right &= mine[at] == at;
      if (operation == 2 && ranks.rank == 0 || operation == 3) right &= result[at] == ranks.count * (double) at + others;
    }
    if (operation != 1) return;
    for (int from = 0; from < ranks.count; ++from)
      for (int at = 0; at < length; ++at) right &= result[from * length + at] == at + from;
  }
}
