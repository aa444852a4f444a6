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
 * Events of exs, which one thread waits for and has handled. Handlers run there, must not block, and leave what may block as a task.
 *
 * <p><b>Tasks.</b> The thread that drives runs tasks itself, too: to wake another thread and to compete with it for a core takes longer
 * than to answer a short request. So requests one after the other are answered by one thread, with no call into the kernel between them.
 * A task that takes long would keep all others waiting. That is seen by a second thread, the deputy, which looks each millisecond: it drives
 * from then on, and the first one no more. Where that has happened, the next {@link #LONG_TASKS} tasks are each given to a thread of the
 * executor. Without a deputy, because the executor has no thread for one, all are.
 *
 * <p>Thread: any.
 */
class Driver {
  /** Waits for events and has them handled; false: there will be none any more. */
  interface Step {
    boolean complete() throws ExsException;
  }

  /** Lets the steps come to an end. */
  interface End {
    void close() throws ExsException;
  }

  /** Of the executor, that it takes. */
  static final int THREADS = 2;

  private static final Logger LOG = Log.getLogger(Driver.class);
  private static final long LOOK_NS = 1_000_000;
  /** So many looks without a task, and the deputy sleeps until there is one. */
  private static final int SILENT_LOOKS = 10;
  private static final int LONG_TASKS = 64;

  private final Step step;
  private final End end;
  private final Executor executor;
  private final long lookNs;
  private final CountDownLatch ended = new CountDownLatch(1);
  /** Odd: the thread that drives runs a task, and may lose its place; who takes that makes it even. */
  private final AtomicLong turn = new AtomicLong();
  private volatile Thread deputy;
  private volatile boolean isDeputyAsleep;
  /** In a step: whose events they are. */
  private volatile Thread stepping;

  // Of the thread that drives.
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

  /** Takes no more operations, and waits until those under way have ended; false: they have not in that time. */
  boolean close(long time, TimeUnit unit) throws InterruptedException, ExsException {
    end.close();
    if (!isDriven) drive();
    return ended.await(time, unit);
  }

  /** Whether this thread handles events. */
  boolean isHere() {
    return Thread.currentThread() == stepping;
  }

  /** Something to do, which may block if it is not an {@link Invocable} that says otherwise. */
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

  /** Null: there will be none any more. */
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

  /** False: it took so long that the deputy drives. */
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
      run(task);  // the executor ends
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
      Thread.interrupted();  // where the executor ends before this does, or no wait would be one
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

  /** The turn has lasted for a look at least. */
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

  /** A task that ends a callback: as blocking as that is. */
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
