// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import exs.ExsException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.io.EofException;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.Invocable;

/**
 * One send of Jetty as parts of a reply. The peer reads content in a direct buffer in place, and the callback is called when that is
 * done. Heap content is sent from copies, and as much of it as a short message holds goes within the message.
 *
 * <p>FORMAT of a part: its number of 4 bytes, big-endian; the head, which in a part 0 without one is its first long item; and short
 * content. The other long items are content. Thread: any, one after the other.
 */
final class ServiceReply {
  private static final int EAGAIN = 11;
  private static final long AGAIN_MS = 1;

  /** Limit of all short items of a part; longer content is long. */
  private static final int SHORT_BYTES = 4000 - Integer.BYTES;
  private static final int SHORT_CONTENT_BYTES = 2048;
  private static final int LONGS_MAX = 15;

  private final ServiceExchange exchange;
  private final ByteBuffer content;
  private final boolean isLast;
  private final Callback callback;
  private final List<Arena.Chunk> chunks = new ArrayList<>();

  ServiceReply(ServiceExchange exchange, ByteBuffer content, boolean isLast, Callback callback) {
    this.exchange = exchange;
    this.content = content;
    this.isLast = isLast;
    this.callback = callback;
  }

  /** Sends the next part, with the head if it is the first of all. */
  void send(ByteBuffer head) {
    final ByteBuffer left = content.duplicate();
    final List<ByteBuffer> items = new ArrayList<>(3);
    final List<ByteBuffer> longs = new ArrayList<>();
    boolean isStarted = false;
    try {
      items.add(ByteBuffer.allocate(Integer.BYTES).putInt(exchange.nextPart()).flip());
      final boolean isLongHead = head != null && head.remaining() > SHORT_BYTES;
      items.add(Heads.orEmpty(isLongHead ? null : head));
      if (isLongHead) longs.add(ByteBuffer.allocateDirect(head.remaining()).put(head.duplicate()).flip());
      if (left.remaining() <= Math.min(SHORT_CONTENT_BYTES, SHORT_BYTES - items.get(1).remaining())) {
        items.add(left.slice());
        left.position(left.limit());
      } else {
        addContent(left, longs);
      }
      final boolean hasMore = !isLast || left.hasRemaining();
      final CompletableFuture<Void> sent = exchange.request().reply(exchange.status(), items, longs, hasMore);
      isStarted = true;
      exchange.countPart();
      sent.whenComplete((nothing, why) -> sent(left, why));
    } catch (ExsException e) {
      refused(head, e);
    } catch (IllegalStateException e) {
      fail(e);  // the reply was aborted meanwhile
    } finally {
      if (!isStarted) giveBackChunks();
    }
  }

  private void addContent(ByteBuffer left, List<ByteBuffer> longs) throws ExsException {
    if (left.isDirect()) {
      longs.add(left.slice());
      left.position(left.limit());
      return;
    }
    while (left.hasRemaining() && longs.size() < LONGS_MAX) {
      final Arena.Chunk chunk = exchange.connector().arena().take();
      chunks.add(chunk);
      final int bytes = Math.min(left.remaining(), Arena.CHUNK_BYTES);
      longs.add(chunk.bytes.put(left.slice(left.position(), bytes)).flip());
      left.position(left.position() + bytes);
    }
  }

  private void refused(ByteBuffer head, ExsException why) {
    if (why.errno() != EAGAIN) {
      fail(why);
      return;
    }
    // Other requests of the same peer use all the parts that it may have pending, so this one tries again.
    final ServiceConnector connector = exchange.connector();
    connector.getScheduler().schedule(() -> connector.getExecutor().execute(() -> send(head)), AGAIN_MS, TimeUnit.MILLISECONDS);
  }

  private void sent(ByteBuffer left, Throwable why) {
    giveBackChunks();
    if (why != null) {
      fail(why);
      return;
    }
    content.position(left.position());
    if (left.hasRemaining()) {
      send(null);
    } else {
      complete(callback::succeeded);
    }
  }

  private void fail(Throwable why) {
    complete(() -> callback.failed(new EofException(why)));
  }

  /** The thread that reports ends of parts must not block; Jetty's threads may. */
  private void complete(Runnable end) {
    final Invocable.InvocationType type = callback.getInvocationType();
    final Driver driver = exchange.connector().driver();
    if (type != Invocable.InvocationType.NON_BLOCKING && driver.isHere()) {
      driver.add(new Driver.Task(type, end));
    } else {
      end.run();
    }
  }

  private void giveBackChunks() {
    for (final Arena.Chunk chunk : chunks) exchange.connector().arena().giveBack(chunk);
    chunks.clear();
  }
}
