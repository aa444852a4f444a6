// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.nio.channels.CompletionHandler;
import java.util.concurrent.CompletableFuture;

/**
 * A connection to a peer of exs: of bytes, or of messages ({@link SocketType}).
 *
 * <p><b>Memory.</b> A transfer moves the bytes of a direct buffer between its position and its limit at the call, which changes neither;
 * or a part of a {@link Memory}, which is fastest for long transfers because it is registered. Nothing is copied here. The bytes belong
 * to the library until the operation has ended.
 *
 * <p><b>Threads.</b> Any thread may call anything at any time. Blocking sends go one after the other, and so do blocking receives. Many
 * operations with a {@link Loop} may be pending at once; they complete in the order in which they were started.
 *
 * <p><b>Errors.</b> IllegalArgumentException: a heap buffer. {@link ExsException} with EPIPE: the peer receives no more; ECONNRESET,
 * ETIMEDOUT: the connection broke; ECANCELED: the channel was closed meanwhile; EBADF: it is closed; EAGAIN: too many operations are
 * pending; EINTR: the thread was interrupted, and the operation had not started. An operation that has started is waited for.
 */
public final class StreamChannel implements AutoCloseable {
  private static final int SHUT_WR = 1;
  private static final int WAIT_FOR_ALL = 0x100;
  private static final long NO_OFFSET = -1;
  private static final int LINGER_MS = 0x4542;

  private final Descriptor descriptor;
  private final Lane sends = new Lane();
  private final Lane receives = new Lane();

  /** Takes over a connected or accepted socket. */
  StreamChannel(Descriptor descriptor) {
    this.descriptor = descriptor;
  }

  /**
   * Connects by any provider that suits both ends, and waits until the peer has accepted.
   *
   * @param type of the socket, the same as the peer's
   * @param to where the peer listens
   * @return the connection
   * @throws ExsException as the class says; ECONNREFUSED, EHOSTUNREACH and others of exs_connect
   */
  public static StreamChannel connect(SocketType type, InetSocketAddress to) throws ExsException {
    return connect(type, to, null);
  }

  /**
   * Connects, and waits until the peer has accepted.
   *
   * @param type of the socket, the same as the peer's
   * @param to where the peer listens
   * @param provider as EXS_SO_PROVIDER: {@code "iwarp"}, {@code "forbid:shm"} and the like; null: the library chooses
   * @return the connection
   * @throws ExsException as the class says; ECONNREFUSED, EHOSTUNREACH and others of exs_connect; EINVAL, ENOTSUP: the provider
   */
  public static StreamChannel connect(SocketType type, InetSocketAddress to, String provider) throws ExsException {
    return connect(type, to, provider, null);
  }

  /**
   * Connects, and waits until the peer has accepted.
   *
   * @param type of the socket, the same as the peer's
   * @param to where the peer listens
   * @param provider as EXS_SO_PROVIDER: {@code "iwarp"}, {@code "forbid:shm"} and the like; null: the library chooses
   * @param limits the limits that this end asks for; null: the library's
   * @return the connection
   * @throws ExsException as of {@link #connect(SocketType, InetSocketAddress, String)}; EINVAL: the limits
   */
  public static StreamChannel connect(SocketType type, InetSocketAddress to, String provider, SocketLimits limits) throws ExsException {
    final StreamChannel channel = new StreamChannel(Descriptor.open("StreamChannel", to, type, provider, limits));
    boolean isOpen = false;
    try {
      channel.sends.run(channel.socket(), "connect", channel.connectTo(to));
      isOpen = true;
      return channel;
    } finally {
      if (!isOpen) channel.closeQuietly();
    }
  }

  /**
   * Starts to connect.
   *
   * @param loop completes the future or calls the handler
   * @param type of the socket, the same as the peer's
   * @param to where the peer listens
   * @param provider as EXS_SO_PROVIDER; null: the library chooses
   * @return a future of the connection, when the peer has accepted; or of an {@link ExsException} as of
   *     {@link #connect(SocketType, InetSocketAddress, String)}
   */
  public static CompletableFuture<StreamChannel> connect(Loop loop, SocketType type, InetSocketAddress to, String provider) {
    return connect(loop, type, to, provider, null);
  }

