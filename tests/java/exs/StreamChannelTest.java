// SPDX-License-Identifier: BSD-2-Clause
package exs;

import static exs.Sockets.assertErrno;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class StreamChannelTest {
  private static final int LARGE_BYTES = 1 << 20;

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void messages_arrive_as_they_were_sent(String provider) throws Exception {
    try (Sockets both = new Sockets(SocketType.MESSAGES, provider)) {
      assertEquals(provider, both.client.provider());
      assertEquals(provider, both.accepted.provider());
      for (final int bytes : new int[] {0, 1, 1000, LARGE_BYTES}) {
        final ByteBuffer into = Bytes.direct(LARGE_BYTES);
        final FutureTask<Transfer> receive = Sockets.start(() -> both.accepted.recv(into));
        both.client.send(Bytes.direct(bytes, bytes));
        assertEquals(new Transfer(bytes, false, false, bytes), receive.get());
        assertArrayEquals(Bytes.array(bytes, bytes), Bytes.of(into, bytes));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void registered_memory_is_sent_and_received_in_parts(String provider) throws Exception {
    try (Sockets both = new Sockets(SocketType.MESSAGES, provider)) {
      final Memory from = Memory.allocate(LARGE_BYTES);
      final Memory into = Memory.allocate(LARGE_BYTES);
      from.buffer().put(Bytes.array(LARGE_BYTES, 3));
      final FutureTask<Transfer> receive = Sockets.start(() -> both.accepted.recv(into, 100, 500_000));
      both.client.send(from, 1000, 400_000);
      assertEquals(400_000, receive.get().length());
      for (int i = 0; i < 400_000; ++i) assertEquals(from.buffer().get(1000 + i), into.buffer().get(100 + i));
      assertThrows(IndexOutOfBoundsException.class, () -> both.client.send(from, LARGE_BYTES - 1, 2));
    }
  }

  @Test
  void a_longer_message_is_cut_and_its_length_told() throws Exception {
    try (Sockets both = new Sockets(SocketType.MESSAGES, null)) {
      both.client.send(Bytes.direct(100, 1));
      final ByteBuffer into = Bytes.direct(60).limit(50).position(10);
      assertEquals(new Transfer(40, false, true, 100), both.accepted.recv(into));
      assertEquals(10, into.position());
      assertEquals(50, into.limit());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void a_stream_carries_bytes_until_its_end(String provider) throws Exception {
    try (Sockets both = new Sockets(SocketType.STREAM, provider)) {
      final ByteBuffer all = Bytes.direct(LARGE_BYTES);
      final FutureTask<Transfer> receive = Sockets.start(() -> both.accepted.recvAll(all));
      for (int at = 0; at < LARGE_BYTES; at += LARGE_BYTES / 8) both.client.send(Bytes.direct(LARGE_BYTES, 7).position(at).limit(at + LARGE_BYTES / 8));
      assertEquals(LARGE_BYTES, receive.get().length());
      assertArrayEquals(Bytes.array(LARGE_BYTES, 7), Bytes.of(all, LARGE_BYTES));
      both.client.shutdownOutput();
      final Transfer last = both.accepted.recv(Bytes.direct(10));
      assertEquals(0, last.length());
      assertTrue(last.isEnd());
      both.accepted.send(Bytes.direct(10, 1));
      assertFalse(both.client.recv(Bytes.direct(10)).isEnd());
      assertErrno(ExsException.EPIPE, () -> both.client.send(Bytes.direct(1)));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void ends_agree_on_the_smaller_limits(String provider) throws Exception {
    final InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    try (ServerChannel server = ServerChannel.listen(SocketType.STREAM, any, 4, null, new SocketLimits(32768, 4))) {
      final FutureTask<StreamChannel> accepting = Sockets.start(server::accept);
      try (StreamChannel client = StreamChannel.connect(SocketType.STREAM, server.localAddress(), provider, new SocketLimits(10_000, 8));
          StreamChannel accepted = accepting.get()) {
        assertEquals(new SocketLimits(10_000, 4), client.limits());
        assertEquals(new SocketLimits(10_000, 4), accepted.limits());
        client.send(Bytes.direct(10_000, 3));  // leaves although nobody receives
        final ByteBuffer into = Bytes.direct(10_000);
        assertEquals(10_000, accepted.recvAll(into).length());
        assertArrayEquals(Bytes.array(10_000, 3), Bytes.of(into, 10_000));
        client.setLinger(0);
        accepted.setLinger(0);
      }
      assertErrno(22, () -> StreamChannel.connect(SocketType.STREAM, server.localAddress(), provider, new SocketLimits(-1, 8)));
      assertErrno(22, () -> StreamChannel.connect(SocketType.STREAM, server.localAddress(), provider, new SocketLimits(1, 0)));
    }
  }

  @Test
  void addresses_are_those_of_both_ends() throws Exception {
    try (Sockets both = new Sockets(SocketType.STREAM, null)) {
      assertEquals(both.server.localAddress(), both.client.remoteAddress());
      assertEquals(both.client.localAddress(), both.accepted.remoteAddress());
    }
  }

  @Test
  void what_is_wrong_is_told() throws Exception {
    final InetSocketAddress nobody;
    try (ServerChannel gone = ServerChannel.listen(SocketType.STREAM, new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1)) {
      nobody = gone.localAddress();
      assertErrno(98, () -> ServerChannel.listen(SocketType.STREAM, nobody, 1));
    }
    assertErrno(ExsException.ECONNREFUSED, () -> StreamChannel.connect(SocketType.STREAM, nobody));
    assertErrno(95, () -> StreamChannel.connect(SocketType.STREAM, nobody, "carrier pigeon"));
    assertThrows(ExsException.class, () -> StreamChannel.connect(SocketType.STREAM, InetSocketAddress.createUnresolved("nowhere.invalid", 1)));
    try (Sockets both = new Sockets(SocketType.STREAM, null)) {
      assertThrows(IllegalArgumentException.class, () -> both.client.send(ByteBuffer.allocate(4)));
      assertThrows(ReadOnlyBufferException.class, () -> both.client.recv(Bytes.direct(4).asReadOnlyBuffer()));
    }
  }

  @Test
  void an_interrupt_ends_a_receive_and_an_accept() throws Exception {
    try (Sockets both = new Sockets(SocketType.STREAM, null)) {
      Thread.currentThread().interrupt();
      assertErrno(ExsException.EINTR, () -> both.client.recv(Bytes.direct(4)));
      assertErrno(ExsException.EINTR, both.server::accept);
      assertTrue(Thread.interrupted());
      final Thread[] waiting = new Thread[1];
      final FutureTask<Boolean> task = new FutureTask<>(() -> {
        assertErrno(ExsException.EINTR, () -> both.client.recv(Bytes.direct(4)));
        return Thread.interrupted();
      });
      waiting[0] = new Thread(task);
      waiting[0].start();
      waiting[0].interrupt();
      assertTrue(task.get());
      both.accepted.send(Bytes.direct(4, 1));
      assertEquals(4, both.client.recv(Bytes.direct(4)).length());
    }
  }

  @Test
  void closing_frees_threads_that_wait() throws Exception {
    final Sockets both = new Sockets(SocketType.MESSAGES, null);
    final FutureTask<Transfer> receive = Sockets.start(() -> both.accepted.recv(Bytes.direct(4)));
    final FutureTask<StreamChannel> accept = Sockets.start(both.server::accept);
    both.close();
    final int[] expected = {ExsException.ECANCELED, ExsException.EBADF};
    for (final FutureTask<?> task : new FutureTask<?>[] {receive, accept}) {
      try {
        assertEquals(0, ((Transfer) task.get()).length());  // the end of the peer's sending came first
      } catch (java.util.concurrent.ExecutionException e) {
        final int errno = ((ExsException) e.getCause()).errno();
        assertTrue(errno == expected[0] || errno == expected[1], e.getCause().getMessage());
      }
    }
    both.close();
    assertErrno(ExsException.EBADF, () -> both.client.send(Bytes.direct(4)));
    assertErrno(ExsException.EBADF, both.client::provider);
    assertErrno(ExsException.EBADF, both.server::localAddress);
  }
}
