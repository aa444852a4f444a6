// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jetty.util.thread.Invocable.InvocationType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Who runs the tasks of a driver, whose events come from this test. */
@Timeout(120)
class DriverTest {
  private static final long LOOK_NS = 1_000_000;

  /** What an event leaves to do. */
  private final LinkedBlockingQueue<Runnable> events = new LinkedBlockingQueue<>();
  private final AtomicInteger threads = new AtomicInteger();
  private final Runnable end = () -> {};
  private Driver driver;

  private void drive(Executor executor, long lookNs) {
    driver = new Driver(this::step, () -> events.add(end), executor, lookNs);
    driver.start();
  }

  private boolean step() {
    try {
      final Runnable event = events.take();
      if (event != end) driver.add(event);
      return event != end;
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private void startThread(Runnable body) {
    threads.incrementAndGet();
    new Thread(body).start();
  }

  @AfterEach
  void close() throws Exception {
    assertTrue(driver.close(60, TimeUnit.SECONDS));
  }

  private Thread threadOfNext(InvocationType type) throws Exception {
    final CompletableFuture<Thread> ran = new CompletableFuture<>();
    events.add(new Driver.Task(type, () -> ran.complete(Thread.currentThread())));
    return ran.get();
  }

  /** Until the driver has a deputy, and trusts tasks. */
  private Thread threadOfShortTasks() throws Exception {
    Thread last = threadOfNext(InvocationType.BLOCKING);
    for (;;) {
      final Thread next = threadOfNext(InvocationType.BLOCKING);
      if (next == last) return next;
      last = next;
    }
  }

  @Test
  void short_tasks_run_in_the_thread_that_drives() throws Exception {
    drive(this::startThread, TimeUnit.HOURS.toNanos(1));
    final Thread drives = threadOfNext(InvocationType.NON_BLOCKING);
    assertSame(drives, threadOfShortTasks());
    final int before = threads.get();
    for (int i = 0; i < 1000; ++i) assertSame(drives, threadOfNext(InvocationType.BLOCKING));
    assertEquals(before, threads.get());
  }

  @Test
  void a_task_may_wait_for_one_that_comes_after_it() throws Exception {
    drive(this::startThread, LOOK_NS);
    for (int i = 0; i < 3; ++i) {
      threadOfShortTasks();
      final CountDownLatch later = new CountDownLatch(1);
      final CompletableFuture<Thread> waited = new CompletableFuture<>();
      events.add(() -> {
        await(later);
        waited.complete(Thread.currentThread());
      });
      events.add(later::countDown);
      assertNotEquals(waited.get(), threadOfNext(InvocationType.NON_BLOCKING));
    }
  }

  @Test
  void after_a_long_task_others_have_threads_of_their_own_for_a_while() throws Exception {
    drive(this::startThread, LOOK_NS);
    threadOfShortTasks();
    final CountDownLatch released = new CountDownLatch(1);
    events.add(() -> await(released));
    final Thread drives = threadOfNext(InvocationType.NON_BLOCKING);  // the deputy of before
    assertNotEquals(drives, threadOfNext(InvocationType.BLOCKING));
    released.countDown();
    threadOfShortTasks();
  }

  @Test
  void without_a_thread_for_a_deputy_tasks_that_may_block_run_elsewhere() throws Exception {
    drive(body -> {
      if (threads.incrementAndGet() == 2) throw new RejectedExecutionException("the deputy");
      new Thread(body).start();
    }, LOOK_NS);
    final Thread drives = threadOfNext(InvocationType.NON_BLOCKING);
    for (int i = 0; i < 10; ++i) assertNotEquals(drives, threadOfNext(InvocationType.BLOCKING));
    assertSame(drives, threadOfNext(InvocationType.NON_BLOCKING));
  }

  @Test
  void what_a_task_throws_ends_nothing() throws Exception {
    drive(this::startThread, LOOK_NS);
    events.add(new Driver.Task(InvocationType.NON_BLOCKING, () -> {
      throw new IllegalStateException("a task of a test");
    }));
    threadOfNext(InvocationType.NON_BLOCKING);
    assertFalse(driver.isHere());
  }
}
