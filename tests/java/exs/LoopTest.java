// SPDX-License-Identifier: BSD-2-Clause
package exs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.CompletionHandler;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class LoopTest {
  private static final int MANY = 250;
  private static final int LARGE_BYTES = 1 << 20;

  @Test
  void connections_are_made_without_a_thread_that_waits() throws Exception {
    try (Loop loop = Loop.start(16);
        ServerChannel server = ServerChannel.listen(SocketType.MESSAGES, new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 4)) {
      final CompletableFuture<StreamChannel> accepting = server.accept(loop);
      final CompletableFuture<StreamChannel> connecting = StreamChannel.connect(loop, SocketType.MESSAGES, server.localAddress(), null);
      final StreamChannel client = connecting.get();
      final StreamChannel accepted = accepting.get();
      final CompletableFuture<Transfer> receive = accepted.recv(loop, Bytes.direct(100));
      assertEquals(80, client.send(loop, Bytes.direct(80, 1)).get().length());
      assertEquals(80, receive.get().length());
      client.close();
      accepted.close();
    }
  }

  @Test
  void a_refused_connection_is_told() throws Exception {
    try (Loop loop = Loop.start(16)) {
      final InetSocketAddress nobody;
      try (ServerChannel gone = ServerChannel.listen(SocketType.STREAM, new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1)) {
        nobody = gone.localAddress();
      }
      final CompletableFuture<StreamChannel> connecting = StreamChannel.connect(loop, SocketType.STREAM, nobody, null);
      assertEquals(ExsException.ECONNREFUSED, Sockets.failure(connecting).errno());
      assertEquals(95, Sockets.failure(StreamChannel.connect(loop, SocketType.STREAM, nobody, "nothing")).errno());
    }
  }

  @Test
  void many_operations_complete_in_order_and_hold_their_memory() throws Exception {
    final Loop loop = Loop.start(2 * MANY);
    try (Sockets both = new Sockets(SocketType.MESSAGES, null)) {
      final List<CompletableFuture<Void>> receives = new ArrayList<>();
      final List<Integer> order = new ArrayList<>();
      for (int i = 0; i < MANY; ++i) {
        final int number = i;
        final ByteBuffer into = Bytes.direct(200);
        receives.add(both.accepted.recv(loop, into).thenAccept(transfer -> {
          assertEquals(number % 200, transfer.length());
          assertArrayEquals(Bytes.array(number % 200, number), Bytes.of(into, number % 200));
          order.add(number);
        }));
      }
      final List<CompletableFuture<Transfer>> sends = new ArrayList<>();
      for (int i = 0; i < MANY; ++i) sends.add(both.client.send(loop, Bytes.direct(i % 200, i)));
      Tests.collectOnce();
      for (final CompletableFuture<Transfer> send : sends) send.get();
      for (final CompletableFuture<Void> receive : receives) receive.get();
      assertEquals(MANY, order.size());
      for (int i = 0; i < MANY; ++i) assertEquals(i, order.get(i));
    }
    loop.close();
  }

  @Test
  void an_executor_completes_futures() throws Exception {
    final ExecutorService executor = Executors.newSingleThreadExecutor(body -> new Thread(body, "mine"));
    try (Loop loop = Loop.start(8, executor)) {
      try (Sockets both = new Sockets(SocketType.STREAM, null)) {
        final Memory into = Memory.allocate(100);
        final CompletableFuture<String> name = both.accepted.recv(loop, into, 10, 50).thenApply(transfer -> Thread.currentThread().getName());
        final Memory from = Memory.allocate(100);
        from.buffer().putInt(20, 42);
        both.client.send(loop, from, 20, 4).get();
        assertEquals("mine", name.get());
        assertEquals(42, into.buffer().getInt(10));
      }
    } finally {
      executor.shutdown();
    }
  }

  @Test
  void more_than_its_depth_are_refused() throws Exception {
    try (Sockets both = new Sockets(SocketType.MESSAGES, null); Loop loop = Loop.start(1)) {
      final CompletableFuture<Transfer> first = both.accepted.recv(loop, Bytes.direct(10));
      assertEquals(11, Sockets.failure(both.accepted.recv(loop, Bytes.direct(10))).errno());
      both.client.send(Bytes.direct(10, 1));
      assertEquals(10, first.get().length());
      assertThrows(IllegalArgumentException.class, () -> Loop.start(0));
    }
  }

  @Test
  void what_is_under_way_when_its_channel_closes_is_cancelled() throws Exception {
    try (Loop loop = Loop.start(4)) {
      final Sockets both = new Sockets(SocketType.MESSAGES, null);
      final CompletableFuture<Transfer> receive = both.accepted.recv(loop, Bytes.direct(10));
      final CompletableFuture<StreamChannel> accept = both.server.accept(loop);
      both.accepted.close();
      both.close();
      assertEquals(ExsException.ECANCELED, Sockets.failure(receive).errno());
      assertEquals(ExsException.ECANCELED, Sockets.failure(accept).errno());
      assertEquals(ExsException.EBADF, Sockets.failure(both.accepted.recv(loop, Bytes.direct(10))).errno());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void pieces_leave_one_after_the_other(String provider) throws Exception {
    final Memory memory = Memory.allocate(LARGE_BYTES);
    memory.buffer().put(Bytes.array(LARGE_BYTES, 5));
    try (Loop loop = Loop.start(8); Sockets both = new Sockets(SocketType.STREAM, provider)) {
      final ByteBuffer all = Bytes.direct(LARGE_BYTES + 300);
      final CompletableFuture<Transfer> received = CompletableFuture.supplyAsync(() -> Sockets.call(() -> both.accepted.recvAll(all)));
      final ByteBuffer[] pieces = {Bytes.direct(100, 1), memory.buffer().asReadOnlyBuffer().position(1000), Bytes.direct(0),
          memory.buffer().slice(0, 1000), Bytes.direct(200, 2)};
      final Told told = new Told();
      both.client.send(loop, pieces, "mine", told);
      assertEquals(LARGE_BYTES + 300, told.get().length());
      assertEquals("mine", told.attachment);
      assertEquals(LARGE_BYTES + 300, received.get().length());
      assertArrayEquals(Bytes.array(100, 1), bytes(all, 0, 100));
      assertArrayEquals(bytes(memory.buffer(), 1000, LARGE_BYTES - 1000), bytes(all, 100, LARGE_BYTES - 1000));
      assertArrayEquals(bytes(memory.buffer(), 0, 1000), bytes(all, LARGE_BYTES - 900, 1000));
      assertArrayEquals(Bytes.array(200, 2), bytes(all, LARGE_BYTES + 100, 200));
      assertThrows(IllegalArgumentException.class, () -> both.client.send(loop, new ByteBuffer[] {ByteBuffer.allocate(1)}, null, told));
    }
  }

  @Test
  void handlers_are_told_of_a_receive_and_of_refusals() throws Exception {
    final Memory into = Memory.allocate(100);
    try (Loop loop = Loop.start(8)) {
      final Sockets both = new Sockets(SocketType.STREAM, null);
      final Told received = new Told();
      both.accepted.recv(loop, into, 10, 50, null, received);
      both.client.send(Bytes.direct(4, 1));
      assertEquals(4, received.get().length());
      assertArrayEquals(Bytes.array(4, 1), bytes(into.buffer(), 10, 4));
      both.close();
      final Told refused = new Told();
      both.client.send(loop, new ByteBuffer[] {Bytes.direct(1)}, null, refused);
      assertEquals(ExsException.EBADF, Sockets.failure(refused.future).errno());
    }
  }

  @Test
  void a_loop_without_a_thread_is_driven_by_its_owner() throws Exception {
    final Loop loop = Loop.create(8);
    final Sockets both = new Sockets(SocketType.STREAM, null);
    final CompletableFuture<Transfer> receive = both.accepted.recv(loop, Bytes.direct(10));
    both.client.send(Bytes.direct(4, 1));
    while (!receive.isDone()) assertTrue(loop.complete());
    assertEquals(4, receive.get().length());
    final CompletableFuture<Transfer> cancelled = both.accepted.recv(loop, Bytes.direct(10));
    loop.close();
    both.close();
    while (loop.complete()) continue;
    assertTrue(cancelled.isDone());
    assertFalse(loop.complete());
  }

  @Test
  void a_handler_that_throws_hurts_nobody_else() throws Exception {
    try (Loop loop = Loop.start(8); Sockets both = new Sockets(SocketType.STREAM, null)) {
      final CompletableFuture<Throwable> told = new CompletableFuture<>();
      final Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
      Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> told.complete(failure));
      try {
        both.accepted.recv(loop, Memory.allocate(10), 0, 10, null, new Told() {
          @Override
          public void completed(Transfer transfer, Object attachment) {
            throw new IllegalStateException("mine");
          }
        });
        both.client.send(Bytes.direct(4, 1));
        assertEquals("mine", told.get().getMessage());
      } finally {
        Thread.setDefaultUncaughtExceptionHandler(before);
      }
      both.client.send(Bytes.direct(4, 1));
      assertEquals(4, both.accepted.recv(loop, Bytes.direct(10)).get().length());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void closing_lets_sends_complete_and_aborting_does_not(String provider) throws Exception {
    try (Loop loop = Loop.start(8)) {
      try (Sockets both = new Sockets(SocketType.STREAM, provider)) {
        final CompletableFuture<Transfer> send = both.client.send(loop, Bytes.direct(LARGE_BYTES, 3));
        final CompletableFuture<Void> closed = both.client.close(loop);
        assertEquals(LARGE_BYTES, both.accepted.recvAll(Bytes.direct(LARGE_BYTES)).length());
        assertEquals(LARGE_BYTES, send.get().length());
        assertTrue(both.accepted.recv(Bytes.direct(1)).isEnd());
        both.accepted.close();
        closed.get();
        both.client.close(loop).get();
      }
      try (Sockets both = new Sockets(SocketType.STREAM, provider)) {
        final CompletableFuture<Transfer> send = both.client.send(loop, Bytes.direct(LARGE_BYTES, 3));
        both.client.abort(loop).get();
        assertTrue(send.isCompletedExceptionally());
        assertThrows(ExsException.class, () -> {
          while (!both.accepted.recv(Bytes.direct(LARGE_BYTES)).isEnd()) continue;
        });
      }
    }
  }

  @Test
  void a_full_loop_closes_nevertheless() throws Exception {
    try (Sockets both = new Sockets(SocketType.MESSAGES, null); Loop loop = Loop.start(1)) {
      final CompletableFuture<Transfer> receive = both.accepted.recv(loop, Bytes.direct(10));
      both.accepted.abort(loop).get();
      assertEquals(ExsException.ECANCELED, Sockets.failure(receive).errno());
    }
  }

  private static byte[] bytes(ByteBuffer from, int at, int length) {
    final byte[] bytes = new byte[length];
    from.duplicate().clear().position(at).get(bytes);
    return bytes;
  }

  /** A handler that keeps what it was told. */
  private static class Told implements CompletionHandler<Transfer, Object> {
    final CompletableFuture<Transfer> future = new CompletableFuture<>();
    volatile Object attachment;

    Transfer get() throws Exception {
      return future.get();
    }

    @Override
    public void completed(Transfer transfer, Object given) {
      attachment = given;
      future.complete(transfer);
    }

    @Override
    public void failed(Throwable failure, Object given) {
      attachment = given;
      future.completeExceptionally(failure);
    }
  }

  @Test
  void it_may_be_closed_by_its_own_thread() throws Exception {
    final Loop loop = Loop.start(4);
    try (Sockets both = new Sockets(SocketType.MESSAGES, null)) {
      final CompletableFuture<Boolean> closed = both.accepted.recv(loop, Bytes.direct(10)).thenApply(transfer -> {
        try {
          loop.close();
          return true;
        } catch (ExsException e) {
          return false;
        }
      });
      both.client.send(Bytes.direct(4, 1));
      assertTrue(closed.get());
      loop.close();
      assertEquals(11, Sockets.failure(both.client.send(loop, Bytes.direct(4))).errno());
    }
  }
}
