// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;

/**
 * The memory that the peer of a message connection has opened ({@link Window}). This end reads and writes it at offsets, and the peer
 * takes no part.
 *
 * <p>Memory, threads and errors are those of {@link StreamChannel}. Other errors are ERANGE: beyond the end of that memory; EINVAL: the
 * peer's receive is no window; ECANCELED: the peer has closed its window, and has opened or sent nothing since that has arrived here. If
 * the peer has not opened a window yet, the call waits for it.
 */
public final class RemoteWindow {
  private static final int SNAPSHOT_BYTES = 32;
  private static final int EINPROGRESS = 115;
  private static final int ENOMSG = 42;

  /**
   * The result of a read from {@link Slots}.
   *
   * @param update the number of the update that was read, 1 for the first
   * @param newest the number of the newest update after the read
   * @param tries how often the data were read
   */
  public record Snapshot(long update, long newest, long tries) {}

  private final StreamChannel channel;
  private long span;

  /**
   * The window of a channel's peer.
   *
   * @param channel of messages
   */
  public RemoteWindow(StreamChannel channel) {
    this.channel = channel;
  }

  /**
   * Reads from the window.
   *
   * @param into the destination; its remaining bytes are read
   * @param offset in the peer's memory, in bytes
   * @return the result
   * @throws ExsException as the class says
   */
  public Transfer read(ByteBuffer into, long offset) throws ExsException {
    return Transfer.of(channel.runReceive(channel.post(false, into, 0, positive(offset))));
  }

  /**
   * Writes to the window. When it returns, the data have left and the memory is free.
   *
   * @param from the data; its remaining bytes are written
   * @param offset in the peer's memory, in bytes
   * @return the result
   * @throws ExsException as the class says
   */
  public Transfer write(ByteBuffer from, long offset) throws ExsException {
    return Transfer.of(channel.runSend(channel.post(true, from, 0, positive(offset))));
  }

  /**
   * Reads a part of the peer's memory in a state that no update has changed meanwhile ({@link Window#beginUpdate}).
   *
   * @param into the destination
   * @param at the first byte there
   * @param length how many bytes, at least 1
   * @param offset in the peer's memory, in bytes
   * @param counterOffset the offset of the counter of updates in the peer's memory, a multiple of 8
   * @param timeoutNs in nanoseconds; negative: without limit
   * @throws ExsException as the class says; ENOMSG: the peer has opened no window in that time; EINPROGRESS: an update crossed each try;
   *     ETIMEDOUT
   */
  public void snapshot(Memory into, int at, int length, long offset, long counterOffset, long timeoutNs) throws ExsException {
    final long address = into.address(at, length);
    repeat(into, "snapshot", timeoutNs, (frame, sliceNs) -> Native.snapshotOfWindow(
        channel.socket(), address, length, into.region(), positive(offset), positive(counterOffset), sliceNs));
  }

  /**
   * Reads a part of a whole update in the peer's {@link Slots}. One thread at a time.
   *
   * @param into the destination
   * @param at the first byte there
   * @param length how many bytes, at least 1
   * @param offset in the slot, in bytes
   * @param slotsOffset the offset of the slots in the peer's memory, a multiple of 8
   * @param timeoutNs in nanoseconds; negative: without limit
   * @return the update that was read
   * @throws ExsException as {@link #snapshot}; ENOMSG also: there is no update yet; EINVAL also: there are no slots
   */
  public Snapshot snapshotOfSlots(Memory into, int at, int length, long offset, long slotsOffset, long timeoutNs) throws ExsException {
    final long address = into.address(at, length);
    final ByteBuffer told = CallFrame.direct(SNAPSHOT_BYTES);
    final long toldAddress = Native.address(told);
    told.putLong(16, span);
    repeat(into, "snapshotOfSlots", timeoutNs, (frame, sliceNs) -> Native.snapshotOfSlots(
        channel.socket(), address, length, into.region(), positive(offset), positive(slotsOffset), toldAddress, sliceNs));
    span = told.getLong(16);
    return new Snapshot(told.getLong(0), told.getLong(8), told.getLong(24));
  }

  private interface Try {
    int once(CallFrame frame, long sliceNs);
  }

  private void repeat(Memory into, String what, long timeoutNs, Try one) throws ExsException {
    final Deadline deadline = new Deadline(what, timeoutNs);
    int outcome;
    boolean hasWaited;
    do {
      final long sliceNs = deadline.sliceNs();
      final long startedNs = System.nanoTime();
      outcome = channel.descriptor().use(frame -> one.once(frame, sliceNs));
      Reference.reachabilityFence(into);
      if (outcome > 0) return;
      hasWaited = System.nanoTime() - startedNs >= sliceNs;
    } while (isForWant(outcome, hasWaited) && deadline.isAhead());
    throw ExsException.of(outcome);
  }

  /** The time is over, or the peer had not done its part in that time. */
  private static boolean isForWant(int outcome, boolean hasWaited) {
    if (outcome == -ExsException.EINTR) return true;
    return hasWaited && (outcome == -ExsException.ETIMEDOUT || outcome == -EINPROGRESS || outcome == -ENOMSG);
  }

  private static long positive(long offset) {
    if (offset < 0) throw new IllegalArgumentException("the offset " + offset);
    return offset;
  }
}
