package exs;

import java.nio.ByteBuffer;
import java.nio.channels.CompletionHandler;
import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.Function;

/**
 * An event queue with a thread that completes the futures of asynchronous operations: on that thread, or by an executor. Or with none
 * ({@link #create}): then somebody calls {@link #complete}, one at a time.
 *
 * <p>It takes up to 256 events a call into one direct buffer. Until an operation has ended the loop holds its memory. What depends on a
 * future, and a completion handler, runs on the loop's thread where there is no executor, and must not block it.
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
    Ending ending;
  }

  /** Is told of the event of an operation, and what its error means, if it has one; or of an operation that was refused. */
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

  /** Starts an operation on a queue, with a handle; minus errno. */
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
    final Loop loop = open(depth, executor);
    loop.thread = new Thread(loop::run, "exs-loop-" + loop.queue);
    loop.thread.setDaemon(true);
    loop.thread.start();
    return loop;
  }

  /**
   * Makes a loop that has no thread of its own: {@link #complete} completes what has ended.
   *
   * @param depth how many operations there can be at once, 1 to 1048575
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

  /** Starts an operation; the future gives what `then` makes of its event, or the error of one that was refused or failed. */
  <T> CompletableFuture<T> submit(Object held, String what, Post post, Function<Event, T> then) {
    final CompletableFuture<Event> future = new CompletableFuture<>();
    final CompletableFuture<T> told = future.thenApply(then);
    submit(held, what, post, Ending.of(future));
    return told;
  }

  /** Starts an operation; `ending` is told how it ended, or that it was refused. */
  void submit(Object held, String what, Post post, Ending ending) {
    try {
      start(held, what, post, ending);
    } catch (ExsException | RuntimeException e) {
      ending.tell(null, e);
    }
  }

  /** Starts an operation, or throws why it was refused; then nobody is told. */
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
      throw new IllegalStateException(e);  // its queue is its own
    }
  }

  /**
   * Waits until operations have ended, and completes what there is to complete; by one thread at a time. For loops of {@link #create}.
   *
   * @return false: the loop is closed and nothing is under way
   * @throws ExsException of a call that cannot fail
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

  /** By the executor, or a completion handler threw, which is for the handler of such things: others wait for their events. */
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
   * Ends the loop when the operations under way have ended: close their channels before. No new ones are taken. Returns when its thread has
   * ended; called by that thread, or where there is none, at once.
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
