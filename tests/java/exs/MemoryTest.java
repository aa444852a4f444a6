// SPDX-License-Identifier: BSD-2-Clause
package exs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class MemoryTest {
  private static final int MANY_BYTES = 1 << 24;

  @Test
  void a_buffer_is_known_to_lie_in_such_memory() throws Exception {
    final Memory memory = Memory.allocate(100);
    assertTrue(Memory.holds(memory.buffer()));
    assertTrue(Memory.holds(memory.buffer().slice(99, 1).asReadOnlyBuffer()));
    assertFalse(Memory.holds(Bytes.direct(100)));
    assertFalse(Memory.holds(ByteBuffer.allocate(100)));
  }

  @Test
  void it_is_zeroed_and_in_the_order_of_the_machine() throws ExsException {
    final Memory memory = Memory.allocate(10_000);
    final ByteBuffer buffer = memory.buffer();
    assertEquals(10_000, memory.bytes());
    assertEquals(10_000, buffer.remaining());
    assertEquals(ByteOrder.nativeOrder(), buffer.order());
    assertTrue(buffer.isDirect());
    while (buffer.hasRemaining()) assertEquals(0, buffer.get());
  }

  @Test
  void views_of_it_are_independent_and_show_the_same_bytes() throws ExsException {
    final Memory memory = Memory.allocate(100);
    final ByteBuffer first = memory.buffer().position(50).putInt(42);
    final ByteBuffer second = memory.buffer();
    assertEquals(54, first.position());
    assertEquals(0, second.position());
    assertEquals(42, second.getInt(50));
  }

  @Test
  void none_is_refused() {
    assertThrows(IllegalArgumentException.class, () -> Memory.allocate(0));
    assertThrows(IllegalArgumentException.class, () -> Memory.allocate(-1));
  }

  @Test
  void a_part_of_a_view_keeps_it() throws ExsException {
    final ByteBuffer part = Memory.allocate(MANY_BYTES).buffer().slice(MANY_BYTES / 2, 100).slice(10, 20);
    part.putInt(0, 7);
    for (int i = 0; i < 5; ++i) Tests.collectOnce();
    assertEquals(7, part.getInt(0));
  }

  @Test
  void what_nobody_can_reach_is_freed() throws Exception {
    final int rounds = 40;
    long most = 0;
    for (int i = 0; i < rounds; ++i) {
      Memory.allocate(MANY_BYTES).buffer().putLong(0, i);
      Tests.collectOnce();
      most = Math.max(most, mappings());
    }
    assertTrue(most < rounds / 2, "there were " + most + " mappings of " + rounds);
  }

  /** Those as large as MANY_BYTES. */
  private static long mappings() throws Exception {
    return Files.readAllLines(Path.of("/proc/self/maps")).stream().filter(line -> line.contains("memfd:")).map(line -> line.split("[- ]"))
        .filter(words -> Long.parseLong(words[1], 16) - Long.parseLong(words[0], 16) >= MANY_BYTES).count();
  }
}
