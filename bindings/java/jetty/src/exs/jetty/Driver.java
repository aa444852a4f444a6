package exs.jetty;

import exs.ExsException;
import java.util.ArrayDeque;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.util.thread.ExecutionStrategy;
import org.eclipse.jetty.util.thread.Invocable;
import org.eclipse.jetty.util.thread.strategy.EatWhatYouKill;

/**
 * Events of exs that threads of Jetty take in turn: who finds work does it, and another waits for the next.
 *
 * <p>Handlers of events run on the thread that drives, must not block, and leave what may block as a task. Thread: any, but for
 * {@link #produce}, which Jetty calls on one at a time.
 */
class Driver implements ExecutionStrategy.Producer {
  /** Waits for events and has them handled; false: there will be none any more. */
  interface Step {
    boolean complete() throws ExsException;
  }

  /** Lets the steps come to an end. */
  interface End {
    void close() throws ExsException;
  }

  private final Step step;
  private final End end;
  private final Executor executor;
  private final EatWhatYouKill strategy;
  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
  private final CountDownLatch ended = new CountDownLatch(1);
  private boolean isDriven;
  private volatile Thread producer;

  Driver(Step step, End end, Executor executor) {
    this.step = step;
    this.end = end;
    this.executor = executor;
    strategy = new EatWhatYouKill(this, executor);
  }

  EatWhatYouKill strategy() {
    return strategy;
  }

  /** Whether this thread drives. */
  boolean isHere() {
    return Thread.currentThread() == producer;
  }

  /** Something to do, which may block if it is not an {@link Invocable} that says otherwise. */
  void add(Runnable task) {
    if (isHere()) {
      tasks.add(task);
    } else {
      executor.execute(task);
    }
  }

  @Override
  public Runnable produce() {
    producer = Thread.currentThread();
    try {
      while (tasks.isEmpty()) {
        if (!step.complete()) {
          ended.countDown();
          break;
        }
      }
    } catch (ExsException e) {
      throw new IllegalStateException(e);
    } finally {
      producer = null;
    }
    return tasks.poll();
  }

  /** Lets threads of the executor drive. */
  void start() {
    isDriven = true;
    strategy.dispatch();
  }

  /** Takes no more operations, and waits until those under way have ended; false: they have not in that time. */
  boolean close(long time, TimeUnit unit) throws InterruptedException, ExsException {
    end.close();
    if (!isDriven) produce();
    return ended.await(time, unit);
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
