// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import exs.ExsException;
import exs.Memory;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;

/**
 * Memory of exs in chunks of one size, for bytes that are copied on their way. Thread: any.
 *
 * <p>It never shrinks: the same amount is soon needed again, and returning memory to the system costs more than a transfer.
 */
final class Arena {
  static final int CHUNK_BYTES = 32 << 10;
  private static final int CHUNKS_AT_ONCE = 32;

  /** A part of a memory. Thread: that of its user. */
  static final class Chunk {
    final Memory memory;
    final int at;
    final ByteBuffer bytes;

    private Chunk(Memory memory, int at) {
      this.memory = memory;
      this.at = at;
      bytes = memory.buffer().slice(at, CHUNK_BYTES);
    }
  }

  private final ArrayDeque<Chunk> free = new ArrayDeque<>();
  private int inUse;

  /** Returns an empty chunk, all of whose bytes can be written. */
  synchronized Chunk take() throws ExsException {
    if (free.isEmpty()) grow();
    ++inUse;
    final Chunk chunk = free.pop();
    chunk.bytes.clear();
    return chunk;
  }

  private void grow() throws ExsException {
    final Memory memory = Memory.allocate(CHUNKS_AT_ONCE * CHUNK_BYTES);
    for (int i = 0; i < CHUNKS_AT_ONCE; ++i) free.push(new Chunk(memory, i * CHUNK_BYTES));
  }

  /** Returns a chunk that the library no longer uses. */
  synchronized void giveBack(Chunk chunk) {
    --inUse;
    free.push(chunk);
  }

  synchronized int inUse() {
    return inUse;
  }
}