  /**
   * Starts to connect, with limits.
   *
   * @param loop completes the future or calls the handler
   * @param type of the socket, the same as the peer's
   * @param to where the peer listens
   * @param provider as EXS_SO_PROVIDER; null: the library chooses
   * @param limits the limits that this end asks for; null: the library's
   * @return a future of the connection, when the peer has accepted; or of an {@link ExsException} as of
   *     {@link #connect(SocketType, InetSocketAddress, String, SocketLimits)}
   */
  public static CompletableFuture<StreamChannel> connect(
      Loop loop, SocketType type, InetSocketAddress to, String provider, SocketLimits limits) {
    final StreamChannel channel;
    try {
      channel = new StreamChannel(Descriptor.open("StreamChannel", to, type, provider, limits));
    } catch (ExsException e) {
      return CompletableFuture.failedFuture(e);
    }
    return loop.submit(channel, "connect", channel.connectTo(to), event -> channel).whenComplete((connected, failure) -> {
      if (failure != null) channel.closeQuietly();
    });
  }

  private Loop.Post connectTo(InetSocketAddress to) {
    return (queue, handle) -> descriptor.use(frame -> Native.connect(socket(), Addresses.write(frame, to), queue, handle));
  }

  // ---------------------------------------------------------------- transfers

  /**
   * Sends one message, or the next bytes of a stream, and waits until the memory is free again.
   *
   * @param from the data
   * @throws ExsException as the class says
   */
  public void send(ByteBuffer from) throws ExsException {
    sends.run(socket(), "send", post(true, from, 0, NO_OFFSET));
  }

  /**
   * Sends part of a memory, and waits until it is free again.
   *
   * @param from the memory
   * @param at the first byte
   * @param length how many bytes
   * @throws ExsException as the class says
   */
  public void send(Memory from, int at, int length) throws ExsException {
    sends.run(socket(), "send", post(true, from, at, length, 0, NO_OFFSET));
  }

  /**
   * Starts to send one message, or the next bytes of a stream.
   *
   * @param loop completes the future or calls the handler
   * @param from the data; it belongs to the library until the end
   * @return a future that completes when the memory is free again; or with an {@link ExsException} as the class says
   */
  public CompletableFuture<Transfer> send(Loop loop, ByteBuffer from) {
    return loop.submit(from, "send", post(true, from, 0, NO_OFFSET), Transfer::of);
  }

  /**
   * Starts to send part of a memory.
   *
   * @param loop completes the future or calls the handler
   * @param from the memory; it belongs to the library until the end
   * @param at the first byte
   * @param length how many bytes
   * @return a future that completes when the memory is free again; or with an {@link ExsException} as the class says
   */
  public CompletableFuture<Transfer> send(Loop loop, Memory from, int at, int length) {
    return loop.submit(from.keeper(), "send", post(true, from, at, length, 0, NO_OFFSET), Transfer::of);
  }

  /**
   * Receives one message, or the next bytes of a stream: at least one, unless the peer has ended its sending.
   *
   * @param into the destination; a longer message is cut
   * @return the result
   * @throws ExsException as the class says
   */
  public Transfer recv(ByteBuffer into) throws ExsException {
    return Transfer.of(receives.run(socket(), "recv", post(false, into, 0, NO_OFFSET)));
  }

  /**
   * Receives into part of a memory, and waits for the bytes.
   *
   * @param into the memory
   * @param at the first byte
   * @param length how many bytes
   * @return the result
   * @throws ExsException as the class says
   */
  public Transfer recv(Memory into, int at, int length) throws ExsException {
    return Transfer.of(receives.run(socket(), "recv", post(false, into, at, length, 0, NO_OFFSET)));
  }

  /**
   * Receives from a stream until the buffer is full.
   *
   * @param into the destination
   * @return the result; fewer bytes only if the peer has ended its sending
   * @throws ExsException as the class says
   */
  public Transfer recvAll(ByteBuffer into) throws ExsException {
    return Transfer.of(receives.run(socket(), "recv", post(false, into, WAIT_FOR_ALL, NO_OFFSET)));
  }

