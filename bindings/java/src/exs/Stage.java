// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.util.ArrayDeque;

/** Memory that arrays pass through: a power of two bytes. Returned ones wait for the next of their size, up to a limit for each size. */
final class Stage {
  /** Each thread keeps one of this size. */
  static final int SMALL_BYTES = 1 << 16;

  private static final int SIZES = 31;
  private static final int IDLE_BYTES_MAX = 1 << 26;
  private static final int IDLE_MAX = 64;
  private static final int LARGEST_BYTES = 1 << 30;

  private static final Object LOCK = new Object();
  private static final ArrayDeque<Stage>[] IDLE = idle();

  private final Memory memory;

  private Stage(Memory memory) {
    this.memory = memory;
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static ArrayDeque<Stage>[] idle() {
    final ArrayDeque[] all = new ArrayDeque[SIZES];
    for (int i = 0; i < SIZES; ++i) all[i] = new ArrayDeque<Stage>();
    return all;
  }

  private static int indexOf(long bytes) {
    return bytes <= SMALL_BYTES ? Integer.numberOfTrailingZeros(SMALL_BYTES) : 64 - Long.numberOfLeadingZeros(bytes - 1);
  }

  static Stage take(long bytes) {
    if (bytes > LARGEST_BYTES) throw new IllegalArgumentException("an array of " + bytes + " bytes; use buffers for more than 1 GiB");
    final int index = indexOf(bytes);
    synchronized (LOCK) {
      final Stage idle = IDLE[index].pollFirst();
      if (idle != null) return idle;
    }
    try {
      return new Stage(Memory.allocate(1 << index));
    } catch (ExsException e) {
      final OutOfMemoryError error = new OutOfMemoryError(e.getMessage());
      error.initCause(e);
      throw error;
    }
  }

  void giveBack() {
    final int index = indexOf(bytes());
    synchronized (LOCK) {
      if (IDLE[index].size() < Math.max(1, Math.min(IDLE_MAX, IDLE_BYTES_MAX / bytes()))) IDLE[index].addFirst(this);
    }
  }

  long address() {
    return memory.address();
  }

  int bytes() {
    return memory.bytes();
  }
}
