// SPDX-License-Identifier: BSD-2-Clause
package exs;

/**
 * Waits for several requests. All belong to one channel. Null ones, and those whose end the program has learned of before, are ignored.
 *
 * <p>{@link Request#status} and {@link Request#await} have the outcome of a request; its failure is no error here.
 *
 * <p>Threads: any. IllegalStateException: another thread waits for one of the requests, or one was released. IllegalArgumentException:
 * they belong to several channels. {@link ExsException} with EINTR: the thread was interrupted, and the requests continue; EBADF: the
 * channel is closed.
 */
public final class Requests {
  private static final int[] NONE = {};

  private Requests() {}

  /**
   * Waits until one has ended. The program learns of the end of that one alone.
   *
   * @param requests the requests
   * @param timeoutNs in nanoseconds; negative: without limit; 0: asks
   * @return its index; -1: none has ended in that time, or there is none
   * @throws ExsException as the class says
   */
  public static int awaitAny(Request[] requests, long timeoutNs) throws ExsException {
    final Deadline deadline = new Deadline("awaitAny", timeoutNs);
    try (Batch batch = new Batch(requests)) {
      if (batch.isEmpty()) return -1;
      do {
        final int index = batch.awaitAny(deadline.sliceNs());
        if (index >= 0) return index;
      } while (deadline.isAhead());
      return -1;
    }
  }

  /**
   * Returns one that has ended: {@link #awaitAny} without a wait.
   *
   * @param requests the requests
   * @return its index; -1: none has
   * @throws ExsException as the class says
   */
  public static int testAny(Request[] requests) throws ExsException {
    return awaitAny(requests, 0);
  }

  /**
   * Waits until at least one has ended.
   *
   * @param requests the requests
   * @param timeoutNs in nanoseconds; negative: without limit; 0: asks
   * @return the indices of all that have ended, in ascending order; empty: none has in that time, or there is none
   * @throws ExsException as the class says
   */
  public static int[] awaitSome(Request[] requests, long timeoutNs) throws ExsException {
    final Deadline deadline = new Deadline("awaitSome", timeoutNs);
    try (Batch batch = new Batch(requests)) {
      if (batch.isEmpty()) return NONE;
      do {
        final int[] ended = batch.awaitSome(deadline.sliceNs());
        if (ended.length > 0) return ended;
      } while (deadline.isAhead());
      return NONE;
    }
  }

  /**
   * Returns those that have ended: {@link #awaitSome} without a wait.
   *
   * @param requests the requests
   * @return their indices in ascending order
   * @throws ExsException as the class says
   */
  public static int[] testSome(Request[] requests) throws ExsException {
    return awaitSome(requests, 0);
  }

  /**
   * Waits until all have ended. If the time is over before, or the thread is interrupted, the program may have learned of the end of
   * some.
   *
   * @param requests the requests
   * @param timeoutNs in nanoseconds; negative: without limit; 0: asks
   * @return whether all have ended
   * @throws ExsException as the class says
   */
  public static boolean awaitAll(Request[] requests, long timeoutNs) throws ExsException {
    final Deadline deadline = new Deadline("awaitAll", timeoutNs);
    try (Batch batch = new Batch(requests)) {
      do {
        if (batch.isEmpty() || batch.awaitAll(deadline.sliceNs())) return true;
      } while (deadline.isAhead());
      return false;
    }
  }

  /**
   * Returns whether all have ended: {@link #awaitAll} without a wait.
   *
   * @param requests the requests
   * @return whether all have ended
   * @throws ExsException as the class says
   */
  public static boolean testAll(Request[] requests) throws ExsException {
    return awaitAll(requests, 0);
  }
}
