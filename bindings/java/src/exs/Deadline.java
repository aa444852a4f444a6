// SPDX-License-Identifier: BSD-2-Clause
package exs;

/** The end of a wait that is cut into slices, to check for an interrupt after each. */
final class Deadline {
  private final String what;
  private final boolean isEndless;
  private final long startedNs;
  private final long limitNs;
  private long leftNs;

  /** A negative timeout means no limit. */
  Deadline(String what, long timeoutNs) {
    this.what = what;
    isEndless = timeoutNs < 0;
    limitNs = timeoutNs;
    leftNs = timeoutNs;
    startedNs = timeoutNs > 0 ? System.nanoTime() : 0;
  }

  /** Returns how long to wait in the library now. */
  long sliceNs() {
    return isEndless ? Guarded.SLICE_NS : Math.min(leftNs, Guarded.SLICE_NS);
  }

  /** Returns false if the time is over. Throws EINTR. */
  boolean isAhead() throws ExsException {
    if (limitNs == 0) return false;
    if (Thread.currentThread().isInterrupted()) throw ExsException.interrupted(what);
    if (isEndless) return true;
    leftNs = limitNs - (System.nanoTime() - startedNs);
    return leftNs > 0;
  }
}
