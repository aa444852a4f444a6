// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * The requests of one call that waits for several. They are claimed until the batch is closed. Thread: the one that made it.
 *
 * <p>The library gets a list of those that have not ended: numbers of 8 bytes, statuses of 32, indices of 4.
 */
final class Batch implements AutoCloseable {
  private static final int STATUS_BYTES = 32;
  private static final int ENTRY_BYTES = Long.BYTES + STATUS_BYTES + Integer.BYTES;

  private final Request[] requests;
  /** The indices in `requests` of those that have not ended. */
  private final int[] open;
  private int openCount;
  private Endpoint endpoint;

  Batch(Request[] requests) {
    this.requests = requests.clone();
    open = new int[requests.length];
    boolean isComplete = false;
    try {
      for (int i = 0; i < this.requests.length; ++i) add(i);
      isComplete = true;
    } finally {
      if (!isComplete) close();
    }
  }

  private void add(int index) {
    final Request request = requests[index];
    if (request == null || request.status() != null) return;
    if (endpoint == null) endpoint = request.endpoint();
    if (endpoint != request.endpoint()) throw new IllegalArgumentException("requests of several channels");
    request.claim();
    if (request.status() != null) {
      request.unclaim();
    } else {
      open[openCount++] = index;
    }
  }

  boolean isEmpty() {
    return openCount == 0;
  }

  /** Returns the index of one that has ended; -1: none has in that time. */
  int awaitAny(long sliceNs) throws ExsException {
    final CallFrame frame = endpoint.enter();
    try {
      final long numbers = writeNumbers(frame);
      final int outcome = Native.awaitAny(endpoint.ep(), numbers, openCount, sliceNs, frame.out);
      if (outcome < 0) throw ExsException.of(outcome);
      if (outcome == Native.PENDING) return -1;
      final int index = open[frame.index()];
      end(frame.index(), frame.status());
      return index;
    } finally {
      Guarded.leave(frame);
    }
  }

  /** Returns the indices of those that have ended. */
  int[] awaitSome(long sliceNs) throws ExsException {
    final CallFrame frame = endpoint.enter();
    try {
      final long numbers = writeNumbers(frame);
      final int outcome =
          Native.awaitSome(endpoint.ep(), numbers, openCount, numbers + indicesAt(), numbers + statusesAt(), sliceNs);
      if (outcome < 0) throw ExsException.of(outcome);
      final ByteBuffer list = frame.list(0);
      final int[] ended = new int[outcome];
      for (int i = 0; i < outcome; ++i) {
        final int place = list.getInt(indicesAt() + i * Integer.BYTES);
        ended[i] = open[place];
        end(place, CallFrame.statusAt(list, statusesAt() + i * STATUS_BYTES));
      }
      return ended;
    } finally {
      Guarded.leave(frame);
      compact();
    }
  }

  /** Returns whether all have ended. */
  boolean awaitAll(long sliceNs) throws ExsException {
    final CallFrame frame = endpoint.enter();
    try {
      final long numbers = writeNumbers(frame);
      final int outcome = Native.awaitAll(endpoint.ep(), numbers, openCount, numbers + statusesAt(), sliceNs);
      final ByteBuffer list = frame.list(0);
      boolean isAll = true;
      for (int i = 0; i < openCount; ++i) {
        if (list.getLong(i * Long.BYTES) == 0) {
          end(i, CallFrame.statusAt(list, statusesAt() + i * STATUS_BYTES));
        } else {
          isAll = false;
        }
      }
      if (outcome < 0 && !isAll) throw ExsException.of(outcome);
      return isAll;
    } finally {
      Guarded.leave(frame);
      compact();
    }
  }

  @Override
  public void close() {
    for (int i = 0; i < openCount; ++i) {
      if (open[i] >= 0) requests[open[i]].unclaim();
    }
    openCount = 0;
  }

  private long writeNumbers(CallFrame frame) {
    final ByteBuffer list = frame.list(Math.multiplyExact(openCount, ENTRY_BYTES));
    for (int i = 0; i < openCount; ++i) list.putLong(i * Long.BYTES, requests[open[i]].handle());
    return Native.address(list);
  }

  private int statusesAt() {
    return openCount * Long.BYTES;
  }

  private int indicesAt() {
    return openCount * (Long.BYTES + STATUS_BYTES);
  }

  private void end(int place, Status status) {
    final Request request = requests[open[place]];
    open[place] = -1;
    endpoint.requests().remove(request);
    request.end(status, status.error() == 0 ? null : Native.describe(status.error()));
    request.unclaim();
  }

  private void compact() {
    int kept = 0;
    for (int i = 0; i < openCount; ++i) {
      if (open[i] >= 0) open[kept++] = open[i];
    }
    Arrays.fill(open, kept, openCount, -1);
    openCount = kept;
  }
}
