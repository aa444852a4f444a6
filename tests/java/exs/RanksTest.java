// SPDX-License-Identifier: BSD-2-Clause
package exs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;

/** Several processes, each of which runs all of these tests in the same order, under exs-run. */
@Tag("ranks")
@Timeout(120)
@TestMethodOrder(MethodOrderer.MethodName.class)
class RanksTest {
  private static final int[] SIZES = {0, 1, 64, 4096, 8192, 8193, 70_000, 1 << 20, (1 << 22) + 3};

  private static MessageChannel channel;
  private static int rank;
  private static int size;

  @BeforeAll
  static void join() throws ExsException {
    channel = MessageChannel.open();
    rank = channel.rank();
    size = channel.size();
    assertTrue(size > 1, "these tests need exs-run -n");
  }

  @AfterAll
  static void leave() throws ExsException {
    channel.close();
  }

  private static int next() {
    return (rank + 1) % size;
  }

  private static int before() {
    return (rank + size - 1) % size;
  }

  @Test
  void every_size_goes_round_in_buffers() throws ExsException {
    for (final int bytes : SIZES) {
      final ByteBuffer into = Memory.allocate(bytes + 1).buffer();
      final Request receive = channel.irecv(into, before(), bytes, 1);
      final Request send = channel.isend(Bytes.direct(bytes, rank), next(), bytes, 1);
      assertEquals(new Status(before(), bytes, 1, bytes, 0, false), receive.await());
      assertArrayEquals(Bytes.array(bytes, before()), Bytes.of(into, bytes));
      send.await();
    }
  }

  @Test
  void every_size_goes_round_in_arrays() throws ExsException {
    for (final int bytes : SIZES) {
      final byte[] into = new byte[bytes];
      final Request send = channel.isend(Bytes.array(bytes, rank), 0, bytes, next(), bytes, 2);
      assertEquals(bytes, channel.recv(into, 0, bytes, before(), bytes, 2).length());
      assertArrayEquals(Bytes.array(bytes, before()), into);
      send.await();
      final double[] numbers = new double[bytes / 8];
      final double[] got = new double[bytes / 8];
      for (int i = 0; i < numbers.length; ++i) numbers[i] = i * (rank + 1.5);
      final Request receive = channel.irecv(got, 0, got.length, before(), bytes, 3);
      channel.send(numbers, 0, numbers.length, next(), bytes, 3);
      receive.await();
      for (int i = 0; i < got.length; ++i) assertEquals(i * (before() + 1.5), got[i]);
    }
  }

  @Test
  void synchronous_sends_meet_their_receives() throws ExsException {
    for (final int bytes : SIZES) {
      final Request receive = channel.irecv(Bytes.direct(bytes), before(), 1, 4);
      channel.ssend(Bytes.direct(bytes, rank), next(), 1, 4);
      assertEquals(bytes, receive.await().length());
      final Request array = channel.irecv(new byte[bytes], 0, bytes, before(), 2, 4);
      channel.ssend(Bytes.array(bytes, rank), 0, bytes, next(), 2, 4);
      assertEquals(bytes, array.await().length());
    }
  }

  @Test
  void wildcards_hear_of_everybody() throws ExsException {
    for (int to = 0; to < size; ++to) channel.send(new int[] {rank}, 0, 1, to, 100 + rank, 5);
    final boolean[] seen = new boolean[size];
    for (int i = 0; i < size; ++i) {
      final int[] who = new int[1];
      final Status status = channel.recv(who, 0, 1, MessageChannel.ANY_SOURCE, MessageChannel.ANY_TAG, 5);
      assertEquals(who[0], status.source());
      assertEquals(100 + who[0], status.tag());
      seen[who[0]] = true;
    }
    for (final boolean one : seen) assertTrue(one);
  }

  @Test
  void messages_of_a_rank_keep_their_order_whatever_their_length() throws ExsException {
    final int count = 300;
    final Random random = new Random(rank);
    final Request[] sends = new Request[count];
    for (int i = 0; i < count; ++i) {
      final ByteBuffer message = Bytes.direct(4 + random.nextInt(30_000));
      message.putInt(0, i);
      sends[i] = channel.isend(message, next(), 1, 6);
    }
    final ByteBuffer into = Bytes.direct(40_000);
    for (int i = 0; i < count; ++i) {
      channel.recv(into, before(), 1, 6);
      assertEquals(i, into.getInt(0));
    }
    assertTrue(Requests.awaitAll(sends, -1));
  }

