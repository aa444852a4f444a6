// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Buffers with bytes that can be told from others. */
final class Bytes {
  private Bytes() {}

  static ByteBuffer direct(int size) {
    return ByteBuffer.allocateDirect(size).order(ByteOrder.nativeOrder());
  }

  static byte[] array(int size, int seed) {
    final byte[] bytes = new byte[size];
    for (int i = 0; i < size; ++i) bytes[i] = (byte) (i * 31 + seed * 7 + (i >>> 8));
    return bytes;
  }

  static ByteBuffer direct(int size, int seed) {
    return direct(size).put(array(size, seed)).flip();
  }

  /** What a buffer holds up to a length, from its beginning on. */
  static byte[] of(ByteBuffer buffer, long length) {
    final byte[] bytes = new byte[(int) length];
    buffer.duplicate().clear().get(bytes);
    return bytes;
  }
}
