// SPDX-License-Identifier: BSD-2-Clause
package exs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A process that sends to itself. */
@Timeout(60)
class MessageTest {
  private static final int EINVAL = 22;

  private MessageChannel channel;

  @BeforeEach
  void open() throws ExsException {
    channel = MessageChannel.open();
  }

  @AfterEach
  void close() throws ExsException {
    channel.close();
  }

  private static void assertErrno(int errno, org.junit.jupiter.api.function.Executable call) {
    final ExsException failure = assertThrows(ExsException.class, call);
    assertEquals(errno, failure.errno(), failure.getMessage());
    assertFalse(failure.getMessage().isEmpty());
  }

  @Test
  void a_job_of_one_has_rank_0() {
    assertEquals(0, channel.rank());
    assertEquals(1, channel.size());
    assertEquals("MessageChannel[rank 0 of 1]", channel.toString());
  }

  @Test
  void a_direct_buffer_arrives_between_position_and_limit() throws ExsException {
    final ByteBuffer from = Bytes.direct(100, 1).position(10).limit(40);
    channel.send(from, 0, 5, 6);
    final ByteBuffer into = Bytes.direct(100).position(20);
    final Status status = channel.recv(into, 0, 5, 6);
    assertEquals(new Status(0, 5, 6, 30, 0, false), status);
    assertEquals(10, from.position());
    assertEquals(40, from.limit());
    assertEquals(20, into.position());
    for (int i = 0; i < 30; ++i) assertEquals(from.get(10 + i), into.get(20 + i));
  }

  @Test
  void a_heap_buffer_is_copied() throws ExsException {
    final ByteBuffer from = ByteBuffer.wrap(Bytes.array(100, 2), 10, 50).slice();
    channel.send(from, 0, 5, 6);
    from.put(0, (byte) ~from.get(0));
    final ByteBuffer into = ByteBuffer.allocate(80).position(5);
    assertEquals(50, channel.recv(into, 0, 5, 6).length());
    from.put(0, (byte) ~from.get(0));
    for (int i = 0; i < 50; ++i) assertEquals(from.get(i), into.get(5 + i));
  }

  @Test
  void arrays_of_all_kinds_arrive() throws ExsException {
    final byte[] bytes = new byte[4];
    final short[] shorts = new short[4];
    final char[] chars = new char[4];
    final int[] ints = new int[4];
    final long[] longs = new long[4];
    final float[] floats = new float[4];
    final double[] doubles = new double[4];
    roundTrip(new byte[] {1, -2, 3, 4}, bytes, 1);
    roundTrip(new short[] {1, -2, 3, 4}, shorts, 2);
    roundTrip(new char[] {'a', 'b', 'c', 'd'}, chars, 2);
    roundTrip(new int[] {1, -2, 3, 4}, ints, 4);
    roundTrip(new long[] {1, -2, 3, 4}, longs, 8);
    roundTrip(new float[] {1, -2, 3, 4}, floats, 4);
    roundTrip(new double[] {1, -2, 3, 4}, doubles, 8);
    assertArrayEquals(new byte[] {0, -2, 3, 0}, bytes);
    assertArrayEquals(new short[] {0, -2, 3, 0}, shorts);
    assertArrayEquals(new char[] {0, 'b', 'c', 0}, chars);
    assertArrayEquals(new int[] {0, -2, 3, 0}, ints);
    assertArrayEquals(new long[] {0, -2, 3, 0}, longs);
    assertArrayEquals(new float[] {0, -2, 3, 0}, floats);
    assertArrayEquals(new double[] {0, -2, 3, 0}, doubles);
  }

  private void roundTrip(Object from, Object into, int elementBytes) throws ExsException {
    channel.isend(from, 1, 2, 0, 1, 0).await();
    final Request request = channel.irecv(into, 1, 3, 0, 1, 0);
    final Status status = request.await();
    assertEquals(2L * elementBytes, status.length());
    assertEquals(2, status.count(elementBytes));
    channel.send(from, 1, 2, 0, 1, 0);
    assertEquals(2, channel.recv(into, 1, 2, 0, 1, 0).count(elementBytes));
  }

