// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.net.InetSocketAddress;
import java.util.concurrent.CompletableFuture;

/**
 * A socket that listens for peers of exs.
 *
 * <p>Threads: any; several may accept at once, and each peer goes to one of them. Errors: {@link ExsException} with EBADF: it is closed;
 * EINTR: the thread was interrupted while it waited; ECANCELED: it was closed meanwhile.
 */
public final class ServerChannel implements AutoCloseable {
  private final Descriptor descriptor;
  private final Lane accepts = new Lane();

  private ServerChannel(Descriptor descriptor) {
    this.descriptor = descriptor;
  }

  /**
   * Listens by any provider that suits the peers.
   *
   * @param type of the sockets that it accepts
   * @param at the address; port 0: a free one
   * @param backlog the limit of peers that wait for an accept
   * @return the channel
   * @throws ExsException EADDRINUSE and others of exs_bind and exs_listen
   */
  public static ServerChannel listen(SocketType type, InetSocketAddress at, int backlog) throws ExsException {
    return listen(type, at, backlog, null);
  }

  /**
   * Listens by a provider.
   *
   * @param type of the sockets that it accepts
   * @param at the address; port 0: a free one
   * @param backlog the limit of peers that wait for an accept
   * @param provider as EXS_SO_PROVIDER: {@code "iwarp"}, {@code "forbid:shm"} and the like; null: the library chooses
   * @return the channel
   * @throws ExsException EADDRINUSE and others of exs_bind and exs_listen; EINVAL, ENOTSUP: the provider
   */
  public static ServerChannel listen(SocketType type, InetSocketAddress at, int backlog, String provider) throws ExsException {
    return listen(type, at, backlog, provider, null);
  }

  /**
   * Listens by a provider, with limits.
   *
   * @param type of the sockets that it accepts
   * @param at the address; port 0: a free one
   * @param backlog the limit of peers that wait for an accept
   * @param provider as EXS_SO_PROVIDER: {@code "iwarp"}, {@code "forbid:shm"} and the like; null: the library chooses
   * @param limits the limits that this end asks for; null: the library's
   * @return the channel
   * @throws ExsException EADDRINUSE and others of exs_bind and exs_listen; EINVAL, ENOTSUP: the provider; EINVAL: the limits
   */
  public static ServerChannel listen(SocketType type, InetSocketAddress at, int backlog, String provider, SocketLimits limits)
      throws ExsException {
    final Descriptor descriptor = Descriptor.open("ServerChannel", at, type, provider, limits);
    boolean isOpen = false;
    try {
      descriptor.check(frame -> Native.bind(descriptor.number(), Addresses.write(frame, at)));
      descriptor.check(frame -> Native.listen(descriptor.number(), backlog));
      final ServerChannel channel = new ServerChannel(descriptor);
      isOpen = true;
      return channel;
    } finally {
      if (!isOpen) descriptor.closeQuietly();
    }
  }

  /**
   * Accepts a peer, or waits for one.
   *
   * @return the connection
   * @throws ExsException as the class says; ENOMEM
   */
  public StreamChannel accept() throws ExsException {
    return accepted(accepts.run(descriptor.number(), "accept",
        (queue, handle) -> descriptor.use(frame -> Native.accept(descriptor.number(), queue, handle))));
  }

  /**
   * Starts to accept a peer.
   *
   * @param loop completes the future or calls the handler
   * @return a future of the connection; or of an {@link ExsException} as the class says
   */
  public CompletableFuture<StreamChannel> accept(Loop loop) {
    return loop.submit(this, "accept",
        (queue, handle) -> descriptor.use(frame -> Native.accept(descriptor.number(), queue, handle)), ServerChannel::accepted);
  }

  private static StreamChannel accepted(Event event) {
    return new StreamChannel(new Descriptor("StreamChannel", event.newSocket()));
  }

  /**
   * The address where it listens.
   *
   * @return the address, with the port that was free
   * @throws ExsException EBADF: it is closed
   */
  public InetSocketAddress localAddress() throws ExsException {
    return descriptor.address(Native::localAddress);
  }

  /**
   * Stops listening. Accepts that wait end with ECANCELED. A second call has no effect.
   *
   * @throws ExsException as of exs_close; it is closed all the same
   */
  @Override
  public void close() throws ExsException {
    if (descriptor.close()) accepts.close();
  }
}
