// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.nio.ByteBuffer;

/** An exs_event_t, which has 64 bytes. */
record Event(int type, int errno, int socket, int flags, long handle, int newSocket, long length, long offset, int count) {
  static final int BYTES = 64;
  static final int PEER_READ = 64;
  static final int PEER_WRITE = 65;

  private static final int MORE = 0x80;

  static Event at(ByteBuffer memory, int at) {
    return new Event(memory.getInt(at), memory.getInt(at + 4), memory.getInt(at + 8), memory.getInt(at + 12), memory.getLong(at + 16),
        memory.getInt(at + 32), memory.getLong(at + 40), memory.getLong(at + 48), memory.getInt(at + 60));
  }

  /** Returns whether the operation continues. */
  boolean isOneOfMany() {
    return (flags & MORE) != 0 || type == PEER_READ || type == PEER_WRITE;
  }
}