  @Test
  void of_an_element_that_came_in_part_nothing_is_written() throws ExsException {
    channel.send(Bytes.array(7, 3), 0, 7, 0, 1, 0);
    final int[] into = {-1, -1, -1};
    assertEquals(7, channel.recv(into, 0, 3, 0, 1, 0).length());
    assertEquals(-1, into[1]);
    assertEquals(ByteBuffer.wrap(Bytes.array(7, 3)).order(java.nio.ByteOrder.nativeOrder()).getInt(0), into[0]);
  }

  @Test
  void other_arrays_and_places_are_refused() {
    assertThrows(IllegalArgumentException.class, () -> channel.send(new boolean[1], 0, 1, 0, 0, 0));
    assertThrows(IllegalArgumentException.class, () -> channel.send(new Object[1], 0, 1, 0, 0, 0));
    assertThrows(IllegalArgumentException.class, () -> channel.send("text", 0, 1, 0, 0, 0));
    assertThrows(NullPointerException.class, () -> channel.send((Object) null, 0, 1, 0, 0, 0));
    assertThrows(NullPointerException.class, () -> channel.send((ByteBuffer) null, 0, 0, 0));
    assertThrows(IndexOutOfBoundsException.class, () -> channel.send(new int[4], 2, 3, 0, 0, 0));
    assertThrows(IndexOutOfBoundsException.class, () -> channel.recv(new int[4], -1, 3, 0, 0, 0));
    assertThrows(ReadOnlyBufferException.class, () -> channel.recv(Bytes.direct(4).asReadOnlyBuffer(), 0, 0, 0));
    assertThrows(IllegalArgumentException.class, () -> channel.send(ByteBuffer.allocate(4).asReadOnlyBuffer(), 0, 0, 0));
    assertThrows(IllegalArgumentException.class, () -> channel.isend(new ByteBuffer[] {ByteBuffer.allocate(4)}, 0, 0, 0));
  }

  @Test
  void wrong_numbers_are_einval() {
    final ByteBuffer buffer = Bytes.direct(8);
    assertErrno(EINVAL, () -> channel.send(buffer, 1, 0, 0));
    assertErrno(EINVAL, () -> channel.send(buffer, 0, MessageChannel.ANY_TAG, 0));
    assertErrno(EINVAL, () -> channel.isend(buffer, 0, 0, -1));
    assertErrno(EINVAL, () -> channel.recv(buffer, 7, 0, 0));
    assertErrno(EINVAL, () -> channel.irecv(buffer, 0, 0, -5));
    assertErrno(EINVAL, () -> channel.iprobe(3, 0, 0));
    assertErrno(EINVAL, () -> channel.probe(3, 0, 0, -1));
    assertErrno(EINVAL, () -> channel.improbe(3, 0, 0));
    assertErrno(EINVAL, () -> channel.mprobe(3, 0, 0, -1));
    assertErrno(EINVAL, () -> channel.send(new byte[3], 0, 3, 9, 0, 0));
    assertErrno(EINVAL, () -> channel.isend(new byte[3], 0, 3, 9, 0, 0));
  }

  @Test
  void a_longer_message_is_cut() throws ExsException {
    channel.send(Bytes.direct(100, 4), 0, 1, 0);
    final ByteBuffer into = Bytes.direct(60);
    final ExsException failure = assertThrows(ExsException.class, () -> channel.recv(into, 0, 1, 0));
    assertEquals(ExsException.EMSGSIZE, failure.errno());
    assertEquals(100, failure.status().length());
    assertArrayEquals(java.util.Arrays.copyOf(Bytes.array(100, 4), 60), Bytes.of(into, 60));
    channel.send(Bytes.array(100, 4), 0, 100, 0, 1, 0);
    final byte[] array = new byte[60];
    assertErrno(ExsException.EMSGSIZE, () -> channel.recv(array, 0, 60, 0, 1, 0));
    assertArrayEquals(java.util.Arrays.copyOf(Bytes.array(100, 4), 60), array);
    channel.send(Bytes.array(100, 4), 0, 100, 0, 1, 0);
    final Request request = channel.irecv(new byte[60], 0, 60, 0, 1, 0);
    assertErrno(ExsException.EMSGSIZE, request::await);
    assertErrno(ExsException.EMSGSIZE, request::await);
    assertEquals(100, request.status().length());
  }

