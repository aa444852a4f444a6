// SPDX-License-Identifier: BSD-2-Clause
package exs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Requests that are forgotten, released, interrupted, or outlive their channel. */
@Timeout(120)
class RequestLifeTest {
  private static final int MANY = 200;
  private static final int LARGE_BYTES = 1 << 20;

  private static <T> FutureTask<T> start(java.util.concurrent.Callable<T> body) {
    final FutureTask<T> task = new FutureTask<>(body);
    new Thread(task).start();
    return task;
  }

  private static void awaitReceives(MessageChannel channel, int count) throws ExsException {
    while (channel.counters().receivesWaiting() < count) Thread.onSpinWait();
  }

  private static ExsException failure(FutureTask<?> task) {
    return (ExsException) assertThrows(java.util.concurrent.ExecutionException.class, task::get).getCause();
  }

  @Test
  void abandoned_requests_keep_their_memory_and_are_found_by_peek() throws ExsException {
    try (MessageChannel channel = MessageChannel.open()) {
      for (int i = 0; i < MANY; ++i) channel.irecv(Bytes.direct(1000), 0, i, 0).attach(i);
      Tests.collectOnce();
      for (int i = 0; i < MANY; ++i) channel.send(Bytes.direct(1000, i), 0, i, 0);
      Tests.collectOnce();
      for (int i = 0; i < MANY; ++i) {
        final Request named = channel.peek(-1);
        assertEquals((int) named.attachment(), named.await().tag());
      }
      assertNull(channel.peek(0));
    }
  }

  @Test
  void memory_of_an_abandoned_receive_is_kept_until_it_has_ended() throws ExsException {
    try (MessageChannel channel = MessageChannel.open()) {
      final WeakReference<ByteBuffer> kept = receiveInto(channel, Memory.allocate(LARGE_BYTES).buffer());
      Tests.collectOnce();
      assertNotNull(kept.get());
      channel.send(Bytes.direct(LARGE_BYTES, 5), 0, 1, 0);
      assertArrayEquals(Bytes.array(LARGE_BYTES, 5), Bytes.of(kept.get(), LARGE_BYTES));
      channel.peek(-1).await();
      while (kept.get() != null) Tests.collectOnce();
    }
  }

  private static WeakReference<ByteBuffer> receiveInto(MessageChannel channel, ByteBuffer into) throws ExsException {
    channel.irecv(into, 0, 1, 0);
    return new WeakReference<>(into);
  }

  @Test
  void released_requests_end_alone() throws ExsException {
    try (MessageChannel channel = MessageChannel.open()) {
      final WeakReference<ByteBuffer> kept = release(channel);
      Tests.collectOnce();
      assertNotNull(kept.get());
      channel.send(Bytes.direct(LARGE_BYTES, 5), 0, 1, 0);
      final Request other = channel.irecv(Bytes.direct(1), 0, 2, 0);
      other.release();
      assertThrows(IllegalStateException.class, other::test);
      while (kept.get() != null) {
        channel.isend(Bytes.direct(1, 1), 0, 3, 0);
        Tests.collectOnce();
      }
      for (Request one = channel.peek(0); one != null; one = channel.peek(0)) assertFalse(one.isReceive());
    }
  }

  private static WeakReference<ByteBuffer> release(MessageChannel channel) throws ExsException {
    final ByteBuffer into = Memory.allocate(LARGE_BYTES).buffer();
    channel.irecv(into, 0, 1, 0).release();
    return new WeakReference<>(into);
  }

  @Test
  void closing_ends_what_is_left() throws ExsException {
    final MessageChannel channel = MessageChannel.open();
    final Request open = channel.irecv(Bytes.direct(10), 0, 1, 0);
    final Request array = channel.irecv(new int[5], 0, 5, 0, 1, 0);
    final Request ended = channel.irecv(Bytes.direct(10), 0, 2, 0);
    channel.send(Bytes.direct(10, 1), 0, 2, 0);
    ended.await();
    channel.close();
    channel.close();
    assertEquals(ExsException.EBADF, assertThrows(ExsException.class, open::await).errno());
    assertEquals(ExsException.EBADF, assertThrows(ExsException.class, array::await).errno());
    assertEquals(10, ended.await().length());
    assertEquals(ExsException.EBADF, assertThrows(ExsException.class, () -> channel.send(Bytes.direct(1), 0, 0, 0)).errno());
    assertEquals(ExsException.EBADF, assertThrows(ExsException.class, () -> channel.peek(-1)).errno());
    assertEquals(ExsException.EBADF, assertThrows(ExsException.class, channel::counters).errno());
    assertEquals(ExsException.EBADF, assertThrows(ExsException.class, () -> channel.abort(1)).errno());
    open.cancel();
  }

