// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import exs.ExsException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Objects;

/**
 * A message that has arrived, until it is released; later uses fail with IllegalStateException. Short items are copies and outlast it. A
 * long item is a view, without a copy, of its window, or of the place that the request named. After the release the window gets the bytes
 * of the next message. So a buffer that is kept too long shows those, but never freed memory. If the library has allocated the memory,
 * the buffer is a copy of it.
 *
 * <p>Thread: any.
 */
public class Message implements AutoCloseable {
  private final Contents contents;
  private final List<ByteBuffer> places;
  private final ByteBuffer[] longs;
  private long address;

  Message(long address, Contents contents, List<ByteBuffer> places) {
    this.address = address;
    this.contents = contents;
    this.places = places;
    longs = new ByteBuffer[contents.addresses().length];
  }

  /** The address of the message; call this, and use the address, under the message's lock. */
  final long address() {
    if (address == 0) throw new IllegalStateException("a message was used after its release");
    return address;
  }

  /**
   * The sender of the message.
   *
   * @return the proven ID of a service; null: anonymous
   */
  public final ServiceId from() {
    return contents.from();
  }

  /**
   * The time that the sender waits for a reply.
   *
   * @return the time, for a request; zero: no limit
   */
  public final Duration limit() {
    return Duration.ofNanos(contents.limitNs());
  }

  /**
   * The short items.
   *
   * @return copies, on the heap
   */
  public final List<ByteBuffer> items() {
    return contents.items();
  }

  /**
   * The number of long items.
   *
   * @return how many
   */
  public final int longItems() {
    return longs.length;
  }

  /**
   * A long item.
   *
   * @param index from 0
   * @return a direct buffer with all of it
   * @throws ExsException EMSGSIZE: it is longer than a buffer of Java can be
   * @throws IndexOutOfBoundsException there is none
   * @throws IllegalStateException the message has been released
   */
  public final synchronized ByteBuffer longItem(int index) throws ExsException {
    Objects.checkIndex(index, longs.length);
    address();
    if (longs[index] == null) longs[index] = view(contents.addresses()[index], contents.lengths()[index]);
    return longs[index].duplicate();
  }

  private ByteBuffer view(long at, long bytes) throws ExsException {
    if (bytes > Integer.MAX_VALUE) throw new ExsException(ExsException.EMSGSIZE, "a long item of " + bytes + " bytes");
    for (final ByteBuffer place : places) {
      final long offset = at - CallFrame.addressOf(place);
      if (offset >= 0 && offset + bytes <= place.remaining()) return place.slice(place.position() + (int) offset, (int) bytes);
    }
    final ByteBuffer copy = ByteBuffer.allocateDirect((int) bytes);
    Native.copy(at, copy, (int) bytes);
    return copy;
  }

  /** Gives the message back; a second call has no effect. A request that has not been answered ends at its sender with ECANCELED. */
  public final synchronized void release() {
    if (address == 0) return;
    final long mine = address;
    address = 0;
    Native.release(mine);
  }

  /** As {@link #release}. */
  @Override
  public final void close() {
    release();
  }
}
