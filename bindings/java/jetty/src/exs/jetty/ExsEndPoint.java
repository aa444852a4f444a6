// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import exs.ExsException;
import exs.StreamChannel;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.WritePendingException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.eclipse.jetty.io.AbstractEndPoint;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EofException;
import org.eclipse.jetty.io.WriteFlusher;
import org.eclipse.jetty.util.BufferUtil;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.log.Log;
import org.eclipse.jetty.util.log.Logger;
import org.eclipse.jetty.util.thread.Scheduler;

/**
 * A connection of exs as an end point of Jetty. Thread: any.
 *
 * <p>The peer reads content in memory of exs, above all cached content, in place: the callback of such a write is called when the content
 * has arrived. All else is copied, and its callback is called as soon as there is room for the copies, as with TCP.
 *
 * <p><b>Memory.</b> Jetty reuses the memory of a write after its callback. So the callback comes after the last event of the write in any
 * case: if the time is up or the connection closes, the channel first ends the pending operations.
 */
public final class ExsEndPoint extends AbstractEndPoint implements Write.Listener {
  /** Pieces up to this length are copied: they leave at once, and their callback need not wait for an event. */
  static final int COPIED_PIECE_BYTES_MAX = 16 << 10;

  /**
   * The linger time of a connection whose idle time is up. A live peer receives the last bytes in less time, and a dead one must not keep
   * the descriptor.
   */
  private static final int EXPIRED_LINGER_MS = 500;

  private static final Logger LOG = Log.getLogger(ExsEndPoint.class);

  private final StreamChannel channel;
  private final Completions completions;
  private final Arena arena;
  private final Executor executor;
  private final Consumer<ExsEndPoint> closed;
  private final InetSocketAddress local;
  private final InetSocketAddress remote;
  private final Inbox inbox;
  private final Outbox outbox;
  private final AtomicReference<Write> writing = new AtomicReference<>();
  private volatile boolean isExpired;

  /** `closed` is called after the connection has been notified. The channel belongs to the end point, unless this throws. */
  ExsEndPoint(Scheduler scheduler, StreamChannel channel, Completions completions, Arena arena, Executor executor,
      Consumer<ExsEndPoint> closed) throws ExsException {
    super(scheduler);
    this.channel = channel;
    this.completions = completions;
    this.arena = arena;
    this.executor = executor;
    this.closed = closed;
    local = channel.localAddress();
    remote = channel.remoteAddress();
    inbox = new Inbox(channel, arena, completions, this::tellFillable);
    outbox = new Outbox(channel, arena, completions, this::tellRoom);
  }

  @Override
  public InetSocketAddress getLocalAddress() {
    return local;
  }

  @Override
  public InetSocketAddress getRemoteAddress() {
    return remote;
  }

  @Override
  public StreamChannel getTransport() {
    return channel;
  }

  // ---------------------------------------------------------------- what arrives

  @Override
  public int fill(ByteBuffer buffer) throws IOException {
    if (isInputShutdown()) return -1;
    final int mode = BufferUtil.flipToFill(buffer);
    final int count;
    try {
      count = inbox.take(buffer);
    } finally {
      BufferUtil.flipToFlush(buffer, mode);
    }
    if (count > 0) goesOn();
    if (count < 0) shutdownInput();
    return count;
  }

  @Override
  protected void needsFillInterest() {
    if (!inbox.post()) tellFillable();
  }

  private void tellFillable() {
    completions.add(new Driver.Task(getFillInterest().getCallbackInvocationType(), getFillInterest()::fillable));
  }

  // ---------------------------------------------------------------- what leaves

  @Override
  public void write(Callback callback, ByteBuffer... buffers) {
    if (!Write.suits(buffers, COPIED_PIECE_BYTES_MAX)) {
      super.write(callback, buffers);
      return;
    }
    if (isOutputShutdown()) {
      callback.failed(new EofException("the connection is closed"));
      return;
    }
    final Write write = new Write(callback, buffers, BufferUtil.remaining(buffers), arena, this);
    if (getWriteFlusher().isPending() || !writing.compareAndSet(null, write)) throw new WritePendingException();
    try {
      write.start(channel, completions, COPIED_PIECE_BYTES_MAX);
    } catch (ExsException e) {
      write.giveBackChunks();
      ended(write, e);
    }
  }

  @Override
  public void progressed() {
    goesOn();
  }

  @Override
  public void ended(Write write, Throwable failure) {
    writing.set(null);
    completions.add(new Driver.Task(write.callbackType, () -> tell(write, failure)));
  }

  private void tell(Write write, Throwable failure) {
    try {
      if (failure != null) throw failure instanceof TimeoutException ? new IOException(failure) : new EofException(failure);
      final Connection connection = getConnection();
      if (connection instanceof WriteFlusher.Listener) ((WriteFlusher.Listener) connection).onFlushed(write.bytes);
    } catch (IOException e) {
      write.callback.failed(failure instanceof TimeoutException ? failure : e);
      return;
    }
    write.callback.succeeded();
  }

  @Override
  public boolean flush(ByteBuffer... buffers) throws IOException {
    final Throwable failure = outbox.failure();
    if (failure != null) throw new EofException(failure);
    if (isOutputShutdown()) throw new EofException("the connection is closed");
    return outbox.copy(buffers);
  }

  @Override
  protected void onIncompleteFlush() {
    if (!outbox.wantRoom()) tellRoom();
  }

  private void tellRoom() {
    goesOn();
    completions.add(new Driver.Task(getWriteFlusher().getCallbackInvocationType(), getWriteFlusher()::completeWrite));
  }

  // ---------------------------------------------------------------- ends

  private void goesOn() {
    isExpired = false;
    notIdle();
  }

  @Override
  protected void onIdleExpired(TimeoutException timeout) {
    final Write write = writing.get();
    if (write == null) {
      isExpired = true;
      super.onIdleExpired(timeout);
      return;
    }
    final Connection connection = getConnection();
    if (connection != null && !connection.onIdleExpired()) return;
    // The flusher does not know this write, and a stream that lacks bytes in its middle is useless. So the connection ends at once, even
    // if the peer is silent.
    write.blame(timeout);
    channel.abort(completions.loop());
  }

  /** Closes the end point soon: a peer that receives nothing delays nobody. */
  void close(int lingerMs) {
    setLinger(lingerMs);
    close();
  }

  private void setLinger(int lingerMs) {
    try {
      channel.setLinger(lingerMs);
    } catch (ExsException e) {
      LOG.debug(e);
    }
  }

  @Override
  protected void doShutdownOutput() {
    if (isExpired) {  // an idle peer is not waited for a second time
      close();
      return;
    }
    try {
      channel.shutdownOutput();
    } catch (ExsException e) {
      LOG.debug(e);
    }
  }

  @Override
  protected void doClose() {
    if (isExpired) setLinger(EXPIRED_LINGER_MS);
    inbox.close();
    channel.close(completions.loop()).whenComplete((nothing, failure) -> {
      if (failure != null) LOG.debug(failure);
    });
  }

  @Override
  public void onClose() {
    super.onClose();
    executor.execute(this::tellClosed);
  }

  @Override
  protected void onClose(Throwable failure) {
    super.onClose(failure);
    executor.execute(this::tellClosed);
  }

  private void tellClosed() {
    final Connection connection = getConnection();
    if (connection != null) connection.onClose();
    closed.accept(this);
  }
}
