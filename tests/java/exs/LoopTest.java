package exs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class LoopTest {
  private static final int MANY = 250;

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
