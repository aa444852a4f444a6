// SPDX-License-Identifier: BSD-2-Clause
package exs;

import static exs.Sockets.assertErrno;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class WindowTest {
  private static final int BYTES = 100_000;
  private static final int ERANGE = 34;

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void the_peer_reads_at_offsets(String provider) throws Exception {
    final Memory memory = Memory.allocate(BYTES);
    memory.buffer().put(Bytes.array(BYTES, 1));
    try (Sockets both = new Sockets(SocketType.MESSAGES, provider);
        Window window = Window.open(both.accepted, memory, Window.Access.READ, false)) {
      final RemoteWindow remote = new RemoteWindow(both.client);
      final ByteBuffer into = Bytes.direct(BYTES);
      assertEquals(BYTES, remote.read(into, 0).length());
      assertArrayEquals(Bytes.array(BYTES, 1), Bytes.of(into, BYTES));
      memory.buffer().putInt(5000, 42);
      assertEquals(4, remote.read(into.duplicate().limit(4), 5000).length());
      assertEquals(42, into.getInt(0));
      assertErrno(ERANGE, () -> remote.read(into, 1));
      assertThrows(IllegalArgumentException.class, () -> remote.read(into, -1));
      assertEquals(BYTES, window.memory().bytes());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void the_peer_writes_at_offsets_and_is_heard_of(String provider) throws Exception {
    final Memory memory = Memory.allocate(BYTES);
    try (Sockets both = new Sockets(SocketType.MESSAGES, provider);
        Window window = Window.open(both.accepted, memory, Window.Access.WRITE, true)) {
      final RemoteWindow remote = new RemoteWindow(both.client);
      assertNull(window.await(0));
      remote.write(Bytes.direct(1000, 2), 300);
      final Window.Visit visit = window.await(-1);
      assertEquals(new Window.Visit(1, 1000, 300), visit);
      for (int i = 0; i < 1000; ++i) assertEquals(Bytes.array(1000, 2)[i], memory.buffer().get(300 + i));
      assertNull(window.await(1_000_000));
      assertErrno(ERANGE, () -> remote.write(Bytes.direct(1000), BYTES));
    }
  }

  @Test
  void a_closed_window_is_not_used_any_more() throws Exception {
    try (Sockets both = new Sockets(SocketType.MESSAGES, null)) {
      final Window window = Window.open(both.accepted, Memory.allocate(BYTES), Window.Access.READ, false);
      assertErrno(16, () -> Window.open(both.accepted, Memory.allocate(BYTES), Window.Access.READ, false));
      window.close();
      window.close();
      assertErrno(ExsException.EBADF, () -> window.await(-1));
      try (Window other = Window.open(both.accepted, Memory.allocate(BYTES), Window.Access.READ, false)) {
        window.close();  // has no effect on the other
        readOnceItIsThere(new RemoteWindow(both.client));
        both.accepted.close();
        assertThrows(ExsException.class, () -> other.await(-1));
      }
    }
    try (Sockets both = new Sockets(SocketType.STREAM, null)) {
      assertThrows(ExsException.class, () -> Window.open(both.accepted, Memory.allocate(BYTES), Window.Access.READ, false));
    }
  }

  /** A reader that has heard that a window was closed, and not yet of the next one, is told so. */
  private static void readOnceItIsThere(RemoteWindow remote) throws ExsException {
    while (true) {
      try {
        remote.read(Bytes.direct(10), 0);
        return;
      } catch (ExsException e) {
        if (e.errno() != ExsException.ECANCELED) throw e;
      }
    }
  }

  @Test
  void snapshots_show_whole_updates() throws Exception {
    final int numbers = 500;
    final int counterAt = BYTES - 8;
    final Memory memory = Memory.allocate(BYTES);
    final AtomicBoolean isOver = new AtomicBoolean();
    try (Sockets both = new Sockets(SocketType.MESSAGES, null);
        Window window = Window.open(both.accepted, memory, Window.Access.READ, false)) {
      assertThrows(IllegalArgumentException.class, () -> window.beginUpdate(4));
      assertThrows(IllegalArgumentException.class, () -> window.beginUpdate(BYTES));
      final FutureTask<Void> owner = Sockets.start(() -> {
        final ByteBuffer buffer = memory.buffer();
        for (long update = 1; !isOver.get(); ++update) {
          window.beginUpdate(counterAt);
          for (int i = 0; i < numbers; ++i) buffer.putLong(8 * i, update);
          window.endUpdate(counterAt);
          for (int i = 0; i < 20_000 && !isOver.get(); ++i) Thread.onSpinWait();
        }
        return null;
      });
      final RemoteWindow remote = new RemoteWindow(both.client);
      final Memory into = Memory.allocate(8 * numbers);
      for (int round = 0; round < 200; ++round) {
        remote.snapshot(into, 0, 8 * numbers, 0, counterAt, -1);
        final ByteBuffer seen = into.buffer();
        for (int i = 1; i < numbers; ++i) assertEquals(seen.getLong(0), seen.getLong(8 * i));
      }
      isOver.set(true);
      owner.get();
    }
  }

  @Test
  void slots_show_whole_updates_however_often_they_come() throws Exception {
    final int numbers = 500;
    final Memory memory = Memory.allocate((int) Slots.bytes(4, 8 * numbers) + 64);
    final Slots slots = Slots.in(memory, 64, 4, 8 * numbers);
    final AtomicBoolean isOver = new AtomicBoolean();
    assertThrows(IllegalArgumentException.class, () -> Slots.bytes(1, 8));
    assertThrows(IllegalArgumentException.class, () -> Slots.in(memory, 4, 4, 8));
    assertThrows(IndexOutOfBoundsException.class, () -> Slots.in(memory, 128, 4, 8 * numbers));
    try (Sockets both = new Sockets(SocketType.MESSAGES, null);
        Window window = Window.open(both.accepted, memory, Window.Access.READ, false)) {
      final RemoteWindow remote = new RemoteWindow(both.client);
      final Memory into = Memory.allocate(8 * numbers);
      assertSame(memory, window.memory());
      assertErrno(42, () -> remote.snapshotOfSlots(into, 0, 8, 0, 64, 0));
      final FutureTask<Void> owner = Sockets.start(() -> {
        for (long update = 1; !isOver.get(); ++update) {
          final ByteBuffer slot = slots.begin();
          for (int i = 0; i < numbers; ++i) slot.putLong(8 * i, update);
          slots.end();
        }
        return null;
      });
      long before = 0;
      for (int round = 0; round < 200; ++round) {
        final RemoteWindow.Snapshot told = snapshotOf(remote, into, numbers);
        final ByteBuffer seen = into.buffer();
        for (int i = 0; i < numbers; ++i) assertEquals(told.update(), seen.getLong(8 * i));
        // A slot that outlasts more updates may hold an older one than that of the round before.
        assertTrue(told.newest() >= before && told.newest() >= told.update() && told.tries() > 0);
        before = told.update();
      }
      isOver.set(true);
      owner.get();
    }
  }

  /** The owner may not have begun. */
  private static RemoteWindow.Snapshot snapshotOf(RemoteWindow remote, Memory into, int numbers) throws ExsException {
    while (true) {
      try {
        return remote.snapshotOfSlots(into, 0, 8 * numbers, 0, 64, -1);
      } catch (ExsException e) {
        if (e.errno() != 42) throw e;
      }
    }
  }
}