  @Test
  void closing_frees_threads_that_wait() throws Exception {
    final MessageChannel channel = MessageChannel.open();
    final Request request = channel.irecv(Bytes.direct(10), 0, 9, 0);
    final List<FutureTask<?>> tasks = new ArrayList<>();
    tasks.add(start(() -> channel.recv(Bytes.direct(10), 0, 1, 0)));
    tasks.add(start(() -> channel.recv(new int[10], 0, 10, 0, 1, 0)));
    tasks.add(start(request::await));
    tasks.add(start(() -> channel.probe(0, 1, 0, -1)));
    tasks.add(start(() -> channel.mprobe(0, 1, 0, -1)));
    tasks.add(start(() -> channel.peek(-1)));
    awaitReceives(channel, 3);
    channel.close();
    for (final FutureTask<?> task : tasks) assertEquals(ExsException.EBADF, failure(task).errno());
  }

  @Test
  void an_interrupt_cancels_a_blocking_receive() throws Exception {
    try (MessageChannel channel = MessageChannel.open()) {
      final Object[] seen = new Object[2];
      final Thread thread = new Thread(() -> {
        seen[0] = assertThrows(ExsException.class, () -> channel.recv(Bytes.direct(10), 0, 1, 0));
        seen[1] = Thread.interrupted();
      });
      thread.start();
      awaitReceives(channel, 1);
      thread.interrupt();
      thread.join();
      assertEquals(ExsException.EINTR, ((ExsException) seen[0]).errno());
      assertEquals(true, seen[1]);
      channel.send(Bytes.direct(10, 1), 0, 1, 0);
      assertEquals(10, channel.recv(Bytes.direct(10), 0, 1, 0).length());
    }
  }

  @Test
  void an_interrupt_leaves_a_request_as_it_is() throws Exception {
    try (MessageChannel channel = MessageChannel.open()) {
      final Request request = channel.irecv(Bytes.direct(10), 0, 1, 0);
      final Request[] both = {request, channel.irecv(Bytes.direct(10), 0, 2, 0)};
      Thread.currentThread().interrupt();
      assertEquals(ExsException.EINTR, assertThrows(ExsException.class, request::await).errno());
      assertEquals(ExsException.EINTR, assertThrows(ExsException.class, () -> Requests.awaitAll(both, -1)).errno());
      assertEquals(ExsException.EINTR, assertThrows(ExsException.class, () -> channel.probe(0, 5, 0, -1)).errno());
      assertEquals(ExsException.EINTR, assertThrows(ExsException.class, () -> channel.peek(-1)).errno());
      assertTrue(Thread.interrupted());
      channel.send(Bytes.direct(10, 1), 0, 1, 0);
      assertEquals(10, request.await().length());
    }
  }

  @Test
  void a_second_thread_that_waits_is_refused() throws Exception {
    try (MessageChannel channel = MessageChannel.open()) {
      final Request request = channel.irecv(Bytes.direct(10), 0, 1, 0);
      request.claim();  // as a thread does while it waits
      assertThrows(IllegalStateException.class, request::await);
      assertThrows(IllegalStateException.class, request::test);
      assertThrows(IllegalStateException.class, () -> Requests.testAny(new Request[] {request}));
      assertThrows(IllegalStateException.class, request::release);
      request.unclaim();
      channel.send(Bytes.direct(10, 1), 0, 1, 0);
      assertEquals(10, request.await().length());
    }
  }

  @Test
  void many_threads_send_to_each_other_and_peek() throws Exception {
    final int threads = 4;
    final int rounds = 500;
    try (MessageChannel channel = MessageChannel.open()) {
      final List<FutureTask<?>> tasks = new ArrayList<>();
      for (int t = 0; t < threads; ++t) {
        final int context = t;
        tasks.add(start(() -> sendAndReceive(channel, context, rounds)));
      }
      int named = 0;
      while (named < threads * rounds) {
        final Request request = channel.peek(1_000_000_000L);
        assertNotNull(request);
        assertFalse(request.await().isCancelled());
        ++named;
      }
      for (final FutureTask<?> task : tasks) task.get();
      assertNull(channel.peek(0));
    }
  }

  /** One receive a round is left for the thread that peeks, another waited for here. */
  private static Void sendAndReceive(MessageChannel channel, int context, int rounds) throws ExsException {
    final byte[] got = new byte[300];
    for (int i = 0; i < rounds; ++i) {
      channel.irecv(Bytes.direct(300), 0, 1, context);
      channel.send(Bytes.direct(200, i), 0, 1, context);
      channel.send(Bytes.array(300, i), 0, 300, 0, 2, context);
      channel.recv(got, 0, 300, 0, 2, context);
      assertArrayEquals(Bytes.array(300, i), got);
    }
    return null;
  }
}
