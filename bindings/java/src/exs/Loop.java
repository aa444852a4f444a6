// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.nio.ByteBuffer;
import java.nio.channels.CompletionHandler;
import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Function;

/**
 * An event queue that completes the futures of asynchronous operations, on a thread of its own or by an executor. Without a thread
 * ({@link #create}) the program calls {@link #complete}, from one thread at a time.
 *
 * <p>It takes up to 256 events in one call into one direct buffer. It holds the memory of an operation until that has ended. Without an
 * executor, completion handlers and dependents of futures run on the loop's thread, and must not block it.
 *
 * <p>Any thread may start operations at any time, up to the depth at once; more fail with EAGAIN.
 */
public final class Loop implements AutoCloseable {
  private static final int EVENTS_MAX = 256;
  private static final int EAGAIN = 11;

  /** A pending operation, by the number of its event: a slot, and the count of its earlier uses. */
  private static final class Pending {
    long handle;
    Object held;
    String what;
    Ending ending;
  }

  /** Receives the event of an operation, and its error if it has one; or the refusal of an operation. */
  interface Ending {
    void tell(Event event, Throwable failure);

    static Ending of(CompletableFuture<Event> future) {
      return (event, failure) -> {
        if (failure == null) {
          future.complete(event);
        } else {
          future.completeExceptionally(failure);
        }
      };
    }

    static <A> Ending of(A attachment, CompletionHandler<Transfer, ? super A> handler) {
      return (event, failure) -> {
        if (failure == null) {
          handler.completed(Transfer.of(event), attachment);
        } else {
          handler.failed(failure, attachment);
        }
      };
    }
  }

  /** Starts an operation on a queue, with a handle. Returns a negative errno value on failure. */
  interface Post {
    int on(int queue, long handle) throws ExsException;
  }

  private final int queue;
  private final Executor executor;
  private final Pending[] slots;
  private final ArrayDeque<Integer> free = new ArrayDeque<>();
  private final ByteBuffer events = CallFrame.direct(EVENTS_MAX * Event.BYTES);
  private final long eventsAddress = Native.address(events);
  private Thread thread;
  private boolean isDeleted;
  private volatile boolean isClosing;

  private Loop(int queue, int depth, Executor executor) {
    this.queue = queue;
    this.executor = executor;
    slots = new Pending[depth];
    for (int i = 0; i < depth; ++i) {
      slots[i] = new Pending();
      slots[i].handle = i;
      free.add(i);
    }
  }

  /**
   * Starts a loop that completes futures on its own thread.
   *
   * @param depth the limit of pending operations, 1 to 1048575
   * @return the loop
   * @throws IllegalArgumentException another depth
   * @throws ExsException ENOMEM
   */
  public static Loop start(int depth) throws ExsException {
    return start(depth, null);
  }

  /**
   * Starts a loop that completes futures by an executor.
   *
   * @param depth the limit of pending operations, 1 to 1048575
   * @param executor completes futures; null: the loop's thread
   * @return the loop
   * @throws IllegalArgumentException another depth
   * @throws ExsException ENOMEM
   */
  public static Loop start(int depth, Executor executor) throws ExsException {
    final Loop loop = open(depth, executor);
    loop.thread = new Thread(loop::run, "exs-loop-" + loop.queue);
    loop.thread.setDaemon(true);
    loop.thread.start();
    return loop;
  }

  /**
   * Makes a loop without a thread of its own: {@link #complete} completes operations that have ended.
   *
   * @param depth the limit of pending operations, 1 to 1048575
   * @return the loop
   * @throws IllegalArgumentException another depth
   * @throws ExsException ENOMEM
   */
  public static Loop create(int depth) throws ExsException {
    return open(depth, null);
  }

  private static Loop open(int depth, Executor executor) throws ExsException {
    final int depthMax = (1 << 20) - 1;
    if (depth < 1 || depth > depthMax) throw new IllegalArgumentException("a loop of " + depth + " operations");
    final int queue = Native.createQueue(depth + 1);  // one more, for wake()
    if (queue < 0) throw ExsException.of(queue);
    return new Loop(queue, depth, executor);
  }

