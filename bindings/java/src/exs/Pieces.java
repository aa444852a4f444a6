// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.nio.ByteBuffer;

/** Buffers as a list of exs_iovec_t: 0 address, 8 length, 16 region, 20 zero; 24 bytes each. */
final class Pieces {
  private static final int BYTES = 24;

  private Pieces() {}

  /** Returns the address of such a list, in the frame's memory. */
  static long write(CallFrame frame, ByteBuffer[] pieces) {
    final ByteBuffer list = frame.list(pieces.length * BYTES);
    int at = 0;
    for (final ByteBuffer piece : pieces) {
      final long address = Native.address(piece) + piece.position();
      list.putLong(at, address).putLong(at + 8, piece.remaining()).putInt(at + 16, Memory.regionOf(address)).putInt(at + 20, 0);
      at += BYTES;
    }
    return Native.address(list);
  }
}
