// SPDX-License-Identifier: BSD-2-Clause
package xdev.exsdev;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The eight bytes before the data of a message, big endian. The first four are the length of the dynamic part, that of serialized objects,
 * with the byte order of the data in the sign. The others are the number of the message with the dynamic part, 0 if there is none.
 */
final class Envelope {
  static final int BYTES = 8;

  private static final int LITTLE = 1 << 31;

  private Envelope() {}

  static void put(ByteBuffer into, int at, ByteOrder order, int dynamicLength, int number) {
    into.order(ByteOrder.BIG_ENDIAN);
    into.putInt(at, dynamicLength | (order == ByteOrder.LITTLE_ENDIAN ? LITTLE : 0));
    into.putInt(at + 4, number);
  }

  static ByteOrder order(ByteBuffer from, int at) {
    return from.order(ByteOrder.BIG_ENDIAN).getInt(at) < 0 ? ByteOrder.LITTLE_ENDIAN : ByteOrder.BIG_ENDIAN;
  }

  static int dynamicLength(ByteBuffer from, int at) {
    return from.order(ByteOrder.BIG_ENDIAN).getInt(at) & ~LITTLE;
  }

  static int number(ByteBuffer from, int at) {
    return from.order(ByteOrder.BIG_ENDIAN).getInt(at + 4);
  }
}
