// SPDX-License-Identifier: BSD-2-Clause
package exs.mpj.kernels;

import java.util.ArrayList;
import java.util.List;
import mpi.MPI;

/**
 * FT of the NAS Parallel Benchmarks: a heat equation in three dimensions, solved by Fourier transforms.
 *
 * <p>In space each rank has whole planes z; in the frequency domain it has a slice of y, with all of x and z. One all-to-all leads from
 * one to the other: the part of a rank is contiguous in the slices, so only the side of the planes is packed.
 */
final class FourierTransform implements Kernel {
  private static final int ITERATIONS = 6;
  private static final double DIFFUSION = 1e-6;
  private static final int SAMPLES = 1024;
  private static final double[] EXPECTED_S = {554.6087004964, 484.5363331978, 554.6385409189, 486.5304269511, 554.6148406171,
      488.3910722336, 554.5423607415, 490.1273169046, 554.4255039624, 491.7475857993, 554.2683411902, 493.2597244941};
  private static final double[] EXPECTED_W = {567.3612178944, 529.3246849175, 563.1436885271, 528.2149986629, 559.4024089970,
      527.0996558037, 556.0698047020, 526.0027904925, 553.0898991250, 524.9400845633, 550.4159734538, 523.9212247086};
  private static final double[] EXPECTED_A = {504.6735008193, 511.4047905510, 505.9412319734, 509.8809666433, 506.9376896287,
      509.8144042213, 507.7892868474, 510.1336130759, 508.5233095391, 510.4914655194, 509.1487099959, 510.7917842803};

  private final char size;
  private final double[] expected;
  private final Ranks ranks;
  private final int nx;
  private final int ny;
  private final int nz;
  private final int planes;   // of z, which this rank has in space
  private final int rows;     // of y, which it has in the frequency domain
  private final Fourier alongX;
  private final Fourier alongY;
  private final Fourier alongZ;
  private final double[] space;       // z, y, x
  private final double[] packed;      // by rank: z, y, x
  private final double[] spectrum;    // z, y, x
  private final double[] evolved;

  FourierTransform(char size, Ranks ranks) {
    this.size = size;
    this.ranks = ranks;
    nx = size == 'S' ? 64 : size == 'W' ? 128 : 256;
    ny = size == 'S' ? 64 : size == 'W' ? 128 : 256;
    nz = size == 'S' ? 64 : size == 'W' ? 32 : 128;
    expected = size == 'S' ? EXPECTED_S : size == 'W' ? EXPECTED_W : EXPECTED_A;
    if (!ranks.powerOfTwo() || ranks.count > Math.min(ny, nz))
      throw new IllegalArgumentException("ft of this class runs on a power of two of ranks, " + Math.min(ny, nz) + " at most");
    planes = nz / ranks.count;
    rows = ny / ranks.count;
    alongX = new Fourier(nx);
    alongY = new Fourier(ny);
    alongZ = new Fourier(nz);
    int length = 2 * planes * ny * nx;
    space = new double[length];
    packed = new double[length];
    spectrum = new double[length];
    evolved = new double[length];
  }

  @Override
  public Report run() {
    forward();   // not timed: code gets compiled, memory touched
    long start = ranks.start();
    fill();
    forward();
    List<Double> sums = new ArrayList<>();
    for (int step = 1; step <= ITERATIONS; ++step) {
      evolve();
      backward();
      addChecksum(sums);
    }
    double seconds = ranks.secondsSince(start);

    double points = (double) nx * ny * nz;
    double log = Math.log(points);
    double operations = points * (14.8157 + 7.19641 * log + (5.23518 + 7.21113 * log) * ITERATIONS);
    return Report.of("ft", size, ranks, agree(sums))
        .put("time_s", seconds)
        .put("rate_mops", operations / seconds / 1e6)
        .put("checksum_real", sums.get(2 * ITERATIONS - 2))
        .put("checksum_imaginary", sums.get(2 * ITERATIONS - 1));
  }