  @Test
  void wildcards_match_and_tell_what_came() throws ExsException {
    channel.send(new int[] {1}, 0, 1, 0, 11, 3);
    channel.send(new int[] {2}, 0, 1, 0, -12, 3);
    channel.send(new int[] {3}, 0, 1, 0, 13, 4);
    final int[] got = new int[1];
    assertEquals(13, channel.recv(got, 0, 1, MessageChannel.ANY_SOURCE, MessageChannel.ANY_TAG, 4).tag());
    assertEquals(3, got[0]);
    assertEquals(-12, channel.recv(got, 0, 1, MessageChannel.ANY_SOURCE, -12, 3).tag());
    assertEquals(2, got[0]);
    final Status status = channel.recv(got, 0, 1, 0, MessageChannel.ANY_TAG, 3);
    assertEquals(11, status.tag());
    assertEquals(0, status.source());
    assertEquals(1, got[0]);
  }

  @Test
  void pieces_are_one_message() throws ExsException {
    final ByteBuffer[] from = {Bytes.direct(10, 1), Bytes.direct(0), Bytes.direct(90, 2).position(30)};
    final Request send = channel.isend(from, 0, 1, 0);
    final ByteBuffer[] into = {Bytes.direct(35), Bytes.direct(50)};
    assertEquals(70, channel.irecv(into, 0, 1, 0).await().length());
    send.await();
    final ByteBuffer joined = ByteBuffer.allocate(85);
    joined.put(into[0].duplicate()).put(into[1].duplicate());
    for (int i = 0; i < 10; ++i) assertEquals(from[0].get(i), joined.get(i));
    for (int i = 0; i < 60; ++i) assertEquals(from[2].get(30 + i), joined.get(10 + i));
    final Request synchronous = channel.issend(from, 0, 1, 0);
    assertFalse(synchronous.test());
    channel.irecv(into, 0, 1, 0).await();
    assertTrue(synchronous.test());
    channel.isend(new ByteBuffer[0], 0, 2, 0).await();
    assertEquals(0, channel.irecv(new ByteBuffer[0], 0, 2, 0).await().length());
  }

  @Test
  void a_synchronous_send_ends_when_it_is_matched() throws Exception {
    final Request direct = channel.issend(Bytes.direct(10, 1), 0, 1, 0);
    final Request array = channel.issend(Bytes.array(10, 2), 0, 10, 0, 2, 0);
    assertFalse(direct.test());
    assertNull(array.await(0));
    assertNull(array.status());
    channel.recv(Bytes.direct(10), 0, 1, 0);
    channel.recv(Bytes.direct(10), 0, 2, 0);
    assertNotNull(direct.await());
    assertTrue(array.test());
    final Request receive = channel.irecv(Bytes.direct(10), 0, 3, 0);
    channel.ssend(Bytes.direct(10, 3), 0, 3, 0);
    assertEquals(10, receive.await().length());
    final Request other = channel.irecv(Bytes.direct(10), 0, 3, 0);
    channel.ssend(Bytes.array(10, 3), 0, 10, 0, 3, 0);
    assertEquals(10, other.await().length());
  }

