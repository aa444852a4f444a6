// SPDX-License-Identifier: BSD-2-Clause
package exs.mpj.kernels;

import java.util.Arrays;

/**
 * CG of the NAS Parallel Benchmarks: the smallest eigenvalue of a sparse matrix by inverse power iteration, each step of which is 25
 * steps of conjugate gradients.
 *
 * <p>Ranks form a grid of rows and columns, as many columns as rows or twice as many. Rank (r, c) has block (r, c) of the matrix and
 * part c of every vector. A product is summed along the row of ranks, which gives all of them part r of it, and then exchanged with
 * the rank that has part c.
 */
final class ConjugateGradient implements Kernel {
  private static final int STEPS = 25;
  private static final double CONDITION = 0.1;
  private static final int TAG_SUM = 1;
  private static final int TAG_TRANSPOSE = 2;

  private final char size;
  private final int order;
  private final int perRow;
  private final int iterations = 15;
  private final double shift;
  private final double expected;

  private final Ranks ranks;
  private final int gridColumns;
  private final int gridRow;
  private final int gridColumn;
  private final int partner;
  private final int rowLength;      // of a part that belongs to a row of ranks
  private final int columnLength;   // of one that belongs to a column
  private final int partnerAt;  // offset in a row's part of the piece that the partner needs

  private SparseMatrix matrix;
  private final double[] x;
  private final double[] z;
  private final double[] r;
  private final double[] p;
  private final double[] q;
  private final double[] product;
  private final double[] arrived;
  private final double[] one = new double[1];
  private final double[] oneArrived = new double[1];

  ConjugateGradient(char size, Ranks ranks) {
    this.size = size;
    this.ranks = ranks;
    order = size == 'S' ? 1400 : size == 'W' ? 7000 : 14000;
    perRow = size == 'S' ? 7 : size == 'W' ? 8 : 11;
    shift = size == 'S' ? 10 : size == 'W' ? 12 : 20;
    expected = size == 'S' ? 8.5971775078648 : size == 'W' ? 10.362595087124 : 17.130235054029;

    int bits = Integer.numberOfTrailingZeros(ranks.count);
    gridColumns = 1 << (bits + 1) / 2;
    int gridRows = 1 << bits / 2;
    if (!ranks.powerOfTwo() || order % gridColumns != 0)
      throw new IllegalArgumentException("cg runs on 1, 2, 4, 8, 16, 32 or 64 ranks, not on " + ranks.count);
    gridRow = ranks.rank / gridColumns;
    gridColumn = ranks.rank % gridColumns;
    rowLength = order / gridRows;
    columnLength = order / gridColumns;
    if (gridRows == gridColumns) {
      partner = gridColumn * gridColumns + gridRow;
      partnerAt = 0;
    } else {
      int half = gridColumn % 2;
      partner = gridColumn / 2 * gridColumns + 2 * gridRow + half;
      partnerAt = half * columnLength;
    }

    x = new double[columnLength];
    z = new double[columnLength];
    r = new double[columnLength];
    p = new double[columnLength];
    q = new double[columnLength];
    product = new double[rowLength];
    arrived = new double[rowLength];
  }

  @Override
  public Report run() {
    matrix = buildMatrix();
    Arrays.fill(x, 1);
    iterate();   // not timed: code gets compiled, memory touched
    Arrays.fill(x, 1);

    long start = ranks.start();
    double zeta = 0;
    double residual = 0;
    for (int iteration = 0; iteration < iterations; ++iteration) {
      residual = solve();
      zeta = shift + 1 / dot(x, z);
      normalize();
    }
    double seconds = ranks.secondsSince(start);

    double work = perRow * (perRow + 1.0);
    double operations = 2.0 * iterations * order * (3 + work + STEPS * (5 + work) + 3);
    return Report.of("cg", size, ranks, Math.abs(zeta - expected) <= 1e-10 * expected)
        .put("time_s", seconds)
        .put("rate_mops", operations / seconds / 1e6)
        .put("zeta", zeta)
        .put("zeta_expected", expected)
        .put("residual", residual);
  }

