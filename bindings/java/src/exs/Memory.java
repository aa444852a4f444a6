package exs;

import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;

/**
 * Memory of the library (exs_alloc): page-aligned, zeroed, registered with all rights, and shared with processes of the same host at the
 * first transfer, which makes long ones fastest.
 *
 * <p>It is one direct buffer for life: it is freed when neither this object nor the buffer, nor any buffer made of that, nor an
 * operation on it, can be reached any more. So no use of a buffer is ever a use of memory that has gone, and there is no call to
 * free it. Programs take their memory once and keep it.
 *
 * <p>Any thread may use it; what threads do to the bytes at the same time is their affair.
 */
public final class Memory {
  private static final Cleaner CLEANER = Cleaner.create();
  private static final int UNREGISTERED = 0;

  /** All that there is, by its first address. */
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
   * @return it, all zeros
   * @throws IllegalArgumentException fewer than 1
   * @throws ExsException ENOMEM: there is none, or no descriptor for it
   */
  public static Memory allocate(int bytes) throws ExsException {
    if (bytes < 1) throw new IllegalArgumentException(bytes + " bytes of memory");
    final CallFrame frame = CallFrame.ofThread();
    int outcome = Native.alloc(bytes, frame.out);
    if (outcome < 0) {
      // What can no more be reached is freed by the collector alone, which does not know how much that is.
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
   * Whether a buffer is a view of such memory.
   *
   * @param buffer any
   * @return true: it can be sent without a copy and without registration
   */
  public static boolean holds(ByteBuffer buffer) {
    return buffer.isDirect() && regionOf(Native.address(buffer)) != UNREGISTERED;
  }

  /**
   * The region of exs in which a buffer lies, for calls of other libraries over exs.
   *
   * @param buffer a direct buffer
   * @return an exs_mhandle_t; 0, which is EXS_MHANDLE_UNREGISTERED: it is no view of such memory
   */
  public static int regionOf(ByteBuffer buffer) {
    return regionOf(Native.address(buffer));
  }

  /** The region in which an address lies. */
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
   * How much it is.
   *
   * @return in bytes
   */
  public int bytes() {
    return buffer.capacity();
  }

  /** Keeps the memory as long as it can be reached. */
  Object keeper() {
    return buffer;
  }

  long address() {
    return address;
  }

  int region() {
    return region;
  }

  /** The address of a part of it. */
  long address(int at, int length) {
    java.util.Objects.checkFromIndexSize(at, length, bytes());
    return address + at;
  }
}