  @Test
  void probes_see_and_matched_ones_take() throws ExsException {
    assertNull(channel.iprobe(0, 1, 0));
    assertNull(channel.probe(0, 1, 0, 1_000_000));
    assertNull(channel.improbe(0, 1, 0));
    assertNull(channel.mprobe(0, 1, 0, 1_000_000));
    for (int i = 0; i < 4; ++i) channel.send(Bytes.direct(10 + i, i), 0, 1, 0);
    assertEquals(10, channel.iprobe(0, 1, 0).length());
    assertEquals(10, channel.probe(MessageChannel.ANY_SOURCE, MessageChannel.ANY_TAG, 0, -1).length());
    final Message first = channel.improbe(0, 1, 0);
    final Message second = channel.mprobe(0, MessageChannel.ANY_TAG, 0, -1);
    assertEquals(10, first.status().length());
    assertEquals(11, second.status().length());
    assertEquals(12, channel.recv(Bytes.direct(100), 0, 1, 0).length());
    final byte[] bytes = new byte[11];
    assertEquals(11, second.recv(bytes, 0, 11).length());
    assertArrayEquals(Bytes.array(11, 1), bytes);
    final ByteBuffer into = Bytes.direct(10);
    assertThrows(ReadOnlyBufferException.class, () -> first.irecv(into.asReadOnlyBuffer()));
    assertEquals(10, first.irecv(into).await().length());
    assertArrayEquals(Bytes.array(10, 0), Bytes.of(into, 10));
    assertThrows(IllegalStateException.class, () -> first.recv(into));
    final Message third = channel.improbe(0, 1, 0);
    final byte[] rest = new byte[13];
    third.irecv(rest, 0, 13).await();
    assertArrayEquals(Bytes.array(13, 3), rest);
    channel.send(Bytes.direct(3, 9), 0, 1, 0);
    assertEquals(3, channel.mprobe(0, 1, 0, -1).recv(into).length());
  }

  @Test
  void waits_for_several() throws ExsException {
    final ByteBuffer[] into = {Bytes.direct(8), Bytes.direct(8), Bytes.direct(8)};
    final Request[] requests = new Request[4];
    for (int i = 0; i < 3; ++i) requests[i] = channel.irecv(into[i], 0, i, 0);
    assertEquals(-1, Requests.testAny(requests));
    assertEquals(-1, Requests.awaitAny(requests, 1_000_000));
    assertEquals(0, Requests.testSome(requests).length);
    assertFalse(Requests.testAll(requests));
    channel.send(Bytes.direct(4, 1), 0, 1, 0);
    channel.send(Bytes.direct(5, 1), 0, 2, 0);
    assertEquals(1, Requests.awaitAny(requests, -1));
    assertEquals(4, requests[1].status().length());
    assertNull(requests[2].status());
    assertArrayEquals(new int[] {2}, Requests.awaitSome(requests, -1));
    assertEquals(5, requests[2].status().length());
    assertFalse(Requests.awaitAll(requests, 1_000_000));
    channel.send(Bytes.direct(6, 1), 0, 0, 0);
    assertTrue(Requests.awaitAll(requests, -1));
    assertEquals(6, requests[0].status().length());
    assertTrue(Requests.testAll(requests));
    assertEquals(-1, Requests.awaitAny(requests, -1));
    assertEquals(0, Requests.awaitSome(new Request[0], -1).length);
  }

  @Test
  void of_several_a_failed_one_has_ended() throws ExsException {
    final Request[] requests = {channel.irecv(Bytes.direct(2), 0, 0, 0), channel.irecv(Bytes.direct(8), 0, 1, 0), null};
    requests[2] = channel.irecv(Bytes.direct(2), 0, 2, 0);
    for (int i = 0; i < 3; ++i) channel.send(Bytes.direct(4, 1), 0, i, 0);
    assertEquals(0, Requests.awaitAny(requests, -1));
    assertErrno(ExsException.EMSGSIZE, requests[0]::await);
    assertTrue(Requests.awaitAll(requests, -1));
    assertEquals(4, requests[1].await().length());
    assertErrno(ExsException.EMSGSIZE, requests[2]::await);
  }

  @Test
  void requests_of_two_channels_are_not_mixed() throws ExsException {
    try (MessageChannel other = MessageChannel.open()) {
      final Request[] requests = {channel.irecv(Bytes.direct(2), 0, 0, 0), other.irecv(Bytes.direct(2), 0, 0, 0)};
      assertThrows(IllegalArgumentException.class, () -> Requests.testAll(requests));
      assertFalse(requests[0].test());
    }
  }

