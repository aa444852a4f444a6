// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Memory of this process that the peer of a message connection reads or writes at any time ({@link RemoteWindow}). Meanwhile this process
 * computes and makes no call for it. A connection has one window of each kind at a time.
 *
 * <p>Updates while the peer may read go between {@link #beginUpdate} and {@link #endUpdate}, from one thread at a time, or into {@link
 * Slots}. Both let the peer read whole updates.
 *
 * <p>Threads: any, except for updates. Errors: {@link ExsException} with EBADF: the window or the channel is closed; EBUSY: there is such
 * a window; EOPNOTSUPP: the connection is a stream.
 */
public final class Window implements AutoCloseable {
  /** The peer's access. */
  public enum Access {
    /** The peer may read: a persistent send. */
    READ,
    /** The peer may write: a persistent receive. */
    WRITE
  }

  /**
   * The peer's transfers since the last visit.
   *
   * @param count how many transfers
   * @param length the number of bytes that they moved
   * @param offset the offset of the last one in the window
   */
  public record Visit(long count, long length, long offset) {}

  private static final int PERSISTENT = 0x00200000;
  private static final int NOTIFY = 0x00400000;
  private static final int DEPTH = 4;
  /** The handles of windows' operations, each its own; those of lanes are lower. */
  private static final AtomicLong HANDLES = new AtomicLong(1L << 32);

  private final StreamChannel channel;
  private final Memory memory;
  private final int queue;
  private final long handle = HANDLES.incrementAndGet();
  private final ReentrantLock lock = new ReentrantLock();
  private final ByteBuffer event = CallFrame.direct(Event.BYTES);
  private final long eventAddress = Native.address(event);
  private boolean hasEnded;
  private volatile boolean isClosing;

  private Window(StreamChannel channel, Memory memory, int queue) {
    this.channel = channel;
    this.memory = memory;
    this.queue = queue;
  }

  /**
   * Opens all of a memory to the peer.
   *
   * @param channel of messages
   * @param memory the memory, which belongs to the library until the window is closed; the program may still read and write it
   * @param access the peer's access
   * @param isTold whether {@link #await} reports the peer's transfers
   * @return the window
   * @throws ExsException as the class says; EPIPE, ENOMEM
   */
  public static Window open(StreamChannel channel, Memory memory, Access access, boolean isTold) throws ExsException {
    final int queue = Native.createQueue(DEPTH);
    if (queue < 0) throw ExsException.of(queue);
    final Window window = new Window(channel, memory, queue);
    boolean isOpen = false;
    try {
      final int flags = PERSISTENT | (isTold ? NOTIFY : 0);
      final Loop.Post post = channel.post(access == Access.READ, memory, 0, memory.bytes(), flags, -1);
      final int outcome = post.on(queue, window.handle);
      if (outcome < 0) throw ExsException.of(outcome);
      isOpen = true;
      return window;
    } finally {
      if (!isOpen) Native.deleteQueue(queue);
    }
  }

  /**
   * The memory of the window.
   *
   * @return the memory
   */
  public Memory memory() {
    return memory;
  }

  /**
   * Waits until the peer has read, or written, a window that reports this.
   *
   * @param timeoutNs in nanoseconds; negative: without limit; 0: asks
   * @return the transfers since the last call; null: none in that time
   * @throws ExsException as the class says; ECONNRESET and others: the connection has ended
   */
  public Visit await(long timeoutNs) throws ExsException {
    final Deadline deadline = new Deadline("await", timeoutNs);
    do {
      final Event told = next(deadline.sliceNs());
      if (told != null && told.isOneOfMany()) return new Visit(Integer.toUnsignedLong(told.count()), told.length(), told.offset());
      if (isClosing) throw ExsException.closed("Window");
      if (told != null) throw Lane.failure(channel.socket(), "Window", told.errno());
    } while (deadline.isAhead());
    return null;
  }

  /** Returns null if there is none in that time. */
  private Event next(long sliceNs) throws ExsException {
    lock.lock();
    try {
      if (hasEnded) throw ExsException.closed("Window");
      final int count = Native.dequeue(queue, eventAddress, 1, sliceNs);
      if (count < 0) throw ExsException.of(count);
      if (count == 0) return null;
      final Event told = Event.at(event, 0);
      if (!told.isOneOfMany()) {
        hasEnded = true;
        Native.deleteQueue(queue);
      }
      return told;
    } finally {
      Reference.reachabilityFence(memory);
      lock.unlock();
    }
  }

  /**
   * Starts an update of data that the peer reads with {@link RemoteWindow#snapshot}. One thread at a time.
   *
   * @param at the counter of updates in the memory: 8 bytes for this alone, at a multiple of 8
   * @throws IllegalArgumentException another place
   */
  public void beginUpdate(int at) {
    Native.beginUpdate(counterAt(at));
    Reference.reachabilityFence(memory);
  }

  /**
   * Ends the update, so that the peer sees it.
   *
   * @param at as of {@link #beginUpdate}
   * @throws IllegalArgumentException another place
   */
  public void endUpdate(int at) {
    Native.endUpdate(counterAt(at));
    Reference.reachabilityFence(memory);
  }

  private long counterAt(int at) {
    if (at < 0 || at % Long.BYTES != 0 || at > memory.bytes() - Long.BYTES)
      throw new IllegalArgumentException("no counter can be at " + at + " of " + memory.bytes() + " bytes");
    return memory.address() + at;
  }

  /**
   * Takes the window back, and returns when the peer no longer uses it. It has to be called, even if the channel was closed before. A
   * second call has no effect.
   *
   * @throws ExsException EINTR: the thread was interrupted; call it again
   */
  @Override
  public void close() throws ExsException {
    isClosing = true;
    channel.cancel(handle);
    final Deadline deadline = new Deadline("close", -1);
    do {
      if (ends(deadline.sliceNs())) return;
    } while (deadline.isAhead());
  }

  private boolean ends(long sliceNs) throws ExsException {
    lock.lock();
    try {
      if (hasEnded) return true;
      next(sliceNs);
      return hasEnded;
    } finally {
      lock.unlock();
    }
  }
}
