// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Blocking operations of one direction of a socket, one after the other, on a queue of their own. Thread: any.
 *
 * <p>A posted operation is always waited for: its memory belongs to the library until its event arrives. Closing the socket ends it.
 */
final class Lane {
  private static final long HANDLE = 1;
  private static final int DEPTH = 2;
  private static final int NO_QUEUE = -1;

  private final ReentrantLock lock = new ReentrantLock();
  private int queue = NO_QUEUE;  // made for the first operation: most channels of a server have no blocking ones
  private ByteBuffer memory;
  private boolean isClosed;

  /** Executes `post` on `socket` and waits for its event. An interrupt cancels it, unless it has started. */
  Event run(int socket, String what, Loop.Post post) throws ExsException {
    try {
      lock.lockInterruptibly();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw ExsException.interrupted(what);
    }
    try {
      open(what);
      final int outcome = post.on(queue, HANDLE);
      if (outcome < 0) throw ExsException.of(outcome);
      return await(socket, what);
    } finally {
      Reference.reachabilityFence(post);  // and of the memory that it uses
      lock.unlock();
    }
  }

  private void open(String what) throws ExsException {
    if (isClosed) throw ExsException.closed(what);
    if (queue != NO_QUEUE) return;
    final int made = Native.createQueue(DEPTH);
    if (made < 0) throw ExsException.of(made);
    queue = made;
    memory = CallFrame.direct(Event.BYTES);
  }

  private Event await(int socket, String what) throws ExsException {
    final long address = Native.address(memory);
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

  /** Called when the socket is closed. */
  void close() {
    lock.lock();
    try {
      if (queue != NO_QUEUE) Native.deleteQueue(queue);
      queue = NO_QUEUE;
      isClosed = true;
    } finally {
      lock.unlock();
    }
  }
}
