// SPDX-License-Identifier: BSD-2-Clause
package exs.mpj.kernels;

import java.util.Arrays;
import mpi.MPI;

/** MG of the NAS Parallel Benchmarks: Poisson's equation on a periodic cube with twenty charges, by cycles over a hierarchy of grids. */
final class MultiGrid implements Kernel {
  private static final int ITERATIONS = 4;
  private static final int CHARGES = 10;   // of each sign

  private final char size;
  private final double expected;
  private final Ranks ranks;
  private final Grid[] grids;   // by level: of 2^level points
  private final int top;
  private final double[] charge;

  MultiGrid(char size, Ranks ranks) {
    this.size = size;
    this.ranks = ranks;
    top = size == 'S' ? 5 : size == 'W' ? 7 : 8;
    expected = size == 'S' ? 0.5307707005734e-4 : size == 'W' ? 0.6467329375339e-5 : 0.2433365309069e-5;
    if (!ranks.powerOfTwo() || ranks.count > 1 << top - 1)
      throw new IllegalArgumentException("mg of this class runs on a power of two of ranks, " + (1 << top - 1) + " at most");
    grids = new Grid[top + 1];
    for (int level = 1; level <= top; ++level) grids[level] = new Grid(1 << level, ranks);
    charge = new double[grids[top].solution.length];
  }

  @Override
  public Report run() {
    Grid finest = grids[top];
    placeCharges();
    Stencil.residual(finest, finest.solution, charge, finest.residual);
    cycle();   // not timed: code gets compiled, memory touched
    Arrays.fill(finest.solution, 0);

    long start = ranks.start();
    Stencil.residual(finest, finest.solution, charge, finest.residual);
    for (int iteration = 0; iteration < ITERATIONS; ++iteration) {
      cycle();
      Stencil.residual(finest, finest.solution, charge, finest.residual);
    }
    double norm = finest.norm(finest.residual);
    double seconds = ranks.secondsSince(start);

    double points = Math.pow(finest.n, 3);
    return Report.of("mg", size, ranks, Math.abs(norm - expected) <= 1e-8 * expected)
        .put("time_s", seconds)
        .put("rate_mops", 58.0 * ITERATIONS * points / seconds / 1e6)
        .put("residual", norm)
        .put("residual_expected", expected);
  }

  /** Goes down to the coarsest grid with the residual, and up again with corrections. */
  private void cycle() {
    for (int level = top; level > 1; --level) Stencil.restrict(grids[level], grids[level - 1]);
    Arrays.fill(grids[1].solution, 0);
    Stencil.smooth(grids[1]);
    for (int level = 2; level < top; ++level) {
      Grid grid = grids[level];
      Arrays.fill(grid.solution, 0);
      Stencil.prolong(grids[level - 1], grid);
      Stencil.residual(grid, grid.solution, grid.residual, grid.residual);
      Stencil.smooth(grid);
    }
    Grid finest = grids[top];
    Stencil.prolong(grids[top - 1], finest);
    Stencil.residual(finest, finest.solution, charge, finest.residual);
    Stencil.smooth(finest);
  }

  /** Sets 1 at the ten largest of random numbers, -1 at the ten smallest, else 0. */
  private void placeCharges() {
    Grid finest = grids[top];
    long plane = (long) finest.n * finest.n;
    NpbRandom random = new NpbRandom(plane * finest.first);
    Extremes largest = new Extremes(1);
    Extremes smallest = new Extremes(-1);
    for (long place = plane * finest.first, end = place + plane * finest.planes; place < end; ++place) {
      double value = random.next();
      largest.offer(value, place);
      smallest.offer(value, place);
    }
    place(largest.ofAll(), 1);
    place(smallest.ofAll(), -1);
    finest.wrap(charge);
  }

  private void place(long[] places, double value) {
    Grid finest = grids[top];
    for (long place : places) {
      int z = (int) (place / finest.n / finest.n) - finest.first;
      if (z >= 0 && z < finest.planes)
        charge[finest.at((int) (place % finest.n), (int) (place / finest.n % finest.n), z)] = value;
    }
  }

  /** The ten largest of the offered values, by `sign` times value, in order. */
  private final class Extremes {
    private final double sign;
    private final double[] values = new double[CHARGES];
    private final double[] places = new double[CHARGES];

    Extremes(double sign) {
      this.sign = sign;
      Arrays.fill(values, Double.NEGATIVE_INFINITY);
    }

    void offer(double value, double place) {
      double signed = sign * value;
      if (signed <= values[CHARGES - 1]) return;
      int at = CHARGES - 1;
      for (; at > 0 && values[at - 1] < signed; --at) {
        values[at] = values[at - 1];
        places[at] = places[at - 1];
      }
      values[at] = signed;
      places[at] = place;
    }

    /** Returns the values of all ranks. */
    long[] ofAll() {
      double[] allValues = new double[CHARGES * ranks.count];
      double[] allPlaces = new double[CHARGES * ranks.count];
      ranks.all.Allgather(values, 0, CHARGES, MPI.DOUBLE, allValues, 0, CHARGES, MPI.DOUBLE);
      ranks.all.Allgather(places, 0, CHARGES, MPI.DOUBLE, allPlaces, 0, CHARGES, MPI.DOUBLE);
      Extremes merged = new Extremes(1);
      for (int at = 0; at < allValues.length; ++at) merged.offer(allValues[at], allPlaces[at]);
      long[] result = new long[CHARGES];
      for (int at = 0; at < CHARGES; ++at) result[at] = (long) merged.places[at];
      return result;
    }
  }
}
