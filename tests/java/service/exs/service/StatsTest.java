// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import exs.ExsException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class StatsTest {
  private static final int EACCES = 13;
  private static final int EAGAIN = 11;
  private static final int ENOENT = 2;
  private static final int WINDOW_BYTES = 1 << 16;

  private final BlockingQueue<Message> arrived = new LinkedBlockingQueue<>();
  private final Service.Handler keep = new Service.Handler() {
    @Override
    public void message(Message message) {
      arrived.add(message);
    }

    @Override
    public void request(Request request) {
      arrived.add(request);
    }
  };

  /** All but the time. */
  private static ServiceStats counts(ServiceStats stats) {
    return new ServiceStats(Duration.ZERO, stats.messages(), stats.replies(), stats.mailbox(), stats.requestsOpen(), stats.flows(),
        stats.windowsFree());
  }

  @Test
  void a_service_says_how_busy_it_is() throws Exception {
    try (Pair pair = new Pair(keep, builder -> builder.windows(2, WINDOW_BYTES))) {
      final ServiceStats idle = pair.peer.stats().get();
      assertEquals(new ServiceStats(Duration.ZERO, 0, 0, 0, 0, 1, 2), counts(idle));
      pair.peer.sendLong(List.of(), List.of(Pair.direct(1, WINDOW_BYTES))).get();
      final CompletableFuture<Reply> reply = pair.peer.request(List.of(), List.of(), RequestOptions.NONE).reply();
      final Message message = arrived.take();
      final Request request = (Request) arrived.take();
      final ServiceStats busy = pair.peer.stats().get();
      assertEquals(new ServiceStats(Duration.ZERO, 2, 0, 2, 1, 1, 1), counts(busy));
      assertTrue(busy.open().compareTo(idle.open()) > 0);
      request.reply(0, List.of(), List.of(), false);
      reply.get().release();
      request.release();
      message.release();
      assertEquals(new ServiceStats(Duration.ZERO, 2, 1, 0, 0, 1, 2), counts(pair.peer.stats().get()));
    }
  }

  @Test
  void who_may_not_ask_is_refused() throws Exception {
    try (Pair pair = new Pair(keep)) {
      final Capability other = Capability.make(pair.key, EnumSet.of(Right.SEND, Right.REQUEST), 0, null);
      Pair.assertErrno(EACCES, pair.here.peer(pair.service.id()).capability(other).open().stats());
      final Capability right = Capability.make(pair.key, EnumSet.of(Right.STATS), 0, null);
      assertEquals(0, pair.here.peer(pair.service.id()).capability(right).open().stats().get().messages());
    }
  }

  @Test
  void one_question_is_under_way_at_a_time() throws Exception {
    final ServiceNode here = ServiceNode.builder().openWithoutThread();  // nothing is heard until it is driven
    try (Pair pair = new Pair(keep)) {
      final Peer peer = here.peer(pair.service.id()).open();
      final CompletableFuture<ServiceStats> stats = peer.stats();
      final CompletableFuture<Duration> ping = peer.ping();
      assertEquals(EAGAIN, assertThrows(ExsException.class, peer::stats).errno());
      while (!stats.isDone() || !ping.isDone()) here.complete();
      assertEquals(1, stats.get().flows());
      assertFalse(ping.get().isNegative());
      final CompletableFuture<ServiceStats> late = peer.stats();
      peer.close();
      Pair.assertErrno(ExsException.ECANCELED, late);
      assertEquals(ExsException.EBADF, assertThrows(ExsException.class, peer::stats).errno());
      // Its answer may come all the same, and is nobody's.
      final Peer next = here.peer(pair.service.id()).open();
      final CompletableFuture<ServiceStats> again = next.stats();
      while (!again.isDone()) here.complete();
      assertEquals(0, again.get().messages());
    } finally {
      here.close();
      while (here.complete()) continue;
    }
  }

  @Test
  void a_service_that_nobody_is_says_nothing() throws Exception {
    try (ServiceNode node = ServiceNode.builder().findFor(Duration.ofMillis(50)).open(); ServiceKey key = ServiceKey.create()) {
      final Peer peer = node.peer(key.id()).open();
      for (int i = 0; i < 2; ++i) Pair.assertErrno(ENOENT, peer.stats());
    }
  }
}
