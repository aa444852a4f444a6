// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * Memory of the library (exs_alloc): page-aligned, zeroed, and registered with all rights. The first transfer to a process of the same
 * host shares it, which makes long transfers fastest.
 *
 * <p>It is one direct buffer for life. It is freed when neither this object, nor the buffer or any buffer made of it, nor an operation on
 * it is reachable. So no buffer ever outlives its memory, and there is no call to free it. Programs allocate their memory once and keep
 * it.
 *
 * <p>Any thread may use it; the library does not order concurrent accesses to the bytes.
 */
public final class Memory {
  private static final Cleaner CLEANER = Cleaner.create();
  private static final int UNREGISTERED = 0;

  /** All memories, by their first addresses. */
  private static final ConcurrentSkipListMap<Long, Extent> EXTENTS = new ConcurrentSkipListMap<>();

  private record Extent(long end, int region) {}

  private final ByteBuffer buffer;
  private final long address;
  private final int region;

  private Memory(ByteBuffer buffer, long address, int region) {
    this.buffer = buffer;
    this.address = address;
    this.region = region;
  }

  /**
   * Allocates memory.
   *
   * @param bytes how many, at least 1
   * @return the memory, all zeros
   * @throws IllegalArgumentException fewer than 1
   * @throws ExsException ENOMEM: there is none, or no descriptor for it
   */
  public static Memory allocate(int bytes) throws ExsException {
    if (bytes < 1) throw new IllegalArgumentException(bytes + " bytes of memory");
    final CallFrame frame = CallFrame.ofThread();
    int outcome = Native.alloc(bytes, frame.out);
    if (outcome < 0) {
      // Unreachable memory is freed by the collector alone, which does not know its size.
      System.gc();
      outcome = Native.alloc(bytes, frame.out);
    }
    if (outcome < 0) throw ExsException.of(outcome);
    final long address = frame.request();
    final int region = frame.index();
    final ByteBuffer buffer = Native.wrap(address, bytes);
    EXTENTS.put(address, new Extent(address + bytes, region));
    CLEANER.register(buffer, () -> {
      EXTENTS.remove(address);
      Native.free(address);
    });
    return new Memory(buffer.order(ByteOrder.nativeOrder()), address, region);
  }

  /**
   * Returns whether a buffer is a view of such memory.
   *
   * @param buffer any buffer
   * @return true: the buffer can be sent without a copy and without registration
   */
  public static boolean holds(ByteBuffer buffer) {
    return buffer.isDirect() && regionOf(Native.address(buffer)) != UNREGISTERED;
  }

  /**
   * Returns the region of exs that contains a buffer, for calls of other libraries over exs.
   *
   * @param buffer a direct buffer
   * @return an exs_mhandle_t; 0, which is EXS_MHANDLE_UNREGISTERED: it is no view of such memory
   */
  public static int regionOf(ByteBuffer buffer) {
    return regionOf(Native.address(buffer));
  }

  /** The region that contains an address. */
  static int regionOf(long address) {
    final Map.Entry<Long, Extent> below = EXTENTS.floorEntry(address);
    return below != null && address < below.getValue().end() ? below.getValue().region() : UNREGISTERED;
  }

  /**
   * The memory as a buffer, in the byte order of the machine.
   *
   * @return a new view of all of it, with its own position and limit
   */
  public ByteBuffer buffer() {
    return buffer.duplicate().order(ByteOrder.nativeOrder());
  }

  /**
   * The size of the memory.
   *
   * @return in bytes
   */
  public int bytes() {
    return buffer.capacity();
  }

  /** Keeps the memory as long as it is reachable itself. */
  Object keeper() {
    return buffer;
  }

  long address() {
    return address;
  }

  int region() {
    return region;
  }

  /** The address of a part of the memory. */
  long address(int at, int length) {
    java.util.Objects.checkFromIndexSize(at, length, bytes());
    return address + at;
  }
}
