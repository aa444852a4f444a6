package exs.jetty;

import exs.ExsException;
import exs.StreamChannel;
import exs.Transfer;
import java.nio.ByteBuffer;
import java.nio.channels.CompletionHandler;

/**
 * What a connection has received and nobody has taken yet: the bytes of one receive, which is posted when somebody wants more. Thread:
 * any.
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

  /** `tell` runs in the thread that drives when there are bytes, or their end. */
  Inbox(StreamChannel channel, Arena arena, Completions completions, Runnable tell) throws ExsException {
    this.channel = channel;
    this.arena = arena;
    this.completions = completions;
    this.tell = tell;
    chunk = arena.take();
    chunk.bytes.limit(0);
  }

  /** How many bytes it has put into a buffer; -1: there will be none any more. */
  synchronized int take(ByteBuffer into) {
    if (isPosted || isClosed) return isClosed ? -1 : 0;
    final int count = Math.min(chunk.bytes.remaining(), into.remaining());
    if (count == 0) return isEnded && !chunk.bytes.hasRemaining() ? -1 : 0;
    into.put(chunk.bytes.slice().limit(count));
    chunk.bytes.position(chunk.bytes.position() + count);
    return count;
  }

  /** Calls for bytes: false if there are some, or their end. */
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
    end(0, true);  // as TCP does: what ends a connection is the end of what it receives
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

  /** The channel closes, which ends the receive that is posted. */
  synchronized void close() {
    if (isClosed) return;
    isClosed = true;
    if (!isPosted) arena.giveBack(chunk);
  }
}
