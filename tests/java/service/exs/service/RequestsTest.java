// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import exs.ExsException;
import exs.Memory;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class RequestsTest {
  private static final int EPROTO = 71;
  private static final int LONG_BYTES = 2 << 20;

  private final BlockingQueue<Request> arrived = new LinkedBlockingQueue<>();
  private final Service.Handler keep = new Service.Handler() {
    @Override
    public void request(Request request) {
      arrived.add(request);
    }
  };

  @Test
  void a_request_is_answered_with_status_and_items() throws Exception {
    try (Pair pair = new Pair(Pair.ECHO)) {
      for (int i = 0; i < 100; ++i) {
        try (Reply reply = pair.ask("question " + i)) {
          assertEquals(7, reply.status());
          assertFalse(reply.hasMore());
          assertEquals("question " + i, Pair.text(reply.items().get(0)));
        }
      }
    }
  }

  @Test
  void long_items_go_both_ways_into_places_and_beside_them() throws Exception {
    try (Pair pair = new Pair(Pair.ECHO, builder -> builder.windows(2, LONG_BYTES))) {
      final ByteBuffer question = Pair.held(1, LONG_BYTES);
      final ByteBuffer place = Memory.allocate(LONG_BYTES + 100).buffer();
      try (Reply reply = pair.peer.request(List.of(), List.of(question), RequestOptions.NONE.into(place)).reply().get()) {
        assertEquals(question, reply.longItem(0));
        assertEquals(question, place.slice(0, LONG_BYTES));
        assertTrue(Memory.holds(reply.longItem(0)));
      }
      try (Reply reply = pair.peer.request(List.of(), List.of(question), RequestOptions.NONE).reply().get()) {
        assertEquals(question, reply.longItem(0));
      }
      final ByteBuffer small = ByteBuffer.allocateDirect(10);
      Pair.assertErrno(105, pair.peer.request(List.of(), List.of(question), RequestOptions.NONE.into(small)).reply());
      assertThrows(IllegalArgumentException.class,
          () -> pair.peer.request(List.of(), List.of(), RequestOptions.NONE.into(small.asReadOnlyBuffer())));
    }
  }

  @Test
  void a_reply_comes_in_parts_and_in_order() throws Exception {
    final int parts = 40;
    final ExecutorService executor = Executors.newFixedThreadPool(4);
    try (Pair pair = new Pair(keep); ServiceNode node = ServiceNode.builder().executor(executor).open()) {
      final List<Integer> seen = new ArrayList<>();
      final Peer peer = node.peer(pair.service.id()).open();
      final Call call = peer.request(List.of(), List.of(), RequestOptions.NONE.parts(part -> {
        assertEquals(part.status() < parts - 1, part.hasMore());
        seen.add(part.status());
        part.release();
      }));
      final Request request = arrived.take();
      final List<CompletableFuture<Void>> sent = new ArrayList<>();
      for (int i = 0; i < parts; ++i) {
        final List<ByteBuffer> longs = i % 3 == 0 ? List.of(Pair.direct(i, 10_000)) : List.of();
        sent.add(request.reply(i, List.of(), longs, i < parts - 1));
      }
      request.release();
      assertEquals(parts - 1, call.reply().get().status());
      for (final CompletableFuture<Void> one : sent) one.get();
      assertEquals(parts, seen.size());
      for (int i = 0; i < parts; ++i) assertEquals(i, seen.get(i));
    } finally {
      executor.shutdown();
    }
  }

  @Test
  void parts_that_nobody_takes_are_told() throws Exception {
    try (Pair pair = new Pair(keep)) {
      final Call call = pair.peer.request(List.of(), List.of(), RequestOptions.NONE);
      try (Request request = arrived.take()) {
        request.reply(0, List.of(), List.of(), true);
        request.reply(0, List.of(), List.of(), false);
      }
      Pair.assertErrno(EPROTO, call.reply());
    }
  }

  @Test
  void a_cancelled_request_ends_and_its_service_hears_of_it() throws Exception {
    try (Pair pair = new Pair(keep)) {
      final ByteBuffer question = Pair.held(1, LONG_BYTES);
      // Without long items, for which the link might have to break, and nobody hears of the cancel.
      final Call call = pair.peer.request(List.of(), List.of(), RequestOptions.NONE);
      try (Request request = arrived.take()) {
        call.cancel();
        Pair.assertErrno(ExsException.ECANCELED, call.reply());
        call.cancel();
        pair.peer.ping().get();  // behind the cancel
        assertEquals(ExsException.ECANCELED,
            assertThrows(ExsException.class, () -> request.reply(0, List.of(), List.of(question), false)).errno());
      }
      assertEquals(0, pair.there.pendingCount());
    }
  }

  @Test
  void a_request_ends_at_its_limit() throws Exception {
    try (Pair pair = new Pair(keep)) {
      final Call call = pair.peer.request(List.of(), List.of(), RequestOptions.NONE.limit(Duration.ofMillis(100)));
      try (Request request = arrived.take()) {
        assertEquals(Duration.ofMillis(100), request.limit());
        Pair.assertErrno(ExsException.ETIMEDOUT, call.reply());
      }
    }
  }

  @Test
  void a_request_is_answered_once() throws Exception {
    try (Pair pair = new Pair(keep)) {
      final Call call = pair.peer.request(List.of(), List.of(), RequestOptions.NONE);
      final Request request = arrived.take();
      request.reply(1, List.of(), List.of(), false);
      assertEquals(ExsException.ECANCELED,
          assertThrows(ExsException.class, () -> request.reply(2, List.of(), List.of(), false)).errno());
      request.release();
      assertThrows(IllegalStateException.class, () -> request.reply(3, List.of(), List.of(), false));
      assertEquals(1, call.reply().get().status());
    }
  }

  @Test
  void a_request_that_is_released_or_whose_handler_throws_is_not_answered() throws Exception {
    final Service.Handler fail = new Service.Handler() {
      @Override
      public void request(Request request) {
        if (!request.items().isEmpty()) throw new IllegalStateException("on purpose");
        request.release();
      }
    };
    final BlockingQueue<Throwable> uncaught = new LinkedBlockingQueue<>();
    Thread.setDefaultUncaughtExceptionHandler((thread, why) -> uncaught.add(why));
    try (Pair pair = new Pair(fail)) {
      Pair.assertErrno(ExsException.ECANCELED, pair.peer.request(List.of(), List.of(), RequestOptions.NONE).reply());
      Pair.assertErrno(ExsException.ECANCELED, pair.peer.request(List.of(Pair.text("x")), List.of(), RequestOptions.NONE).reply());
      assertEquals("on purpose", uncaught.take().getMessage());
    } finally {
      Thread.setDefaultUncaughtExceptionHandler(null);
    }
  }

  @Test
  void there_is_a_most_of_requests_under_way() throws Exception {
    try (Pair pair = new Pair(keep)) {
      for (int i = 0; i < 64; ++i) pair.peer.request(List.of(), List.of(), RequestOptions.NONE);
      final ByteBuffer question = Pair.direct(1, 10);
      assertEquals(11,
          assertThrows(ExsException.class, () -> pair.peer.request(List.of(), List.of(question), RequestOptions.NONE)).errno());
      assertEquals(64, pair.here.pendingCount());
    }
  }
}
