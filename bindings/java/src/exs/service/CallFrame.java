// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import exs.ExsException;
import exs.Memory;
import java.lang.annotation.Native;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;

/** The lists for a call: exs_svc_item_t, exs_iovec_t, and the bytes of short items. Thread: its own. */
final class CallFrame {
  @Native static final int ITEMS_MAX = 16;
  @Native static final int SHORT_MAX = 4000;
  @Native static final int ITEM_BYTES = 16;
  @Native static final int PIECE_BYTES = 24;
  private static final int EMSGSIZE = ExsException.EMSGSIZE;
  private static final int LONGS_AT = ITEMS_MAX * ITEM_BYTES;
  private static final int RETURNS_AT = LONGS_AT + ITEMS_MAX * PIECE_BYTES;
  private static final int BYTES_AT = RETURNS_AT + ITEMS_MAX * PIECE_BYTES;

  private static final ThreadLocal<CallFrame> OF_THREAD = ThreadLocal.withInitial(CallFrame::new);

  final long items;
  final long longs;
  final long returns;
  private final ByteBuffer memory = direct(BYTES_AT + SHORT_MAX);

  private CallFrame() {
    items = exs.service.Native.address(memory);
    longs = items + LONGS_AT;
    returns = items + RETURNS_AT;
  }

  static CallFrame ofThread() {
    return OF_THREAD.get();
  }

  static ByteBuffer direct(int bytes) {
    return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
  }

  /** Copies short items, and leaves the buffers as they are. */
  void setItems(List<ByteBuffer> buffers) throws ExsException {
    if (buffers.size() > ITEMS_MAX) throw new ExsException(EMSGSIZE, "more than " + ITEMS_MAX + " short items");
    int bytesAt = BYTES_AT;
    int at = 0;
    for (final ByteBuffer buffer : buffers) {
      final int bytes = buffer.remaining();
      if (bytes > memory.capacity() - bytesAt) throw new ExsException(EMSGSIZE, "more than " + SHORT_MAX + " bytes of short items");
      memory.put(bytesAt, buffer, buffer.position(), bytes);
      memory.putLong(at, items + bytesAt).putLong(at + 8, bytes);
      bytesAt += bytes;
      at += ITEM_BYTES;
    }
  }

  /** The memory of buffers, which stays the same when another thread moves their positions and limits. */
  static List<ByteBuffer> slices(List<ByteBuffer> buffers) {
    return buffers.stream().map(ByteBuffer::slice).toList();
  }

  /** Takes slices. */
  void setLongs(List<ByteBuffer> buffers) throws ExsException {
    setPieces(LONGS_AT, buffers);
  }

  /** Takes slices. */
  void setReturns(List<ByteBuffer> buffers) throws ExsException {
    for (final ByteBuffer buffer : buffers) {
      if (buffer.isReadOnly()) throw new IllegalArgumentException("a place for long items is read-only");
    }
    setPieces(RETURNS_AT, buffers);
  }

  private void setPieces(int listAt, List<ByteBuffer> buffers) throws ExsException {
    if (buffers.size() > ITEMS_MAX) throw new ExsException(EMSGSIZE, "more than " + ITEMS_MAX + " long items, or places for them");
    int at = listAt;
    for (final ByteBuffer buffer : buffers) {
      memory.putLong(at, addressOf(buffer)).putLong(at + 8, buffer.remaining()).putInt(at + 16, Memory.regionOf(buffer)).putInt(at + 20, 0);
      at += PIECE_BYTES;
    }
  }

  /** The address of the buffer's position. */
  static long addressOf(ByteBuffer buffer) {
    if (!buffer.isDirect()) throw new IllegalArgumentException("a long item, or a place for one, is no direct buffer");
    return exs.service.Native.address(buffer) + buffer.position();
  }
}