  /**
   * Starts to receive one message, or the next bytes of a stream.
   *
   * @param loop completes the future or calls the handler
   * @param into the destination; it belongs to the library until the end
   * @return a future of the result; or of an {@link ExsException} as the class says
   */
  public CompletableFuture<Transfer> recv(Loop loop, ByteBuffer into) {
    return loop.submit(into, "recv", post(false, into, 0, NO_OFFSET), Transfer::of);
  }

  /**
   * Starts to receive into part of a memory.
   *
   * @param loop completes the future or calls the handler
   * @param into the memory; it belongs to the library until the end
   * @param at the first byte
   * @param length how many bytes
   * @return a future of the result; or of an {@link ExsException} as the class says
   */
  public CompletableFuture<Transfer> recv(Loop loop, Memory into, int at, int length) {
    return loop.submit(into.keeper(), "recv", post(false, into, at, length, 0, NO_OFFSET), Transfer::of);
  }

  /**
   * Starts to send several pieces of memory one after the other, as one message or as the next bytes of a stream.
   *
   * @param <A> the type of the attachment
   * @param loop completes the future or calls the handler
   * @param from direct buffers, at most 1024; they belong to the library until the end. Those in a {@link Memory} are registered already
   * @param attachment passed to the handler
   * @param handler called when the memory is free again, or with an {@link ExsException} as the class says; on this thread if that is at once
   */
  public <A> void send(Loop loop, ByteBuffer[] from, A attachment, CompletionHandler<Transfer, ? super A> handler) {
    final ByteBuffer[] pieces = from.clone();
    for (final ByteBuffer piece : pieces) {
      if (!piece.isDirect()) throw new IllegalArgumentException("a buffer that is not direct");
    }
    loop.submit(pieces, "send", postPieces(pieces), Loop.Ending.of(attachment, handler));
  }

  private Loop.Post postPieces(ByteBuffer[] pieces) {
    return (queue, handle) -> descriptor.use(
        frame -> Native.sendPieces(socket(), Pieces.write(frame, pieces), pieces.length, queue, handle));
  }

  /**
   * Starts to receive into part of a memory.
   *
   * @param <A> the type of the attachment
   * @param loop completes the future or calls the handler
   * @param into the memory; it belongs to the library until the end
   * @param at the first byte
   * @param length how many bytes
   * @param attachment passed to the handler
   * @param handler called with the result, or with an {@link ExsException} as the class says; on this thread if that is at once
   */
  public <A> void recv(Loop loop, Memory into, int at, int length, A attachment, CompletionHandler<Transfer, ? super A> handler) {
    loop.submit(into.keeper(), "recv", post(false, into, at, length, 0, NO_OFFSET), Loop.Ending.of(attachment, handler));
  }

  /** Makes a transfer, with or without an offset in the peer's window. */
  Loop.Post post(boolean isSend, ByteBuffer buffer, int flags, long offset) {
    if (!buffer.isDirect()) throw new IllegalArgumentException("a buffer that is not direct");
    if (!isSend && buffer.isReadOnly()) throw new ReadOnlyBufferException();
    final int at = buffer.position();
    final int length = buffer.remaining();
    return (queue, handle) ->
        descriptor.use(frame -> Native.post(isSend, socket(), buffer, at, length, flags, queue, handle, 0, offset));
  }

  Loop.Post post(boolean isSend, Memory memory, int at, int length, int flags, long offset) {
    final long address = memory.address(at, length);
    return (queue, handle) -> descriptor.use(
        frame -> Native.post(isSend, socket(), null, address, length, flags, queue, handle, memory.region(), offset));
  }

  Event runSend(Loop.Post post) throws ExsException {
    return sends.run(socket(), "send", post);
  }

  Event runReceive(Loop.Post post) throws ExsException {
    return receives.run(socket(), "recv", post);
  }

  // ---------------------------------------------------------------- the connection

