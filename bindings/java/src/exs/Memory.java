package exs;

import java.lang.ref.Cleaner;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

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
    final ByteBuffer buffer = Native.wrap(address, bytes);
    CLEANER.register(buffer, () -> Native.free(address));
    return new Memory(buffer.order(ByteOrder.nativeOrder()), address, frame.index());
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
