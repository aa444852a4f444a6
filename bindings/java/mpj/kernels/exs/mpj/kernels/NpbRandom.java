// SPDX-License-Identifier: BSD-2-Clause
package exs.mpj.kernels;

/** The generator of the NAS Parallel Benchmarks: x' = 5^13 x mod 2^46. Any member of the sequence can be reached at once. */
final class NpbRandom {
  static final long SEED = 314159265L;

  private static final long MULTIPLIER = 1220703125L;
  private static final long MASK = (1L << 46) - 1;

  private long state;

  NpbRandom() {
    this(0);
  }

  /** The generator after {@code skipped} numbers. */
  NpbRandom(long skipped) {
    state = SEED;
    skip(skipped);
  }

  /** The next number, between 0 and 1. */
  double next() {
    // 2^46 divides 2^64, so the overflow of the product is harmless.
    state = state * MULTIPLIER & MASK;
    return state * 0x1p-46;
  }

  void skip(long count) {
    long factor = MULTIPLIER;
    for (long left = count; left != 0; left >>>= 1) {
      if ((left & 1) != 0) state = state * factor & MASK;
      factor = factor * factor & MASK;
    }
  }
}