  /**
   * Ends sending: the peer receives all that was sent before, then the end.
   *
   * @throws ExsException as the class says
   */
  public void shutdownOutput() throws ExsException {
    descriptor.check(frame -> Native.shutdown(socket(), SHUT_WR));
  }

  /**
   * The address of this end.
   *
   * @return the address
   * @throws ExsException EBADF: it is closed
   */
  public InetSocketAddress localAddress() throws ExsException {
    return descriptor.address(Native::localAddress);
  }

  /**
   * The address of the peer.
   *
   * @return the address
   * @throws ExsException EBADF: it is closed; ENOTCONN
   */
  public InetSocketAddress remoteAddress() throws ExsException {
    return descriptor.address(Native::peerAddress);
  }

  /**
   * The provider that moves the bytes.
   *
   * @return the name of the provider: {@code "shm"}, {@code "iwarp"} or {@code "verbs"}
   * @throws ExsException EBADF: it is closed
   */
  public String provider() throws ExsException {
    return descriptor.text(SocketText.PROVIDER);
  }

  /**
   * Lets sends complete, within the linger time, and closes; receives end with ECANCELED. A second call has no effect.
   *
   * @throws ExsException ETIMEDOUT: the peer took longer; it is closed all the same
   */
  @Override
  public void close() throws ExsException {
    try {
      if (!descriptor.close()) return;
    } catch (ExsException e) {
      closeLanes();
      throw e;
    }
    closeLanes();
  }

  /**
   * Starts to close: sends may complete within the linger time, other operations end with ECANCELED. A second call has no effect.
   *
   * @param loop completes the future or calls the handler
   * @return a future that completes when all operations have ended; or with an {@link ExsException}: ETIMEDOUT: the peer took longer;
   *     the channel is closed all the same
   */
  public CompletableFuture<Void> close(Loop loop) {
    if (!descriptor.shut()) return CompletableFuture.completedFuture(null);
    closeLanes();
    final CompletableFuture<Void> closed = new CompletableFuture<>();
    try {
      loop.start(this, "close", (queue, handle) -> Native.closeSocketLater(socket(), queue, handle), (event, failure) -> {
        if (failure == null) {
          closed.complete(null);
        } else {
          closed.completeExceptionally(failure);
        }
      });
    } catch (ExsException e) {  // the loop is full, or closed, so only a wait remains
      Native.closeSocket(socket());
      closed.complete(null);
    }
    return closed;
  }

  /**
   * Breaks the connection: all operations end at once, whatever the peer does, and the peer sees a reset. A second call has no effect.
   *
   * @param loop completes the future or calls the handler
   * @return a future that completes when all operations have ended
   */
  public CompletableFuture<Void> abort(Loop loop) {
    try {
      setLinger(0);
    } catch (ExsException e) {
      assert descriptor.isClosed();
    }
    return close(loop);
  }

  /**
   * The limits that both ends have agreed on.
   *
   * @return the limits
   * @throws ExsException EBADF: it is closed
   */
  public SocketLimits limits() throws ExsException {
    return new SocketLimits(
        descriptor.check(frame -> Native.smallBytes(socket())), descriptor.check(frame -> Native.credits(socket())));
  }

  /**
   * Sets how long a close lets sends complete; the default is 5 seconds.
   *
   * @param milliseconds the time; 0: a close breaks the connection at once
   * @throws ExsException EBADF: it is closed; EINVAL: below 0
   */
  public void setLinger(int milliseconds) throws ExsException {
    descriptor.check(frame -> Native.setInt(socket(), LINGER_MS, milliseconds));
  }

  private void closeQuietly() {
    descriptor.closeQuietly();
    closeLanes();
  }

  private void closeLanes() {
    sends.close();
    receives.close();
  }

  /** Cancels one operation, if the channel is open. */
  void cancel(long handle) {
    try {
      descriptor.use(frame -> Native.cancelOperation(socket(), handle));
    } catch (ExsException e) {
      assert descriptor.isClosed();  // closing has cancelled it
    }
  }

  int socket() {
    return descriptor.number();
  }

  Descriptor descriptor() {
    return descriptor;
  }
}
