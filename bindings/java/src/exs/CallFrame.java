// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A thread's memory for calls into the library: 64 bytes for their results, memory for lists, and a {@link Stage} for arrays. Thread: its
 * own, except for {@link #inside}.
 *
 * <p>Layout of {@code out} (native/outcome.h): 0 source, 4 tag, 8 context, 12 error, 16 length, 24 cancelled, 32 request, 40 message, 48
 * index.
 */
final class CallFrame {
  private static final int SOURCE = 0;
  private static final int TAG = 4;
  private static final int CONTEXT = 8;
  private static final int ERROR = 12;
  private static final int LENGTH = 16;
  private static final int CANCELLED = 24;
  private static final int REQUEST = 32;
  private static final int MESSAGE = 40;
  private static final int INDEX = 48;
  private static final int OUT_BYTES = 64;

  private static final ThreadLocal<CallFrame> OF_THREAD = ThreadLocal.withInitial(CallFrame::new);

  /** The object that this thread is calling into; a thread that closes the object waits until this changes. */
  volatile Guarded inside;

  /** The address where calls of this thread write their results. */
  final long out;

  private final ByteBuffer outcome = direct(OUT_BYTES);
  private ByteBuffer list = direct(1024);
  private Stage spare;

  private CallFrame() {
    out = Native.address(outcome);
    Guarded.register(this);
  }

  static CallFrame ofThread() {
    return OF_THREAD.get();
  }

  static ByteBuffer direct(int bytes) {
    return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
  }

  Status status() {
    return statusAt(outcome, 0);
  }

  /** Reads one of the statuses that a call has written to a list. */
  static Status statusAt(ByteBuffer memory, int at) {
    return new Status(memory.getInt(at + SOURCE), memory.getInt(at + TAG), memory.getInt(at + CONTEXT),
        memory.getLong(at + LENGTH), memory.getInt(at + ERROR), memory.getInt(at + CANCELLED) != 0);
  }

  long request() {
    return outcome.getLong(REQUEST);
  }

  void setRequest(long request) {
    outcome.putLong(REQUEST, request);
  }

  long message() {
    return outcome.getLong(MESSAGE);
  }

  int index() {
    return outcome.getInt(INDEX);
  }

  /** Returns memory for a list, which the next call of list() may reuse. */
  ByteBuffer list(int bytes) {
    if (list.capacity() < bytes) list = direct(Math.max(bytes, 2 * list.capacity()));
    return list;
  }

  /** Returns memory of at least `bytes` for an array on its way. */
  Stage takeStage(long bytes) {
    final Stage mine = spare;
    if (mine == null || mine.bytes() < bytes) return Stage.take(bytes);
    spare = null;
    return mine;
  }

  void giveBack(Stage stage) {
    if (spare == null && stage.bytes() <= Stage.SMALL_BYTES) {
      spare = stage;
    } else {
      stage.giveBack();
    }
  }
}
