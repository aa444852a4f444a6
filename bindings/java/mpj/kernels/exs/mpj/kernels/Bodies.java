// SPDX-License-Identifier: BSD-2-Clause
package exs.mpj.kernels;

import java.util.Arrays;
import mpi.MPI;

/**
 * Gravitation between bodies, each with each: a stand-in for cosmological codes as jGadget. In every step all ranks learn all positions
 * (Allgatherv: parts are uneven), and the energies are summed (Allreduce). Forces are summed in one order whatever the number of ranks,
 * so that positions agree to the last bit.
 */
final class Bodies implements Kernel {
  private static final double STEP = 1e-3;
  private static final double SOFTENING_SQUARED = 1e-3;
  private static final double ENERGY_DRIFT_MOST = 1e-5;
  // The result of a single rank.
  private static final long EXPECTED_S = 3014155444L;
  private static final long EXPECTED_W = 3808179427L;
  private static final long EXPECTED_A = 3273195714L;

  private final char size;
  private final Ranks ranks;
  private final int bodies;
  private final int steps;
  private final long expected;
  private final int[] counts;  // coordinates of each rank
  private final int[] starts;
  private final int first;  // first body of this rank
  private final int mine;
  private final double[] positions;  // of all bodies: x, y, z
  private final double[] own;
  private final double[] velocities;
  private final double[] accelerations;
  private double potential;

  Bodies(char size, Ranks ranks) {
    this.size = size;
    this.ranks = ranks;
    bodies = size == 'S' ? 500 : size == 'W' ? 2000 : 8000;
    steps = size == 'S' ? 200 : size == 'W' ? 100 : 20;
    expected = size == 'S' ? EXPECTED_S : size == 'W' ? EXPECTED_W : EXPECTED_A;
    counts = new int[ranks.count];
    starts = new int[ranks.count];
    for (int rank = 0; rank < ranks.count; ++rank) {
      starts[rank] = 3 * startOf(rank);
      counts[rank] = 3 * startOf(rank + 1) - starts[rank];
    }
    first = starts[ranks.rank] / 3;
    mine = counts[ranks.rank] / 3;
    positions = new double[3 * bodies];
    own = new double[3 * mine];
    velocities = new double[3 * mine];
    accelerations = new double[3 * mine];
  }

  private int startOf(int rank) {
    return (int) ((long) bodies * rank / ranks.count);
  }

  @Override
  public Report run() {
    place();
    shareAndPull();
    double before = energy();
    long start = ranks.start();
    double drift = 0;
    for (int step = 0; step < steps; ++step) {
      kick();
      move();
      shareAndPull();
      kick();
      drift = Math.max(drift, Math.abs(energy() / before - 1));
    }
    double seconds = ranks.secondsSince(start);
    double momentum = momentum();
    long checksum = Arrays.hashCode(positions) & 0xffffffffL;
    boolean same = ranks.max(checksum) == checksum && -ranks.max(-checksum) == checksum;
    double interactions = (double) bodies * bodies * steps;
    boolean equal = ranks.sum(same && checksum == expected ? 0 : 1) == 0;
    return Report.of("nbody", size, ranks, equal && drift <= ENERGY_DRIFT_MOST && momentum <= 1e-12)
        .put("time_s", seconds)
        .put("rate_minteractions_per_s", interactions / seconds / 1e6)
        .put("bodies", bodies)
        .put("steps", steps)
        .put("energy_drift", drift)
        .put("momentum", momentum)
        .put("positions_checksum", checksum)
        .put("positions_checksum_expected", expected);
  }

  /** A ball at rest but for small random velocities, whose mass is 1. */
  private void place() {
    NpbRandom random = new NpbRandom();
    double[] start = new double[3 * bodies];
    double[] speed = new double[3 * bodies];
    for (int body = 0; body < bodies;) {
      double x = 2 * random.next() - 1;
      double y = 2 * random.next() - 1;
      double z = 2 * random.next() - 1;
      if (x * x + y * y + z * z > 1) continue;
      start[3 * body] = x;
      start[3 * body + 1] = y;
      start[3 * body + 2] = z;
      for (int axis = 0; axis < 3; ++axis) speed[3 * body + axis] = 0.2 * random.next() - 0.1;
      ++body;
    }
    for (int axis = 0; axis < 3; ++axis) {
      double mean = 0;
      for (int at = axis; at < speed.length; at += 3) mean += speed[at] / bodies;
      for (int at = axis; at < speed.length; at += 3) speed[at] -= mean;
    }
    System.arraycopy(start, 3 * first, own, 0, own.length);
    System.arraycopy(speed, 3 * first, velocities, 0, velocities.length);
  }

  private void kick() {
    for (int at = 0; at < velocities.length; ++at) velocities[at] += 0.5 * STEP * accelerations[at];
  }

  private void move() {
    for (int at = 0; at < own.length; ++at) own[at] += STEP * velocities[at];
  }

  /** Shares the positions of all bodies with all ranks, and computes the forces on this rank's own. */
  private void shareAndPull() {
    ranks.all.Allgatherv(own, 0, own.length, MPI.DOUBLE, positions, 0, counts, starts, MPI.DOUBLE);
    potential = 0;
    for (int body = 0; body < mine; ++body) pull(body);
  }

  private void pull(int body) {
    double x = own[3 * body];
    double y = own[3 * body + 1];
    double z = own[3 * body + 2];
    double ax = 0;
    double ay = 0;
    double az = 0;
    double sum = 0;
    for (int at = 0; at < positions.length; at += 3) {
      double dx = positions[at] - x;
      double dy = positions[at + 1] - y;
      double dz = positions[at + 2] - z;
      double squared = dx * dx + dy * dy + dz * dz + SOFTENING_SQUARED;
      double inverse = 1 / Math.sqrt(squared);
      double weight = inverse / squared;
      ax += weight * dx;
      ay += weight * dy;
      az += weight * dz;
      sum += inverse;
    }
    accelerations[3 * body] = ax / bodies;
    accelerations[3 * body + 1] = ay / bodies;
    accelerations[3 * body + 2] = az / bodies;
    // A body meets itself at the softened distance: this moves nothing, but would be counted.
    potential -= 0.5 * (sum - 1 / Math.sqrt(SOFTENING_SQUARED)) / bodies / bodies;
  }

  private double energy() {
    double squares = 0;
    for (double velocity : velocities) squares += velocity * velocity;
    return ranks.sum(0.5 * squares / bodies + potential);
  }

  /** The largest component of the total momentum, which is constant. */
  private double momentum() {
    double[] sums = new double[3];
    for (int at = 0; at < velocities.length; ++at) sums[at % 3] += velocities[at] / bodies;
    double[] all = new double[3];
    ranks.all.Allreduce(sums, 0, all, 0, 3, MPI.DOUBLE, MPI.SUM);
    return Math.max(Math.abs(all[0]), Math.max(Math.abs(all[1]), Math.abs(all[2])));
  }
}
