// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import exs.ExsException;
import exs.StreamChannel;
import exs.Transfer;
import java.nio.ByteBuffer;
import java.nio.channels.CompletionHandler;

/**
 * Received bytes of a connection that are not taken yet: those of one receive. The next receive is posted when more bytes are wanted.
 * Thread: any.
 */
final class Inbox implements CompletionHandler<Transfer, Void> {
  private final StreamChannel channel;
  private final Arena arena;
  private final Completions completions;
  private final Runnable tell;
  private final Arena.Chunk chunk;
  private boolean isPosted;
  private boolean isEnded;
  private boolean isClosed;

  /** `tell` runs on the driving thread when there are bytes, or their end. */
  Inbox(StreamChannel channel, Arena arena, Completions completions, Runnable tell) throws ExsException {
    this.channel = channel;
    this.arena = arena;
    this.completions = completions;
    this.tell = tell;
    chunk = arena.take();
    chunk.bytes.limit(0);
  }

  /** Moves bytes into a buffer and returns how many; -1: no more will come. */
  synchronized int take(ByteBuffer into) {
    if (isPosted || isClosed) return isClosed ? -1 : 0;
    final int count = Math.min(chunk.bytes.remaining(), into.remaining());
    if (count == 0) return isEnded && !chunk.bytes.hasRemaining() ? -1 : 0;
    into.put(chunk.bytes.slice().limit(count));
    chunk.bytes.position(chunk.bytes.position() + count);
    return count;
  }

  /** Asks for bytes. Returns false if there are some, or their end. */
  boolean post() {
    synchronized (this) {
      if (isPosted) return true;
      if (isEnded || isClosed || chunk.bytes.hasRemaining()) return false;
      isPosted = true;
    }
    channel.recv(completions.loop(), chunk.memory, chunk.at, Arena.CHUNK_BYTES, null, this);
    return true;
  }

  @Override
  public void completed(Transfer transfer, Void nothing) {
    end((int) transfer.length(), transfer.isEnd());
  }

  @Override
  public void failed(Throwable failure, Void nothing) {
    end(0, true);  // as in TCP, the end of a connection is the end of its input
  }

  private void end(int length, boolean isEnd) {
    synchronized (this) {
      isPosted = false;
      isEnded |= isEnd;
      chunk.bytes.position(0).limit(length);
      if (isClosed) {
        arena.giveBack(chunk);
        return;
      }
    }
    tell.run();
  }

  /** Called when the channel closes, which ends the posted receive. */
  synchronized void close() {
    if (isClosed) return;
    isClosed = true;
    if (!isPosted) arena.giveBack(chunk);
  }
}