  private void iterate() {
    solve();
    normalize();
  }

  private void normalize() {
    double factor = 1 / Math.sqrt(dot(z, z));
    for (int at = 0; at < columnLength; ++at) x[at] = factor * z[at];
  }

  /** Conjugate gradients for z of A z = x. Returns the norm of the residual. */
  private double solve() {
    Arrays.fill(z, 0);
    System.arraycopy(x, 0, r, 0, columnLength);
    System.arraycopy(x, 0, p, 0, columnLength);
    double rho = dot(r, r);
    for (int step = 0; step < STEPS; ++step) {
      multiply(p, q);
      double alpha = rho / dot(p, q);
      for (int at = 0; at < columnLength; ++at) {
        z[at] += alpha * p[at];
        r[at] -= alpha * q[at];
      }
      double before = rho;
      rho = dot(r, r);
      double beta = rho / before;
      for (int at = 0; at < columnLength; ++at) p[at] = r[at] + beta * p[at];
    }
    multiply(z, q);
    for (int at = 0; at < columnLength; ++at) r[at] = x[at] - q[at];
    return Math.sqrt(dot(r, r));
  }

  private void multiply(double[] vector, double[] into) {
    matrix.multiply(vector, product);
    sumAlongRow(product, arrived, rowLength);
    ranks.exchange(product, partnerAt, partner, into, 0, partner, columnLength, TAG_TRANSPOSE);
  }

  private double dot(double[] left, double[] right) {
    double sum = 0;
    for (int at = 0; at < columnLength; ++at) sum += left[at] * right[at];
    one[0] = sum;
    sumAlongRow(one, oneArrived, 1);
    return one[0];
  }

  /** Pairs exchange their sums at distances 1, 2, 4 and so on, so all ranks of the row have the same sum at the end. */
  private void sumAlongRow(double[] mine, double[] others, int length) {
    for (int distance = 1; distance < gridColumns; distance *= 2) {
      int other = gridRow * gridColumns + (gridColumn ^ distance);
      ranks.exchange(mine, 0, other, others, 0, other, length, TAG_SUM);
      for (int at = 0; at < length; ++at) mine[at] += others[at];
    }
  }

  /** The specification's matrix: a sum of outer products of random sparse vectors, whose weights fall from 1 to CONDITION. */
  private SparseMatrix buildMatrix() {
    NpbRandom random = new NpbRandom(1);
    SparseMatrix.Builder block = new SparseMatrix.Builder(rowLength, columnLength);
    int firstRow = gridRow * rowLength;
    int firstColumn = gridColumn * columnLength;
    double ratio = Math.pow(CONDITION, 1.0 / order);
    double weight = 1;
    int[] places = new int[perRow + 1];
    double[] values = new double[perRow + 1];
    for (int number = 0; number < order; ++number) {
      int length = sparseVector(random, number, places, values);
      for (int left = 0; left < length; ++left) {
        int row = places[left] - firstRow;
        if (row < 0 || row >= rowLength) continue;
        for (int right = 0; right < length; ++right) {
          int column = places[right] - firstColumn;
          if (column < 0 || column >= columnLength) continue;
          double term = values[right] * (weight * values[left]);
          if (left == right && places[left] == number) term += CONDITION - shift;
          block.add(row, column, term);
        }
      }
      weight *= ratio;
    }
    return block.build();
  }

  /** Makes vector `number`: perRow random places, and 0.5 at its own. Returns the number of places. */
  private int sparseVector(NpbRandom random, int number, int[] places, double[] values) {
    int range = Integer.highestOneBit(2 * order - 1);
    int length = 0;
    while (length < perRow) {
      double value = random.next();
      int place = (int) (range * random.next());
      if (place >= order || indexOf(places, length, place) >= 0) continue;
      places[length] = place;
      values[length++] = value;
    }
    int own = indexOf(places, length, number);
    if (own < 0) own = length++;
    places[own] = number;
    values[own] = 0.5;
    return length;
  }

  private static int indexOf(int[] places, int length, int place) {
    for (int at = 0; at < length; ++at)
      if (places[at] == place) return at;
    return -1;
  }
}