  /** Starts an operation. The future gets the result of `then` for its event, or the error of an operation that was refused or failed. */
  <T> CompletableFuture<T> submit(Object held, String what, Post post, Function<Event, T> then) {
    final CompletableFuture<Event> future = new CompletableFuture<>();
    final CompletableFuture<T> told = future.thenApply(then);
    submit(held, what, post, Ending.of(future));
    return told;
  }

  /** Starts an operation; `ending` gets its end, or its refusal. */
  void submit(Object held, String what, Post post, Ending ending) {
    try {
      start(held, what, post, ending);
    } catch (ExsException | RuntimeException e) {
      ending.tell(null, e);
    }
  }

  /** Starts an operation, or throws the reason of its refusal; then `ending` gets nothing. */
  void start(Object held, String what, Post post, Ending ending) throws ExsException {
    final Pending pending = take(held, what, ending);
    if (pending == null) throw new ExsException(EAGAIN, what + ": the loop has as many operations as it can");
    final long handle = pending.handle;
    boolean isStarted = false;
    try {
      final int outcome = post.on(queue, handle);
      if (outcome < 0) throw ExsException.of(outcome);
      isStarted = true;
    } finally {
      if (!isStarted) giveBack(handle);
    }
  }

  private synchronized Pending take(Object held, String what, Ending ending) {
    final Integer slot = isClosing ? null : free.poll();
    if (slot == null) return null;
    slots[slot].held = held;
    slots[slot].what = what;
    slots[slot].ending = ending;
    return slots[slot];
  }

  private synchronized Ending giveBack(long handle) {
    final int slot = (int) handle;
    final Pending pending = slots[slot];
    final Ending ending = pending.ending;
    pending.held = null;
    pending.ending = null;
    pending.handle = ((handle >>> Integer.SIZE) + 1) << Integer.SIZE | slot;
    free.add(slot);
    return ending;
  }

  private void run() {
    try {
      while (complete()) continue;
    } catch (ExsException e) {
      throw new IllegalStateException(e);  // the queue belongs to this loop
    }
  }

  /**
   * Waits until operations have ended, and completes them; by one thread at a time. For loops of {@link #create}.
   *
   * @return false: the loop is closed and nothing is under way
   * @throws ExsException never
   */
  public boolean complete() throws ExsException {
    if (isDeleted) return false;
    final int count = Native.dequeue(queue, eventsAddress, EVENTS_MAX, -1);
    if (count < 0) throw ExsException.of(count);
    for (int i = 0; i < count; ++i) {
      final Event event = Event.at(events, i * Event.BYTES);
      if (event.socket() >= 0) tell(event);
    }
    if (!isClosing || !isIdle()) return true;
    Native.deleteQueue(queue);
    isDeleted = true;
    return false;
  }

  private void tell(Event event) {
    final String what = whatOf(event.handle());
    final Ending ending = giveBack(event.handle());
    final ExsException failure = event.errno() == 0 ? null : Lane.failure(event.socket(), what, event.errno());
    try {
      if (executor == null) {
        ending.tell(event, failure);
      } else {
        executor.execute(() -> ending.tell(event, failure));
      }
    } catch (RuntimeException e) {
      refused(ending, e);
    }
  }

  /**
   * Reports a refusal of the executor to the operation. An exception of a completion handler goes to the uncaught-exception handler, because
   * other operations wait for their events.
   */
  private void refused(Ending ending, RuntimeException why) {
    if (executor != null) {
      ending.tell(null, why);
      return;
    }
    final Thread here = Thread.currentThread();
    here.getUncaughtExceptionHandler().uncaughtException(here, why);
  }

  private synchronized String whatOf(long handle) {
    return slots[(int) handle].what;
  }

  private synchronized boolean isIdle() {
    return free.size() == slots.length;
  }

  /**
   * Ends the loop when the pending operations have ended: close their channels before. It takes no new ones. Returns when the loop's
   * thread has ended; at once if called by that thread, or if there is none.
   *
   * @throws ExsException EINTR: the thread was interrupted; the loop ends all the same
   */
  @Override
  public void close() throws ExsException {
    synchronized (this) {
      if (!isClosing) {
        isClosing = true;
        Native.wake(queue);
      }
    }
    if (thread == null || Thread.currentThread() == thread) return;
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw ExsException.interrupted("close");
    }
  }
}
