package exs.service;

import exs.ExsException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Objects;

/**
 * A message that has arrived, until it is released; what is asked of it afterwards fails with IllegalStateException. Short items are copies
 * and outlast it. A long item is a view of the window, or of the place that the request named, that it lies in, without a copy: bytes of a
 * window are the next message's after the release, so a buffer that is kept too long shows those, but never memory that has gone. Where
 * the library has allocated the memory, the buffer is a copy of it.
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

  /** Its address; to be called, and used, under its lock. */
  final long address() {
    if (address == 0) throw new IllegalStateException("a message was used after its release");
    return address;
  }

  /**
   * Who has sent it.
   *
   * @return a service, as it has proven; null: nobody in particular
   */
  public final ServiceId from() {
    return contents.from();
  }

  /**
   * How long its sender waited for a reply, when it was sent.
   *
   * @return of a request; zero: without a limit
   */
  public final Duration limit() {
    return Duration.ofNanos(contents.limitNs());
  }

  /**
   * Its short items.
   *
   * @return copies, on the heap
   */
  public final List<ByteBuffer> items() {
    return contents.items();
  }

  /**
   * How many long items it has.
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

  /** Gives the message back; again: nothing. A request that has not been answered ends at its sender with ECANCELED. */
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
