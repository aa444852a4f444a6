// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import exs.ExsException;
import exs.Memory;
import exs.StreamChannel;
import exs.Transfer;
import java.nio.ByteBuffer;
import java.nio.channels.CompletionHandler;
import java.util.ArrayList;
import java.util.List;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.Invocable;

/**
 * A write whose buffers in memory of exs the peer reads in place; the rest is sent from copies. Thread: any.
 *
 * <p>It is sent in parts. Each part that arrives shows that the peer is not idle. The write has ended when all parts have; until then the
 * peer may read.
 */
final class Write implements CompletionHandler<Transfer, Void> {
  private static final int PART_BYTES = 4 << 20;
  private static final int PARTS_MAX = 16;
  private static final int PIECES_MAX = 1024;
  private static final int COPIED_BYTES_MAX = 2 * Arena.CHUNK_BYTES;

  /** The events of a write. */
  interface Listener {
    /** A part has arrived. */
    void progressed();

    /** The memory is free again; a null failure means that all has arrived. Runs on the driving thread. */
    void ended(Write write, Throwable failure);
  }

  final Callback callback;
  /** The callback's type before the write begins: if the response is given up meanwhile, Jetty's callback cannot report it any more. */
  final Invocable.InvocationType callbackType;
  final long bytes;
  private final ByteBuffer[] buffers;
  private final Arena arena;
  private final Listener listener;
  private final List<Arena.Chunk> chunks = new ArrayList<>();
  private int partsLeft;
  private Throwable failure;

  Write(Callback callback, ByteBuffer[] buffers, long bytes, Arena arena, Listener listener) {
    this.callback = callback;
    callbackType = callback.getInvocationType();
    this.buffers = buffers;
    this.bytes = bytes;
    this.arena = arena;
    this.listener = listener;
  }

  /** Returns whether a piece of more than `copiedMax` bytes is memory of exs, and the rest is small enough to be copied at once. */
  static boolean suits(ByteBuffer[] buffers, int copiedMax) {
    long held = 0;
    long copied = 0;
    for (final ByteBuffer buffer : buffers) {
      // This order avoids the search for the memory of most buffers.
      if (buffer.remaining() > copiedMax && Memory.holds(buffer)) {
        held += buffer.remaining();
      } else {
        copied += buffer.remaining();
      }
    }
    return held > 0 && copied <= COPIED_BYTES_MAX && buffers.length <= PIECES_MAX / 2;
  }

  /** Starts the write; `copiedMax` as in suits(). */
  void start(StreamChannel channel, Completions completions, int copiedMax) throws ExsException {
    final List<ByteBuffer[]> parts = partsOf(piecesOf(copiedMax));
    partsLeft = parts.size();
    for (final ByteBuffer[] part : parts) channel.send(completions.loop(), part, null, this);
  }

  private List<ByteBuffer> piecesOf(int copiedMax) throws ExsException {
    final List<ByteBuffer> pieces = new ArrayList<>(buffers.length + 1);
    ByteBuffer copies = null;
    int from = 0;
    for (final ByteBuffer buffer : buffers) {
      if (buffer.remaining() > copiedMax && Memory.holds(buffer)) {
        if (copies != null) pieces.add(copies.duplicate().flip().position(from));
        if (copies != null) from = copies.position();
        pieces.add(buffer.duplicate());
        continue;
      }
      final ByteBuffer rest = buffer.duplicate();
      while (rest.hasRemaining()) {
        if (copies == null || !copies.hasRemaining()) {
          if (copies != null) pieces.add(copies.duplicate().flip().position(from));
          chunks.add(arena.take());
          copies = chunks.get(chunks.size() - 1).bytes;
          from = 0;
        }
        Outbox.fill(copies, rest);
      }
    }
    if (copies != null) pieces.add(copies.duplicate().flip().position(from));
    pieces.removeIf(piece -> !piece.hasRemaining());
    return pieces;
  }

  private List<ByteBuffer[]> partsOf(List<ByteBuffer> pieces) {
    final long partBytes = Math.max(PART_BYTES, (bytes + PARTS_MAX - 1) / PARTS_MAX);
    final List<ByteBuffer[]> parts = new ArrayList<>();
    final List<ByteBuffer> part = new ArrayList<>();
    long room = partBytes;
    for (final ByteBuffer piece : pieces) {
      while (piece.hasRemaining()) {
        final int count = (int) Math.min(room, piece.remaining());
        part.add(piece.slice().limit(count));
        piece.position(piece.position() + count);
        room -= count;
        if (room > 0) continue;
        parts.add(part.toArray(new ByteBuffer[0]));
        part.clear();
        room = partBytes;
      }
    }
    if (!part.isEmpty()) parts.add(part.toArray(new ByteBuffer[0]));
    return parts;
  }

  @Override
  public void completed(Transfer transfer, Void nothing) {
    listener.progressed();
    endPart(null);
  }

  @Override
  public void failed(Throwable why, Void nothing) {
    endPart(why);
  }

  /** Records the reason before an action makes the write fail. */
  synchronized void blame(Throwable why) {
    if (failure == null) failure = why;
  }

  private void endPart(Throwable why) {
    final Throwable end;
    synchronized (this) {
      if (why != null && failure == null) failure = why;
      if (--partsLeft > 0) return;
      end = failure;
    }
    giveBackChunks();
    if (end == null) {
      for (final ByteBuffer buffer : buffers) buffer.position(buffer.limit());
    }
    listener.ended(this, end);
  }

  /** Call this when the write has ended, or was not started. */
  void giveBackChunks() {
    for (final Arena.Chunk chunk : chunks) arena.giveBack(chunk);
    chunks.clear();
  }
}