  @Test
  void a_cancelled_receive_ends_without_a_message() throws ExsException {
    final Request request = channel.irecv(Bytes.direct(8), 0, 1, 0);
    request.cancel();
    final Status status = request.await();
    assertTrue(status.isCancelled());
    assertEquals(ExsException.ECANCELED, status.error());
    request.cancel();
    assertTrue(request.isReceive());
    final byte[] untouched = Bytes.array(8, 1);
    final Request array = channel.irecv(untouched, 0, 8, 0, 1, 0);
    array.cancel();
    assertTrue(array.await().isCancelled());
    assertArrayEquals(Bytes.array(8, 1), untouched);
    channel.send(Bytes.direct(8, 1), 0, 1, 0);
    final Request matched = channel.irecv(Bytes.direct(8), 0, 1, 0);
    matched.cancel();
    assertFalse(matched.await().isCancelled());
  }

  @Test
  void peek_names_each_once_and_keeps_what_is_attached() throws ExsException {
    assertNull(channel.peek(0));
    final Request first = channel.irecv(Bytes.direct(8), 0, 1, 0);
    final Request second = channel.irecv(Bytes.direct(8), 0, 2, 0);
    second.attach("second");
    channel.send(Bytes.direct(8, 1), 0, 2, 0);
    final Request named = channel.peek(-1);
    assertSame(second, named);
    assertEquals("second", named.attachment());
    assertNull(channel.peek(1_000_000));
    channel.send(Bytes.direct(8, 1), 0, 1, 0);
    first.await();
    assertNull(channel.peek(0));
    assertEquals(8, named.await().length());
  }

  @Test
  void peek_does_not_name_what_a_blocking_call_waits_for() throws Exception {
    final Thread blocked = new Thread(() -> {
      try {
        channel.recv(Bytes.direct(8), 0, 1, 0);
      } catch (ExsException e) {
        throw new AssertionError(e);
      }
    });
    blocked.start();
    while (channel.counters().receivesWaiting() == 0) Thread.onSpinWait();
    final Request mine = channel.irecv(Bytes.direct(8), 0, 2, 0);
    channel.send(Bytes.direct(8, 1), 0, 1, 0);
    channel.send(Bytes.direct(8, 1), 0, 2, 0);
    assertSame(mine, channel.peek(-1));
    blocked.join();
    assertNull(channel.peek(0));
  }

  @Test
  void counters_count() throws ExsException {
    channel.send(Bytes.direct(100, 1), 0, 1, 0);
    assertEquals(1, channel.counters().unexpectedMessages());
    channel.recv(Bytes.direct(100), 0, 1, 0);
    channel.irecv(Bytes.direct(1), 0, 9, 0);
    final Counters counters = channel.counters();
    assertEquals(1, counters.sends());
    assertEquals(1, counters.receives());
    assertEquals(100, counters.bytesReceived());
    assertEquals(1, counters.receivesWaiting());
    assertEquals(0, counters.unexpectedMessages());
    assertEquals(0, channel.failed().length);
  }

  @Test
  void a_list_makes_a_job_of_one() throws ExsException {
    final byte[] key = Bytes.array(16, 1);
    try (MessageChannel listed = MessageChannel.open(new Job(0, List.of("127.0.0.1:0"), key, 4096, 1000))) {
      assertEquals(1, listed.size());
      listed.send(Bytes.direct(4096, 1), 0, 0, 0);
      assertEquals(4096, listed.recv(Bytes.direct(10_000), 0, 0, 0).length());
    }
    assertErrno(EINVAL, () -> MessageChannel.open(new Job(0, List.of("nonsense", "127.0.0.1:1"))));
    assertThrows(IllegalArgumentException.class, () -> new Job(1, List.of("127.0.0.1:1")));
    assertThrows(IllegalArgumentException.class, () -> new Job(0, List.of("127.0.0.1:1"), new byte[3], 0, 0));
    assertThrows(IllegalArgumentException.class, () -> new Job(0, List.of("127.0.0.1:1"), null, -1, 0));
  }
}
