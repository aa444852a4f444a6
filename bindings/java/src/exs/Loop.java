package exs;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Function;

/**
 * An event queue with a thread that completes the futures of asynchronous operations: on that thread, or by an executor.
 *
 * <p>It takes up to 256 events a call into one direct buffer. Until an operation has ended the loop holds its memory. What depends on a
 * future runs on the loop's thread where there is no executor, and must not block it.
 *
 * <p>Any thread may start operations at any time, up to the depth at once; more fail with EAGAIN.
 */
public final class Loop implements AutoCloseable {
  private static final int EVENTS_MAX = 256;
  private static final int EAGAIN = 11;

  /** What is under way by the number of its event: a slot, and how often that was used before. */
  private static final class Pending {
    long handle;
    Object held;
    String what;
    CompletableFuture<Event> future;
  }

  /** Starts an operation on a queue, with a handle; minus errno. */
  interface Post {
    int on(int queue, long handle) throws ExsException;
  }

  private final int queue;
  private final Executor executor;
  private final Pending[] slots;
  private final ArrayDeque<Integer> free = new ArrayDeque<>();
  private final ByteBuffer events = CallFrame.direct(EVENTS_MAX * Event.BYTES);
  private final Thread thread;
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
    thread = new Thread(this::run, "exs-loop-" + queue);
    thread.setDaemon(true);
  }

  /**
   * Starts a loop that completes futures on its own thread.
   *
   * @param depth how many operations there can be at once, 1 to 1048575
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
   * @param depth how many operations there can be at once, 1 to 1048575
   * @param executor who completes futures; null: the loop's thread
   * @return the loop
   * @throws IllegalArgumentException another depth
   * @throws ExsException ENOMEM
   */
  public static Loop start(int depth, Executor executor) throws ExsException {
    final int depthMax = (1 << 20) - 1;
    if (depth < 1 || depth > depthMax) throw new IllegalArgumentException("a loop of " + depth + " operations");
    final int queue = Native.createQueue(depth + 1);  // one more, for wake()
    if (queue < 0) throw ExsException.of(queue);
    final Loop loop = new Loop(queue, depth, executor);
    loop.thread.start();
    return loop;
  }

  /** Starts an operation; the future gives what `then` makes of its event, or the error of one that was refused or failed. */
  <T> CompletableFuture<T> submit(Object held, String what, Post post, Function<Event, T> then) {
    final CompletableFuture<Event> future = new CompletableFuture<>();
    final CompletableFuture<T> told = future.thenApply(then);
    final Pending pending = take(held, what, future);
    if (pending == null) {
      future.completeExceptionally(new ExsException(EAGAIN, what + ": the loop has as many operations as it can"));
      return told;
    }
    final long handle = pending.handle;
    try {
      final int outcome = post.on(queue, handle);
      if (outcome >= 0) return told;
      giveBack(handle);
      future.completeExceptionally(ExsException.of(outcome));
    } catch (ExsException | RuntimeException e) {
      giveBack(handle);
      future.completeExceptionally(e);
    }
    return told;
  }

  private synchronized Pending take(Object held, String what, CompletableFuture<Event> future) {
    final Integer slot = isClosing ? null : free.poll();
    if (slot == null) return null;
    slots[slot].held = held;
    slots[slot].what = what;
    slots[slot].future = future;
    return slots[slot];
  }

  private synchronized CompletableFuture<Event> giveBack(long handle) {
    final int slot = (int) handle;
    final Pending pending = slots[slot];
    final CompletableFuture<Event> future = pending.future;
    pending.held = null;
    pending.future = null;
    pending.handle = ((handle >>> Integer.SIZE) + 1) << Integer.SIZE | slot;
    free.add(slot);
    return future;
  }

  private void run() {
    final long address = Native.address(events);
    int count = 0;
    while (count >= 0 && !(isClosing && isIdle())) {
      count = Native.dequeue(queue, address, EVENTS_MAX, -1);
      for (int i = 0; i < count; ++i) {
        final Event event = Event.at(events, i * Event.BYTES);
        if (event.socket() >= 0) tell(event);
      }
    }
    Native.deleteQueue(queue);
  }

  private void tell(Event event) {
    final String what = whatOf(event.handle());
    final CompletableFuture<Event> future = giveBack(event.handle());
    final ExsException failure = event.errno() == 0 ? null : Lane.failure(event.socket(), what, event.errno());
    if (executor == null) {
      complete(future, event, failure);
      return;
    }
    try {
      executor.execute(() -> complete(future, event, failure));
    } catch (RuntimeException e) {
      future.completeExceptionally(e);
    }
  }

  private synchronized String whatOf(long handle) {
    return slots[(int) handle].what;
  }

  private static void complete(CompletableFuture<Event> future, Event event, ExsException failure) {
    if (failure == null) {
      future.complete(event);
    } else {
      future.completeExceptionally(failure);
    }
  }

  private synchronized boolean isIdle() {
    return free.size() == slots.length;
  }

  /**
   * Ends the loop when the operations under way have ended: close their channels before. No new ones are taken. Returns when its thread has
   * ended; called by that thread, at once.
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
    if (Thread.currentThread() == thread) return;
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw ExsException.interrupted("close");
    }
  }
}
