package exs;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Blocking operations of one direction of a socket, one after the other, on a queue of their own. Thread: any.
 *
 * <p>An operation that has been posted is waited for, whatever happens: its memory is the library's until its event is there. Closing the
 * socket ends it.
 */
final class Lane {
  private static final long HANDLE = 1;
  private static final int DEPTH = 2;

  private final ReentrantLock lock = new ReentrantLock();
  private final ByteBuffer memory = CallFrame.direct(Event.BYTES);
  private final long address = Native.address(memory);
  private int queue;

  Lane() throws ExsException {
    queue = Native.createQueue(DEPTH);
    if (queue < 0) throw ExsException.of(queue);
  }

  /** Carries out `post` on `socket` and waits for its event. An interrupt cancels it, unless it has started. */
  Event run(int socket, String what, Loop.Post post) throws ExsException {
    try {
      lock.lockInterruptibly();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw ExsException.interrupted(what);
    }
    try {
      if (queue < 0) throw ExsException.closed(what);
      final int outcome = post.on(queue, HANDLE);
      if (outcome < 0) throw ExsException.of(outcome);
      return await(socket, what);
    } finally {
      Reference.reachabilityFence(post);  // and of the memory that it names
      lock.unlock();
    }
  }

  private Event await(int socket, String what) throws ExsException {
    boolean isCancelled = false;
    while (true) {
      final int count = Native.dequeue(queue, address, 1, Guarded.SLICE_NS);
      if (count < 0) throw ExsException.of(count);
      if (count > 0) break;
      if (isCancelled || !Thread.currentThread().isInterrupted()) continue;
      isCancelled = true;
      Native.cancelOperation(socket, HANDLE);
    }
    final Event event = Event.at(memory, 0);
    if (event.errno() == ExsException.ECANCELED && isCancelled) throw ExsException.interrupted(what);
    if (event.errno() != 0) throw failure(socket, what, event.errno());
    return event;
  }

  static ExsException failure(int socket, String what, int errno) {
    final String why = SocketText.of(socket, SocketText.ERROR);
    return new ExsException(errno, what + ": " + Native.describe(errno) + (why.isEmpty() ? "" : ": " + why));
  }

  /** When the socket is closed. */
  void close() {
    lock.lock();
    try {
      if (queue >= 0) Native.deleteQueue(queue);
      queue = -1;
    } finally {
      lock.unlock();
    }
  }
}
