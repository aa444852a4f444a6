// SPDX-License-Identifier: BSD-2-Clause
package exs.xdev;

import exs.ExsException;
import exs.Memory;
import java.nio.ByteBuffer;
import java.nio.BufferUnderflowException;
import java.nio.ByteOrder;
import java.util.Objects;

/**
 * Memory of the library for messages of a {@link Device}, which are written into it and read from it without further copies.
 *
 * <p>A program writes arrays into it, sends it, and clears it; or receives into it, and reads arrays from it in the same order. Elements
 * are in the byte order of the machine. From the start of a send or receive to its end the buffer belongs to the device. Thread: one at a
 * time.
 */
public final class Buffer {
  private final ByteBuffer memory;
  private int size;
  private int readAt;

  /**
   * Allocates memory for messages.
   *
   * @param capacity of how many bytes, at least 1
   * @throws IllegalArgumentException fewer than 1
   * @throws ExsException ENOMEM
   */
  public Buffer(int capacity) throws ExsException {
    memory = Memory.allocate(capacity).buffer();
  }

  /**
   * The limit of a message's length.
   *
   * @return in bytes
   */
  public int capacity() {
    return memory.capacity();
  }

  /**
   * The length of the content: written elements, or the received message.
   *
   * @return in bytes
   */
  public int size() {
    return size;
  }

  /** Empties the buffer, to be written again. */
  public void clear() {
    size = 0;
    readAt = 0;
  }

  /**
   * The content as bytes.
   *
   * @return a view from 0 to {@link #size}
   */
  public ByteBuffer bytes() {
    return slice(0, size);
  }

  /**
   * Appends part of an array.
   *
   * @param array of bytes, shorts, chars, ints, longs, floats or doubles
   * @param at the first element
   * @param count how many
   * @throws IllegalArgumentException another array
   * @throws IndexOutOfBoundsException elements that the array does not have
   * @throws java.nio.BufferOverflowException there is no room for them
   */
  public void write(Object array, int at, int count) {
    size += move(array, at, count, slice(size, capacity()), true);
  }

  /**
   * Reads elements behind those that were read before.
   *
   * @param array of bytes, shorts, chars, ints, longs, floats or doubles
   * @param at the first element to write
   * @param count how many
   * @throws IllegalArgumentException another array
   * @throws IndexOutOfBoundsException elements that the array does not have
   * @throws BufferUnderflowException the buffer does not hold so many
   */
  public void read(Object array, int at, int count) {
    readAt += move(array, at, count, slice(readAt, size), false);
  }

  /** The memory to receive a message into. */
  ByteBuffer room() {
    clear();
    return slice(0, capacity());
  }

  void received(long bytes) {
    size = (int) Math.min(bytes, capacity());
    readAt = 0;
  }

  private ByteBuffer slice(int from, int to) {
    return memory.slice(from, to - from).order(ByteOrder.nativeOrder());
  }

  /** Returns the number of bytes of these elements. */
  private static int move(Object array, int at, int count, ByteBuffer place, boolean isWrite) {
    Objects.requireNonNull(array, "array");
    if (array instanceof byte[] bytes) {
      if (isWrite) place.put(bytes, at, count); else place.get(bytes, at, count);
      return count;
    }
    if (array instanceof short[] shorts) {
      if (isWrite) place.asShortBuffer().put(shorts, at, count); else place.asShortBuffer().get(shorts, at, count);
      return count * Short.BYTES;
    }
    if (array instanceof char[] chars) {
      if (isWrite) place.asCharBuffer().put(chars, at, count); else place.asCharBuffer().get(chars, at, count);
      return count * Character.BYTES;
    }
    if (array instanceof int[] ints) {
      if (isWrite) place.asIntBuffer().put(ints, at, count); else place.asIntBuffer().get(ints, at, count);
      return count * Integer.BYTES;
    }
    if (array instanceof long[] longs) {
      if (isWrite) place.asLongBuffer().put(longs, at, count); else place.asLongBuffer().get(longs, at, count);
      return count * Long.BYTES;
    }
    if (array instanceof float[] floats) {
      if (isWrite) place.asFloatBuffer().put(floats, at, count); else place.asFloatBuffer().get(floats, at, count);
      return count * Float.BYTES;
    }
    if (array instanceof double[] doubles) {
      if (isWrite) place.asDoubleBuffer().put(doubles, at, count); else place.asDoubleBuffer().get(doubles, at, count);
      return count * Double.BYTES;
    }
    throw new IllegalArgumentException("no array of primitive elements: " + array.getClass().getName());
  }
}
