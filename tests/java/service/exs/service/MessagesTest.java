// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import exs.ExsException;
import exs.Memory;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class MessagesTest {
  private static final int EACCES = 13;
  private static final int ENOBUFS = 105;
  private static final int LONG_BYTES = 3 << 20;

  private final BlockingQueue<Message> arrived = new LinkedBlockingQueue<>();
  private final Service.Handler keep = new Service.Handler() {
    @Override
    public void message(Message message) {
      arrived.add(message);
    }
  };

  @Test
  void short_ones_arrive_in_order() throws Exception {
    try (Pair pair = new Pair(keep)) {
      for (int i = 0; i < 200; ++i) sendWhenThereIsRoom(pair.peer, Pair.text("message " + i), ByteBuffer.allocate(0));
      for (int i = 0; i < 200; ++i) {
        try (Message message = arrived.take()) {
          assertEquals("message " + i, Pair.text(message.items().get(0)));
          assertEquals(0, message.items().get(1).remaining());
          assertEquals(0, message.longItems());
          assertNull(message.from());
        }
      }
    }
  }

  private static void sendWhenThereIsRoom(Peer peer, ByteBuffer... items) throws Exception {
    while (true) {
      try {
        peer.sendShort(items);
        return;
      } catch (ExsException e) {
        if (e.errno() != 11) throw e;
        peer.ping().get();
      }
    }
  }

  @Test
  void the_sender_is_proven() throws Exception {
    try (Pair pair = new Pair(keep); ServiceKey key = ServiceKey.create()) {
      final Service own = pair.here.service(key, keep).open();
      pair.here.peer(pair.service.id()).from(own).open().sendShort(Pair.text("signed"));
      try (Message message = arrived.take()) {
        assertEquals(own.id(), message.from());
      }
      assertThrows(IllegalArgumentException.class, () -> pair.there.peer(own.id()).from(own));
    }
  }

  @Test
  void long_items_arrive_from_any_direct_memory_in_windows_and_beside_them() throws Exception {
    try (Pair pair = new Pair(keep, builder -> builder.windows(1, LONG_BYTES))) {
      final ByteBuffer held = Pair.held(1, LONG_BYTES);
      final ByteBuffer direct = Pair.direct(2, LONG_BYTES);
      final CompletableFuture<Void> sent = pair.peer.sendLong(List.of(Pair.text("two")), List.of(held, direct));
      try (Message message = arrived.take()) {
        sent.get();
        assertEquals("two", Pair.text(message.items().get(0)));
        assertEquals(2, message.longItems());
        assertEquals(held, message.longItem(0));
        assertEquals(direct, message.longItem(1));
        // One is in the window, the other in memory of the library, which is not shown.
        assertTrue(Memory.holds(message.longItem(0)) != Memory.holds(message.longItem(1)));
      }
      pair.peer.sendLong(List.of(), List.of(direct.slice(5, 10))).get();
      try (Message message = arrived.take()) {
        assertTrue(Memory.holds(message.longItem(0)));
        assertEquals(direct.slice(5, 10), message.longItem(0));
      }
    }
  }

  @Test
  void what_is_asked_of_a_released_message_fails() throws Exception {
    try (Pair pair = new Pair(keep, builder -> builder.windows(1, 1 << 16))) {
      pair.peer.sendLong(List.of(Pair.text("short")), List.of(Pair.direct(3, 1 << 16))).get();
      final Message message = arrived.take();
      final ByteBuffer view = message.longItem(0);
      message.release();
      message.release();
      assertThrows(IllegalStateException.class, () -> message.longItem(0));
      assertEquals("short", Pair.text(message.items().get(0)));
      pair.peer.sendLong(List.of(), List.of(Pair.direct(4, 1 << 16))).get();
      arrived.take().release();
      assertEquals(Pair.direct(4, 1 << 16), view);  // the window's next message
    }
  }

  @Test
  void a_message_outlives_its_node() throws Exception {
    final ByteBuffer sent = Pair.direct(5, 1 << 20);
    final Message message;
    final ByteBuffer early;
    try (Pair pair = new Pair(keep, builder -> builder.windows(1, 1000))) {
      pair.peer.sendLong(List.of(), List.of(sent, sent.slice(0, 1000))).get();
      message = arrived.take();
      early = message.longItem(1);
    }
    assertEquals(sent, message.longItem(0));
    assertEquals(sent.slice(0, 1000), early);
    message.release();
    assertEquals(sent.slice(0, 1000), early);
  }

  @Test
  void limits_are_told_and_nothing_is_sent() throws Exception {
    try (Pair pair = new Pair(keep)) {
      final ByteBuffer one = ByteBuffer.allocate(1);
      final ByteBuffer direct = ByteBuffer.allocateDirect(1);
      assertEmsgsize(() -> pair.peer.sendShort(Collections.nCopies(17, one).toArray(new ByteBuffer[0])));
      assertEmsgsize(() -> pair.peer.sendShort(ByteBuffer.allocate(4001)));
      assertEmsgsize(() -> pair.peer.sendLong(List.of(), Collections.nCopies(17, direct)));
      assertThrows(IllegalArgumentException.class, () -> pair.peer.sendLong(List.of(), List.of(one)));
      assertThrows(ExsException.class, () -> pair.peer.sendLong(List.of(), List.of()));
      assertThrows(IllegalArgumentException.class, () -> pair.service.addWindow(one));
      assertThrows(IllegalArgumentException.class, () -> pair.service.addWindow(direct.asReadOnlyBuffer()));
      assertEquals(0, pair.here.pendingCount());
      pair.peer.sendShort(ByteBuffer.allocate(4000));
      try (Message message = arrived.take()) {
        assertEquals(4000, message.items().get(0).remaining());
      }
    }
  }

  private interface Body {
    void run() throws Exception;
  }

  private static void assertEmsgsize(Body body) {
    assertEquals(ExsException.EMSGSIZE, assertThrows(ExsException.class, body::run).errno());
  }

  @Test
  void a_full_mailbox_is_told() throws Exception {
    final BlockingQueue<ExsException> dropped = new LinkedBlockingQueue<>();
    final Peer.Listener listener = new Peer.Listener() {
      @Override
      public void dropped(long count, ExsException why) {
        dropped.add(why);
      }
    };
    try (Pair pair = new Pair(keep, builder -> builder.mailbox(2))) {
      final Peer peer = pair.here.peer(pair.service.id()).listener(listener).open();
      for (int i = 0; i < 3; ++i) peer.sendShort(Pair.text("more"));
      assertEquals(ENOBUFS, dropped.take().errno());
      Pair.assertErrno(ENOBUFS, peer.sendLong(List.of(), List.of(Pair.direct(1, 100))));
      for (int i = 0; i < 2; ++i) arrived.take().release();
      peer.sendLong(List.of(), List.of(Pair.direct(1, 100))).get();
      arrived.take().release();
    }
  }

  @Test
  void who_has_no_right_is_refused() throws Exception {
    try (Pair pair = new Pair(Pair.ECHO, builder -> builder.onlyWithCapability(2))) {
      Pair.assertErrno(EACCES, pair.peer.ping());
      final Peer old = pair.here.peer(pair.service.id()).capability(Capability.make(pair.key, EnumSet.allOf(Right.class), 1, null)).open();
      Pair.assertErrno(EACCES, old.ping());
      final Peer some = pair.here.peer(pair.service.id()).capability(Capability.make(pair.key, EnumSet.of(Right.STATS), 2, null)).open();
      assertFalse(some.ping().get().isNegative());
      Pair.assertErrno(EACCES, some.request(List.of(), List.of(), RequestOptions.NONE).reply());
    }
  }

  @Test
  void a_service_that_nobody_is_cannot_be_reached() throws Exception {
    final BlockingQueue<Long> lost = new LinkedBlockingQueue<>();
    final Peer.Listener listener = new Peer.Listener() {
      @Override
      public void lost(long count, ExsException why) {
        lost.add(count);
      }
    };
    try (ServiceNode node = ServiceNode.builder().findFor(Duration.ofMillis(50)).open()) {
      final Peer peer = node.peer(ServiceKey.create().id()).listener(listener).open();
      peer.sendShort(Pair.text("to nobody"));
      assertEquals(1, lost.take());
      final CompletableFuture<Duration> ping = peer.ping();
      assertEquals(11, assertThrows(ExsException.class, peer::ping).errno());
      Pair.assertErrno(2, ping);
      Pair.assertErrno(2, peer.sendLong(List.of(), List.of(Pair.direct(1, 10))));
    }
  }

  @Test
  void one_process_at_a_time_is_a_service() throws Exception {
    try (Pair pair = new Pair(keep)) {
      assertEquals(98, assertThrows(ExsException.class, () -> pair.here.service(pair.key, keep).open()).errno());
    }
  }
}
