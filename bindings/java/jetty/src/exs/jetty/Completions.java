package exs.jetty;

import exs.ExsException;
import exs.Loop;
import java.util.ArrayDeque;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.util.thread.ExecutionStrategy;
import org.eclipse.jetty.util.thread.Invocable;
import org.eclipse.jetty.util.thread.strategy.EatWhatYouKill;

/**
 * A loop of exs that threads of Jetty drive in turn: who finds work does it, and another waits for the next.
 *
 * <p>Completion handlers run on the thread that drives, must not block, and leave what may block as a task. Thread: any, but for
 * {@link #produce}, which Jetty calls on one at a time.
 */
final class Completions implements ExecutionStrategy.Producer {
  private final Loop loop;
  private final Executor executor;
  private final EatWhatYouKill strategy;
  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();
  private final CountDownLatch ended = new CountDownLatch(1);
  private boolean isDriven;
  private volatile Thread producer;

  Completions(int depth, Executor executor) throws ExsException {
    loop = Loop.create(depth);
    this.executor = executor;
    strategy = new EatWhatYouKill(this, executor);
  }

  Loop loop() {
    return loop;
  }

  EatWhatYouKill strategy() {
    return strategy;
  }

  /** Something to do, which may block if it is not an {@link Invocable} that says otherwise. */
  void add(Runnable task) {
    if (Thread.currentThread() == producer) {
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
        if (!loop.complete()) {
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
    loop.close();
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
