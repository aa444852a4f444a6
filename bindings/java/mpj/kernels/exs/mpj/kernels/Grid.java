// SPDX-License-Identifier: BSD-2-Clause
package exs.mpj.kernels;

import mpi.MPI;

/**
 * One level of a hierarchy of periodic cubes, with one point more on every side. Ranks share its planes z as long as each has two of them
 * at least; coarser levels are so small that every rank has and computes all of it.
 */
final class Grid {
  private static final int TAG_UP = 4;
  private static final int TAG_DOWN = 5;

  final int n;          // points along an edge
  final int planes;     // of them along z, here
  final int first;      // the number of the first of these
  final boolean shared;
  final int row;        // from a point to the next one along y
  final int plane;      // and along z
  final double[] solution;
  final double[] residual;

  private final Ranks ranks;

  Grid(int n, Ranks ranks) {
    this.n = n;
    this.ranks = ranks;
    shared = ranks.count > 1 && n / ranks.count >= 2;
    planes = shared ? n / ranks.count : n;
    first = shared ? planes * ranks.rank : 0;
    row = n + 2;
    plane = row * row;
    solution = new double[plane * (planes + 2)];
    residual = new double[plane * (planes + 2)];
  }

  /** The index of a point; -1 is the point before the first. */
  int at(int x, int y, int z) {
    return (z + 1) * plane + (y + 1) * row + x + 1;
  }

  /** Copies the points outside from the other side of the cube, or from the neighbouring ranks. */
  void wrap(double[] field) {
    for (int z = 0; z < planes; ++z) {
      for (int y = 0; y < n; ++y) {
        field[at(-1, y, z)] = field[at(n - 1, y, z)];
        field[at(n, y, z)] = field[at(0, y, z)];
      }
      System.arraycopy(field, at(-1, n - 1, z), field, at(-1, -1, z), row);
      System.arraycopy(field, at(-1, 0, z), field, at(-1, n, z), row);
    }
    int below = shared ? (ranks.rank + ranks.count - 1) % ranks.count : ranks.rank;
    int above = shared ? (ranks.rank + 1) % ranks.count : ranks.rank;
    ranks.exchange(field, planes * plane, above, field, 0, below, plane, TAG_UP);
    ranks.exchange(field, plane, below, field, (planes + 1) * plane, above, plane, TAG_DOWN);
  }

  /** Collects all planes on every rank; `mine` planes from `from` on are this rank's. */
  void gather(double[] field, int from, int mine) {
    double[] own = new double[mine * plane];
    System.arraycopy(field, (from + 1) * plane, own, 0, own.length);
    // MPJ Express 0.44 ignores the offset of a receive.
    double[] all = new double[own.length * ranks.count];
    ranks.all.Allgather(own, 0, own.length, MPI.DOUBLE, all, 0, own.length, MPI.DOUBLE);
    System.arraycopy(all, 0, field, plane, all.length);
  }

  double norm(double[] field) {
    double sum = 0;
    for (int z = 0; z < planes; ++z)
      for (int y = 0; y < n; ++y)
        for (int x = 0, at = at(0, y, z); x < n; ++x, ++at) sum += field[at] * field[at];
    return Math.sqrt((shared ? ranks.sum(sum) : sum) / ((double) n * n * n));
  }
}