  private boolean agree(List<Double> sums) {
    for (int at = 0; at < expected.length; at += 2) {
      double error = Math.hypot(sums.get(at) - expected[at], sums.get(at + 1) - expected[at + 1]);
      if (!(error <= 1e-12 * Math.hypot(expected[at], expected[at + 1]))) return false;
    }
    return true;
  }

  private void fill() {
    NpbRandom random = new NpbRandom(2L * nx * ny * planes * ranks.rank);
    for (int at = 0; at < space.length; ++at) space[at] = random.next();
  }

  /** Space to spectrum. */
  private void forward() {
    for (int plane = 0; plane < planes; ++plane) {
      alongX.transform(space, plane * ny * nx, 1, nx, ny, false);
      alongY.transform(space, plane * ny * nx, nx, 1, nx, false);
    }
    int row = 2 * rows * nx;   // numbers of one plane that go to one rank
    for (int to = 0, at = 0; to < ranks.count; ++to)
      for (int plane = 0; plane < planes; ++plane, at += row)
        System.arraycopy(space, 2 * (plane * ny + to * rows) * nx, packed, at, row);
    swap(packed, spectrum);
    alongZ.transform(spectrum, 0, rows * nx, 1, rows * nx, false);
  }

  /** The evolved spectrum to space. */
  private void backward() {
    alongZ.transform(evolved, 0, rows * nx, 1, rows * nx, true);
    swap(evolved, packed);
    int row = 2 * rows * nx;
    for (int from = 0, at = 0; from < ranks.count; ++from)
      for (int plane = 0; plane < planes; ++plane, at += row)
        System.arraycopy(packed, at, space, 2 * (plane * ny + from * rows) * nx, row);
    for (int plane = 0; plane < planes; ++plane) {
      alongY.transform(space, plane * ny * nx, nx, 1, nx, true);
      alongX.transform(space, plane * ny * nx, 1, nx, ny, true);
    }
  }

  private void swap(double[] from, double[] into) {
    if (ranks.count == 1) {
      System.arraycopy(from, 0, into, 0, from.length);
      return;
    }
    int each = from.length / ranks.count;
    ranks.all.Alltoall(from, 0, each, MPI.DOUBLE, into, 0, each, MPI.DOUBLE);
  }

  /** One step of time: every frequency decays. */
  private void evolve() {
    double[] decayX = decay(nx);
    double[] decayY = decay(ny);
    double[] decayZ = decay(nz);
    int at = 0;
    for (int z = 0; z < nz; ++z) {
      for (int y = 0; y < rows; ++y) {
        double decayYZ = decayZ[z] * decayY[ranks.rank * rows + y];
        for (int x = 0; x < nx; ++x, at += 2) {
          double factor = decayYZ * decayX[x];
          spectrum[at] *= factor;
          spectrum[at + 1] *= factor;
        }
      }
    }
    System.arraycopy(spectrum, 0, evolved, 0, spectrum.length);
  }

  private static double[] decay(int length) {
    double[] factors = new double[length];
    for (int k = 0; k < length; ++k) {
      double frequency = k < length / 2 ? k : k - length;
      factors[k] = Math.exp(-4 * DIFFUSION * Math.PI * Math.PI * frequency * frequency);
    }
    return factors;
  }

  private void addChecksum(List<Double> sums) {
    double[] mine = new double[2];
    for (int sample = 1; sample <= SAMPLES; ++sample) {
      int plane = 5 * sample % nz - ranks.rank * planes;
      if (plane < 0 || plane >= planes) continue;
      int at = 2 * ((plane * ny + 3 * sample % ny) * nx + sample % nx);
      mine[0] += space[at];
      mine[1] += space[at + 1];
    }
    double[] all = new double[2];
    ranks.all.Allreduce(mine, 0, all, 0, 2, MPI.DOUBLE, MPI.SUM);
    double points = (double) nx * ny * nz;
    sums.add(all[0] / points);
    sums.add(all[1] / points);
  }
}
