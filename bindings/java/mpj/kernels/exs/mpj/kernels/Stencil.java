// SPDX-License-Identifier: BSD-2-Clause
package exs.mpj.kernels;

/** The four operations of MG between neighbouring points. Weights belong to distances: the point, faces, edges, corners of its cube. */
final class Stencil {
  private static final double[] LAPLACE = {-8.0 / 3, 0, 1.0 / 6, 1.0 / 12};
  private static final double[] SMOOTH = {-3.0 / 8, 1.0 / 32, -1.0 / 64, 0};

  private Stencil() {}

  /** result = given - A solution; `given` may be `result`. */
  static void residual(Grid grid, double[] solution, double[] given, double[] result) {
    double[] near = new double[grid.row];
    double[] far = new double[grid.row];
    for (int z = 0; z < grid.planes; ++z) {
      for (int y = 0; y < grid.n; ++y) {
        int start = grid.at(-1, y, z);
        sums(grid, solution, start, near, far);
        for (int x = 1; x <= grid.n; ++x)
          result[start + x] = given[start + x] - LAPLACE[0] * solution[start + x]
              - LAPLACE[2] * (far[x] + near[x - 1] + near[x + 1]) - LAPLACE[3] * (far[x - 1] + far[x + 1]);
      }
    }
    grid.wrap(result);
  }

  /** solution += S residual. */
  static void smooth(Grid grid) {
    double[] near = new double[grid.row];
    double[] far = new double[grid.row];
    double[] residual = grid.residual;
    for (int z = 0; z < grid.planes; ++z) {
      for (int y = 0; y < grid.n; ++y) {
        int start = grid.at(-1, y, z);
        sums(grid, residual, start, near, far);
        for (int x = 1; x <= grid.n; ++x)
          grid.solution[start + x] += SMOOTH[0] * residual[start + x]
              + SMOOTH[1] * (residual[start + x - 1] + residual[start + x + 1] + near[x])
              + SMOOTH[2] * (far[x] + near[x - 1] + near[x + 1]);
      }
    }
    grid.wrap(grid.solution);
  }

  /** Sums along a row: the four points beside it in y and z, and the four diagonal ones. */
  private static void sums(Grid grid, double[] field, int start, double[] near, double[] far) {
    int row = grid.row;
    int plane = grid.plane;
    for (int x = 0; x < row; ++x) {
      int at = start + x;
      near[x] = field[at - row] + field[at + row] + field[at - plane] + field[at + plane];
      far[x] = field[at - plane - row] + field[at - plane + row] + field[at + plane - row] + field[at + plane + row];
    }
  }

  /** Makes the residual of the coarser grid: a weighted mean. Its point p is the finer one's 2 p + 1. */
  static void restrict(Grid fine, Grid coarse) {
    int from = coarse.shared || !fine.shared ? 0 : fine.first / 2;
    int mine = fine.planes / 2;
    double[] near = new double[fine.row];
    double[] far = new double[fine.row];
    for (int z = 0; z < mine; ++z) {
      for (int y = 0; y < coarse.n; ++y) {
        int start = fine.at(-1, 2 * y + 1, 2 * z + 1);
        sums(fine, fine.residual, start, near, far);
        for (int x = 0; x < coarse.n; ++x) {
          int at = 2 * x + 2;
          coarse.residual[coarse.at(x, y, from + z)] = 0.5 * fine.residual[start + at]
              + 0.25 * (fine.residual[start + at - 1] + fine.residual[start + at + 1] + near[at])
              + 0.125 * (near[at - 1] + near[at + 1] + far[at]) + 0.0625 * (far[at - 1] + far[at + 1]);
        }
      }
    }
    if (fine.shared && !coarse.shared) coarse.gather(coarse.residual, from, mine);
    coarse.wrap(coarse.residual);
  }

  /** Adds the coarser grid's solution to the finer one's, interpolated, also outside; so no exchange is needed. */
  static void prolong(Grid coarse, Grid fine) {
    int from = coarse.shared || !fine.shared ? 0 : fine.first / 2;
    for (int z = -1; z < fine.planes / 2; ++z)
      for (int y = -1; y < coarse.n; ++y)
        for (int part = 0; part < 4; ++part)
          prolongRow(coarse, fine, coarse.at(-1, y, from + z), fine.at(-1, 2 * y + 1 + part % 2, 2 * z + 1 + part / 2),
              part % 2 * coarse.row, part / 2 * coarse.plane);
  }

  /** Interpolates one row, between the coarse ones at `from` and the ones beyond it in y and z. */
  private static void prolongRow(Grid coarse, Grid fine, int from, int to, int beyondY, int beyondZ) {
    double[] source = coarse.solution;
    double before = 0;
    for (int x = 0; x <= coarse.n + 1; ++x) {
      int at = from + x;
      double here = 0.25 * (source[at] + source[at + beyondY] + source[at + beyondZ] + source[at + beyondY + beyondZ]);
      if (x > 0) {
        fine.solution[to + 2 * x - 2] += before;
        fine.solution[to + 2 * x - 1] += 0.5 * (before + here);
      }
      before = here;
    }
  }
}
