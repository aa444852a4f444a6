// SPDX-License-Identifier: BSD-2-Clause
package exs.mpj.kernels;

/** Transforms of many lines of one length, a power of two; complex numbers are stored as pairs. Results are not scaled. */
final class Fourier {
  private static final int TOGETHER = 16;   // lines at a time: so many neighbours share their cache lines

  private final int length;
  private final double[] roots;   // exp(-2 pi i k / length), for k below length / 2
  private double[] here;
  private double[] there;

  Fourier(int length) {
    this.length = length;
    roots = new double[Math.max(2, length)];
    for (int k = 0; k < length / 2; ++k) {
      roots[2 * k] = Math.cos(2 * Math.PI * k / length);
      roots[2 * k + 1] = -Math.sin(2 * Math.PI * k / length);
    }
    here = new double[2 * length * TOGETHER];
    there = new double[2 * length * TOGETHER];
  }

  /** Transforms `lines` lines in place; steps are in complex numbers. */
  void transform(double[] numbers, int first, int step, int lineStep, int lines, boolean inverse) {
    for (int done = 0; done < lines; done += TOGETHER) {
      int count = Math.min(TOGETHER, lines - done);
      int start = first + done * lineStep;
      gather(numbers, start, step, lineStep, count);
      stages(count, inverse);
      scatter(numbers, start, step, lineStep, count);
    }
  }

  private void gather(double[] numbers, int start, int step, int lineStep, int count) {
    for (int at = 0, to = 0; at < length; ++at) {
      for (int line = 0; line < count; ++line, to += 2) {
        int from = 2 * (start + at * step + line * lineStep);
        here[to] = numbers[from];
        here[to + 1] = numbers[from + 1];
      }
    }
  }

  private void scatter(double[] numbers, int start, int step, int lineStep, int count) {
    for (int at = 0, from = 0; at < length; ++at) {
      for (int line = 0; line < count; ++line, from += 2) {
        int to = 2 * (start + at * step + line * lineStep);
        numbers[to] = here[from];
        numbers[to + 1] = here[from + 1];
      }
    }
  }

  /** Stockham's order: every stage reads one array and writes the other, and the result needs no permutation. */
  private void stages(int count, boolean inverse) {
    double sign = inverse ? -1 : 1;
    int width = 2 * count;
    for (int half = length / 2, run = 1; half >= 1; half /= 2, run *= 2) {
      for (int j = 0; j < half; ++j) {
        double cos = roots[2 * j * run];
        double sin = sign * roots[2 * j * run + 1];
        butterflies(j * run * width, (j + half) * run * width, 2 * j * run * width, run * width, cos, sin);
      }
      double[] swapped = here;
      here = there;
      there = swapped;
    }
  }

  private void butterflies(int left, int right, int to, int span, double cos, double sin) {
    for (int at = 0; at < span; at += 2) {
      double re = here[left + at] - here[right + at];
      double im = here[left + at + 1] - here[right + at + 1];
      there[to + at] = here[left + at] + here[right + at];
      there[to + at + 1] = here[left + at + 1] + here[right + at + 1];
      there[to + span + at] = cos * re - sin * im;
      there[to + span + at + 1] = cos * im + sin * re;
    }
  }
}
