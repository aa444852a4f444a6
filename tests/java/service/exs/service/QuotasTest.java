// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import exs.ExsException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One principal does not take what all may have. */
@Timeout(60)
class QuotasTest {
  private static final int ENOBUFS = 105;
  private static final int EACH_BYTES = 1 << 20;

  private final BlockingQueue<Message> arrived = new LinkedBlockingQueue<>();
  private final Service.Handler keep = new Service.Handler() {
    @Override
    public void message(Message message) {
      arrived.add(message);
    }
  };

  /** Somebody else, by a capability of his own. */
  private static Peer other(Pair pair) throws ExsException {
    return pair.here.peer(pair.service.id()).capability(Capability.make(pair.key, EnumSet.allOf(Right.class), 1, null)).open();
  }

  private static void send(Peer peer, int bytes) throws Exception {
    peer.sendLong(List.of(), List.of(Pair.direct(1, bytes))).get();
  }

  private static void assertNoRoom(Peer peer, int bytes) throws Exception {
    Pair.assertErrno(ENOBUFS, peer.sendLong(List.of(), List.of(Pair.direct(1, bytes))));
  }

  @Test
  void of_a_mailbox() throws Exception {
    try (Pair pair = new Pair(keep, builder -> builder.mailbox(3, 2))) {
      for (int i = 0; i < 2; ++i) send(pair.peer, 10);
      assertNoRoom(pair.peer, 10);
      send(other(pair), 10);
      arrived.take().release();
      send(pair.peer, 10);
      for (int i = 0; i < 3; ++i) arrived.take().release();
    }
  }

  @Test
  void of_memory() throws Exception {
    try (Pair pair = new Pair(keep, builder -> builder.memory(2 * EACH_BYTES, EACH_BYTES))) {
      assertNoRoom(pair.peer, EACH_BYTES + 1);
      send(pair.peer, EACH_BYTES);
      assertNoRoom(pair.peer, 1);
      send(other(pair), EACH_BYTES);
      for (int i = 0; i < 2; ++i) arrived.take().release();
    }
  }

  @Test
  void of_all_that_is_not_divided() throws Exception {
    try (Pair pair = new Pair(keep, builder -> builder.mailbox(2).memory(EACH_BYTES))) {
      send(pair.peer, EACH_BYTES);
      assertNoRoom(other(pair), 1);
      arrived.take().release();
      for (int i = 0; i < 2; ++i) send(pair.peer, EACH_BYTES / 2);
      assertNoRoom(other(pair), 1);
      for (int i = 0; i < 2; ++i) assertEquals(1, takeAndRelease());
    }
  }

  @Test
  void of_links() throws Exception {
    try (ServiceKey key = ServiceKey.create(); ServiceNode there = ServiceNode.builder().limits(10, 64).linksOfOneHost(1).open();
         ServiceNode second = ServiceNode.builder().findFor(Duration.ofMillis(100)).open()) {
      final ServiceId id = there.service(key, keep).open().id();
      final Peer peer = second.peer(id).open();
      try (ServiceNode first = ServiceNode.open()) {
        first.peer(id).open().ping().get();
        assertThrows(ExecutionException.class, () -> peer.ping().get());
      }
      while (!isAnswered(peer)) continue;
    }
  }

  private static boolean isAnswered(Peer peer) throws Exception {
    try {
      peer.ping().get();
      return true;
    } catch (ExecutionException e) {
      return false;
    }
  }

  private int takeAndRelease() throws InterruptedException {
    try (Message message = arrived.take()) {
      return message.longItems();
    }
  }
}
