// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.lang.reflect.Array;
import java.util.Objects;

/** The array types that can be sent and received, by numbers that the library knows as well (native/arrays.h). */
final class Elements {
  private static final int BYTE = 0;
  private static final int SHORT = 1;
  private static final int CHAR = 2;
  private static final int INT = 3;
  private static final int LONG = 4;
  private static final int FLOAT = 5;
  private static final int DOUBLE = 6;

  private Elements() {}

  /** Returns the kind of an array that has `count` elements from `at` on. */
  static int kindOf(Object array, int at, int count) {
    final int kind = kindOf(array);
    Objects.checkFromIndexSize(at, count, kind == BYTE ? ((byte[]) array).length : Array.getLength(array));
    return kind;
  }

  private static int kindOf(Object array) {
    if (array instanceof byte[]) return BYTE;
    if (array instanceof double[]) return DOUBLE;
    if (array instanceof int[]) return INT;
    if (array instanceof long[]) return LONG;
    if (array instanceof float[]) return FLOAT;
    if (array instanceof short[]) return SHORT;
    if (array instanceof char[]) return CHAR;
    Objects.requireNonNull(array, "array");
    throw new IllegalArgumentException("no array of bytes, shorts, chars, ints, longs, floats or doubles: " + array.getClass().getName());
  }

  static int bytesOf(int kind) {
    switch (kind) {
      case BYTE:
        return Byte.BYTES;
      case SHORT:
      case CHAR:
        return Short.BYTES;
      case INT:
      case FLOAT:
        return Integer.BYTES;
      default:
        return Long.BYTES;
    }
  }

  static long bytesOf(int kind, int count) {
    return (long) bytesOf(kind) * count;
  }
}
