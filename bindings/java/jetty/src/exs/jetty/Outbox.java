// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import exs.ExsException;
import exs.StreamChannel;
import exs.Transfer;
import java.nio.ByteBuffer;
import java.nio.channels.CompletionHandler;

/** The copies that a connection sends: some chunks at a time, like a socket's buffer. Thread: any; one at a time in {@link #copy}. */
final class Outbox implements CompletionHandler<Transfer, Arena.Chunk> {
  /** Limit of chunks that are being sent. */
  private static final int CHUNKS_MAX = 4;

  private final StreamChannel channel;
  private final Arena arena;
  private final Completions completions;
  private final Runnable hasRoom;
  private int underWay;
  private boolean isRoomWanted;
  private Throwable failure;

  /** `hasRoom` runs on the driving thread when there is room again after wantRoom(). */
  Outbox(StreamChannel channel, Arena arena, Completions completions, Runnable hasRoom) {
    this.channel = channel;
    this.arena = arena;
    this.completions = completions;
    this.hasRoom = hasRoom;
  }

  /** Sends copies of the buffers as far as there is room. Returns false if they are not empty yet. */
  boolean copy(ByteBuffer[] buffers) throws ExsException {
    int next = 0;
    while (true) {
      while (next < buffers.length && !buffers[next].hasRemaining()) ++next;
      if (next == buffers.length) return true;
      if (!begin()) return false;
      final Arena.Chunk chunk = takeChunk();
      for (int i = next; i < buffers.length && chunk.bytes.hasRemaining(); ++i) fill(chunk.bytes, buffers[i]);
      chunk.bytes.flip();
      channel.send(completions.loop(), new ByteBuffer[] {chunk.bytes}, chunk, this);
    }
  }

  private synchronized boolean begin() {
    if (underWay == CHUNKS_MAX) return false;
    ++underWay;
    return true;
  }

  private Arena.Chunk takeChunk() throws ExsException {
    Arena.Chunk chunk = null;
    try {
      chunk = arena.take();
      return chunk;
    } finally {
      if (chunk == null) end(null);
    }
  }

  static void fill(ByteBuffer into, ByteBuffer from) {
    final int count = Math.min(into.remaining(), from.remaining());
    into.put(from.slice().limit(count));
    from.position(from.position() + count);
  }

  @Override
  public void completed(Transfer transfer, Arena.Chunk chunk) {
    arena.giveBack(chunk);
    end(null);
  }

  @Override
  public void failed(Throwable why, Arena.Chunk chunk) {
    arena.giveBack(chunk);
    end(why);
  }

  private void end(Throwable why) {
    synchronized (this) {
      --underWay;
      if (why != null && failure == null) failure = why;
      if (!isRoomWanted) return;
      isRoomWanted = false;
    }
    hasRoom.run();
  }

  /** Returns false if there is room; otherwise `hasRoom` will run. */
  synchronized boolean wantRoom() {
    if (underWay < CHUNKS_MAX) return false;
    isRoomWanted = true;
    return true;
  }

  /** Returns why a send has failed, or null if no failure is known. */
  synchronized Throwable failure() {
    return failure;
  }
}