  @Test
  void a_probe_of_anybody_takes_messages_for_threads() throws Exception {
    final int each = 100;
    final List<FutureTask<Integer>> tasks = new ArrayList<>();
    for (int t = 0; t < 3; ++t) {
      final FutureTask<Integer> task = new FutureTask<>(() -> {
        int got = 0;
        while (true) {
          final Message message = channel.mprobe(MessageChannel.ANY_SOURCE, MessageChannel.ANY_TAG, 7, -1);
          final int length = (int) message.status().length();
          final byte[] bytes = new byte[length];
          message.recv(bytes, 0, length);
          if (message.status().tag() == 0) return got;
          assertArrayEquals(Bytes.array(length, message.status().tag()), bytes);
          ++got;
        }
      });
      tasks.add(task);
      new Thread(task).start();
    }
    for (int i = 1; i <= each; ++i) {
      for (int to = 0; to < size; ++to) channel.send(Bytes.array(i * 97, i), 0, i * 97, to, i, 7);
    }
    barrier(8);
    for (int t = 0; t < 3; ++t) channel.send(new byte[0], 0, 0, rank, 0, 7);
    int got = 0;
    for (final FutureTask<Integer> task : tasks) got += task.get();
    assertEquals(each * size, got);
  }

  @Test
  void threads_talk_in_contexts_of_their_own() throws Exception {
    final int rounds = 300;
    final List<FutureTask<Void>> tasks = new ArrayList<>();
    for (int t = 0; t < 3; ++t) {
      final int context = 20 + t;
      final FutureTask<Void> task = new FutureTask<>(() -> {
        final Random random = new Random(context);
        for (int i = 0; i < rounds; ++i) {
          final int bytes = random.nextInt(20_000);
          final ByteBuffer into = Bytes.direct(bytes);
          final Request receive = channel.irecv(into, MessageChannel.ANY_SOURCE, i, context);
          channel.send(Bytes.direct(bytes, i + before()), before(), i, context);
          assertEquals(next(), receive.await().source());
          assertArrayEquals(Bytes.array(bytes, i + rank), Bytes.of(into, bytes));
        }
        return null;
      });
      tasks.add(task);
      new Thread(task).start();
    }
    for (final FutureTask<Void> task : tasks) task.get();
  }

  @Test
  void abandoned_requests_are_safe_while_the_collector_works() throws ExsException {
    final int count = 60;
    for (int i = 0; i < count; ++i) {
      channel.irecv(Memory.allocate(200_000).buffer(), before(), i, 9);
      channel.isend(Bytes.direct(100_000 + i, i), next(), i, 9);
      if (i % 10 == 0) Tests.collectOnce();
    }
    int receives = 0;
    while (receives < count) {
      final Request named = channel.peek(-1);
      final Status status = named.await();
      if (!named.isReceive()) continue;
      assertEquals(100_000 + status.tag(), status.length());
      ++receives;
    }
    barrier(10);
  }

  @Test
  void many_receives_at_once() throws ExsException {
    final int count = 500;
    final Request[] requests = new Request[2 * count];
    for (int i = 0; i < count; ++i) requests[i] = channel.irecv(new long[2], 0, 2, before(), i, 11);
    for (int i = 0; i < count; ++i) requests[count + i] = channel.isend(new long[] {i, rank}, 0, 2, next(), i, 11);
    int ended = 0;
    while (ended < 2 * count) {
      final int[] some = Requests.awaitSome(requests, -1);
      if (some.length == 0) break;
      ended += some.length;
    }
    assertTrue(Requests.testAll(requests));
  }

  /** Everybody tells rank 0, which tells everybody. */
  private static void barrier(int context) throws ExsException {
    final byte[] nothing = {};
    if (rank != 0) {
      channel.send(nothing, 0, 0, 0, 1, context);
      channel.recv(nothing, 0, 0, 0, 2, context);
      return;
    }
    for (int i = 1; i < size; ++i) channel.recv(nothing, 0, 0, MessageChannel.ANY_SOURCE, 1, context);
    for (int i = 1; i < size; ++i) channel.send(nothing, 0, 0, i, 2, context);
  }
}
