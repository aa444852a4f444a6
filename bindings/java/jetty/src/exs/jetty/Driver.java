// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import exs.ExsException;
import java.util.ArrayDeque;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.eclipse.jetty.util.log.Log;
import org.eclipse.jetty.util.log.Logger;
import org.eclipse.jetty.util.thread.Invocable;

/**
 * Processes events of exs in one thread. Handlers run there, must not block, and leave blocking work as a task.
 *
 * <p><b>Tasks.</b> The driving thread runs tasks itself, too: waking another thread, and competing with it for a core, takes longer than
 * the reply to a short request. So one thread serves consecutive requests without a call into the kernel between them. A long task would
 * keep all others waiting. A second thread, the deputy, checks for this each millisecond. It takes over the driving, and the first thread
 * stops. After that, the next {@link #LONG_TASKS} tasks each get a thread of the executor. If the executor has no thread for a deputy,
 * all tasks do.
 *
 * <p>Thread: any.
 */
class Driver {
  /** Waits for events and handles them. Returns false when no more will come. */
  interface Step {
    boolean complete() throws ExsException;
  }

  /** Lets the steps come to an end. */
  interface End {
    void close() throws ExsException;
  }

  /** The number of threads that it takes from the executor. */
  static final int THREADS = 2;

  private static final Logger LOG = Log.getLogger(Driver.class);
  private static final long LOOK_NS = 1_000_000;
  /** After this many looks without a task the deputy sleeps until there is one. */
  private static final int SILENT_LOOKS = 10;
  private static final int LONG_TASKS = 64;

  private final Step step;
  private final End end;
  private final Executor executor;
  private final long lookNs;
  private final CountDownLatch ended = new CountDownLatch(1);
  /** Odd while the driving thread runs a task and may lose its place; the deputy makes it even when it takes over. */
  private final AtomicLong turn = new AtomicLong();
  private volatile Thread deputy;
  private volatile boolean isDeputyAsleep;
  /** The thread that is processing events in a step. */
  private volatile Thread stepping;

  // These belong to the driving thread.
  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
  private int longTasks;
  private boolean isDriven;

  Driver(Step step, End end, Executor executor) {
    this(step, end, executor, LOOK_NS);
  }

  Driver(Step step, End end, Executor executor, long lookNs) {
    this.step = step;
    this.end = end;
    this.executor = executor;
    this.lookNs = lookNs;
  }

  /** Lets threads of the executor drive. */
  void start() {
    isDriven = true;
    executor.execute(this::drive);
    wantDeputy();
  }

  /** Takes no more operations, and waits until the pending ones have ended. Returns false if they have not in that time. */
  boolean close(long time, TimeUnit unit) throws InterruptedException, ExsException {
    end.close();
    if (!isDriven) drive();
    return ended.await(time, unit);
  }

  /** Returns whether this thread is handling events. */
  boolean isHere() {
    return Thread.currentThread() == stepping;
  }

  /** Adds a task, which may block unless it is an {@link Invocable} that excludes this. */
  void add(Runnable task) {
    if (isHere()) {
      tasks.add(task);
    } else {
      executor.execute(task);
    }
  }

  // ---------------------------------------------------------------- the thread that drives

  private void drive() {
    boolean drives = true;
    while (drives) {
      final Runnable task = next();
      if (task == null) return;
      if (Invocable.getInvocationType(task) == Invocable.InvocationType.NON_BLOCKING) {
        run(task);
      } else if (longTasks == 0 && deputy != null) {
        drives = runInTurn(task);
      } else {
        longTasks = Math.max(longTasks - 1, 0);
        runElsewhere(task);
      }
    }
  }

  /** Returns null if there will be no more tasks. */
  private Runnable next() {
    stepping = Thread.currentThread();
    try {
      while (tasks.isEmpty()) {
        if (!step.complete()) {
          ended.countDown();
          LockSupport.unpark(deputy);
          break;
        }
      }
    } catch (ExsException e) {
      throw new IllegalStateException(e);
    } finally {
      stepping = null;
    }
    return tasks.poll();
  }

  /** Returns false if it took so long that the deputy drives now. */
  private boolean runInTurn(Runnable task) {
    final long mine = turn.incrementAndGet();
    if (isDeputyAsleep) LockSupport.unpark(deputy);
    run(task);
    return turn.compareAndSet(mine, mine + 1);
  }

  private void runElsewhere(Runnable task) {
    try {
      executor.execute(task);
    } catch (RejectedExecutionException e) {
      run(task);  // the executor is ending
    }
  }

  private static void run(Runnable task) {
    try {
      task.run();
    } catch (Throwable failure) {
      LOG.warn(failure);
    }
  }

  // ---------------------------------------------------------------- its deputy

  private void standBy() {
    deputy = Thread.currentThread();
    int silentLooks = 0;
    for (long seen = turn.get(); ended.getCount() > 0;) {
      if (silentLooks < SILENT_LOOKS) {
        LockSupport.parkNanos(this, lookNs);
      } else {
        sleepUntil(seen);
        silentLooks = 0;
      }
      Thread.interrupted();  // an executor that ends first interrupts, and each wait would return at once
      final long now = turn.get();
      if (now == seen && now % 2 == 1 && takeOver(now)) return;
      silentLooks = now == seen ? silentLooks + 1 : 0;
      seen = now;
    }
  }

  private void sleepUntil(long seen) {
    isDeputyAsleep = true;
    if (turn.get() == seen && ended.getCount() > 0) LockSupport.park(this);
    isDeputyAsleep = false;
  }

  /** Takes over if the turn has lasted for at least one look. */
  private boolean takeOver(long turnOfTask) {
    if (!turn.compareAndSet(turnOfTask, turnOfTask + 1)) return false;
    deputy = null;
    longTasks = LONG_TASKS;
    wantDeputy();
    drive();
    return true;
  }

  private void wantDeputy() {
    try {
      executor.execute(this::standBy);
    } catch (RejectedExecutionException e) {
      LOG.debug(e);
    }
  }

  /** A task that ends a callback, and may block if the callback may. */
  static final class Task implements Runnable, Invocable {
    private final Runnable body;
    private final InvocationType type;

    Task(InvocationType type, Runnable body) {
      this.body = body;
      this.type = type;
    }

    @Override
    public void run() {
      body.run();
    }

    @Override
    public InvocationType getInvocationType() {
      return type;
    }
  }
}
