// SPDX-License-Identifier: BSD-2-Clause
package xdev.exsdev;

import java.nio.ByteBuffer;
import java.util.concurrent.ConcurrentLinkedDeque;

/**
 * Direct memory for envelopes of messages whose buffers have no room for one, or must not be written to. It is allocated in pages, which
 * are never freed.
 */
final class Envelopes {
  private static final int PAGE = 4096;
  private static final ConcurrentLinkedDeque<ByteBuffer> FREE = new ConcurrentLinkedDeque<>();

  private Envelopes() {}

  static ByteBuffer take() {
    for (;;) {
      final ByteBuffer free = FREE.poll();
      if (free != null) return free;
      final ByteBuffer page = ByteBuffer.allocateDirect(PAGE);
      for (int at = 0; at < PAGE; at += Envelope.BYTES) FREE.push(page.slice(at, Envelope.BYTES));
    }
  }

  static void give(ByteBuffer envelope) {
    FREE.push(envelope);
  }
}
