// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import exs.ExsException;
import exs.ServerChannel;
import exs.SocketLimits;
import exs.SocketType;
import exs.StreamChannel;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.io.ByteBufferPool;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.AbstractNetworkConnector;
import org.eclipse.jetty.server.ConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.util.annotation.ManagedAttribute;
import org.eclipse.jetty.util.annotation.ManagedObject;
import org.eclipse.jetty.util.thread.Scheduler;
import org.eclipse.jetty.util.thread.ThreadPoolBudget;

/**
 * Accepts connections of exs for Jetty, as ServerConnector does for TCP, with the same connection factories.
 *
 * <pre>
 * Server server = new Server();
 * ExsConnector connector = new ExsConnector(server);
 * connector.setPort(7080);
 * server.addConnector(connector);
 * </pre>
 *
 * <p>Browsers do not connect by exs: they use a ServerConnector at another port of the same server.
 */
@ManagedObject("HTTP over exs")
public class ExsConnector extends AbstractNetworkConnector {
  /** Limit of pending operations in each of its loops; a connection has up to six, or more for the parts of a write. */
  private static final int LOOP_DEPTH = 1 << 16;

  /** Longer than the linger time of closing connections. */
  private static final long STOP_NS = TimeUnit.SECONDS.toNanos(10);
  private static final int STOP_LINGER_MS = 500;
  private static final long CLOSE_AGAIN_MS = 20;

  /** Fewer than the default of exs, as each may be a longer message. */
  private static final int CREDITS = 16;
  private static final int HEAD_BYTES = 1 << 10;

  private static final int NOT_OPEN = -1;
  private static final int CLOSED = -2;

  private final Arena arena = new Arena();
  private final int loops;
  private final List<Completions> completions = new ArrayList<>();
  private ThreadPoolBudget.Lease lease;
  private volatile ServerChannel server;
  private volatile int localPort = NOT_OPEN;
  private int acceptQueueSize = 128;
  private String provider;
  private int smallBytes = ExsEndPoint.COPIED_PIECE_BYTES_MAX + HEAD_BYTES;

  /**
   * A connector of HTTP/1.1, with threads as it suits the machine.
   *
   * @param server the owner of the connections
   */
  public ExsConnector(Server server) {
    this(server, new ExsHttpConnectionFactory());
  }

  /**
   * A connector with threads as it suits the machine.
   *
   * @param server the owner of the connections
   * @param factories of the protocols, the default one first
   */
  public ExsConnector(Server server, ConnectionFactory... factories) {
    this(server, null, null, null, -1, -1, factories);
  }

  /**
   * A connector.
   *
   * @param server the owner of the connections
   * @param executor runs the threads; null: the server's
   * @param scheduler of idle timeouts; null: the server's
   * @param pool of buffers; null: an {@link ExsBufferPool} of its own
   * @param acceptors the number of threads that wait for connections; below 0: as suits the machine; else at least 1
   * @param loops the number of event queues for the connections, each with two threads; below 1: as suits the
   *     machine
   * @param factories of the protocols, the default one first
   */
  public ExsConnector(Server server, Executor executor, Scheduler scheduler, ByteBufferPool pool, int acceptors, int loops,
      ConnectionFactory... factories) {
    super(server, executor, scheduler, pool != null ? pool : new ExsBufferPool(), acceptors, factories);
    if (acceptors == 0) throw new IllegalArgumentException("a connector without a thread that accepts");
    this.loops = loops > 0 ? loops : Math.max(1, Math.min(4, Runtime.getRuntime().availableProcessors() / 2));
  }

  /**
   * The limit of connections that wait to be accepted.
   *
   * @return the backlog of exs_listen
   */
  @ManagedAttribute("Accept queue size")
  public int getAcceptQueueSize() {
    return acceptQueueSize;
  }

  /**
   * Sets the limit of connections that wait to be accepted, from the next start on.
   *
   * @param acceptQueueSize the backlog of exs_listen
   */
  public void setAcceptQueueSize(int acceptQueueSize) {
    this.acceptQueueSize = acceptQueueSize;
  }

  /**
   * The provider that moves the bytes of connections.
   *
   * @return as EXS_SO_PROVIDER; null: as suits the peers
   */
  @ManagedAttribute("Provider of exs")
  public String getProvider() {
    return provider;
  }

  /**
   * Sets the provider that moves the bytes of connections, from the next start on.
   *
   * @param provider as EXS_SO_PROVIDER: {@code "iwarp"}, {@code "forbid:shm"} and the like; null: as suits the peers
   */
  public void setProvider(String provider) {
    this.provider = provider;
  }

  /**
   * The length, with head, up to which a response is copied to a client, instead of being read in place.
   *
   * @return bytes; no more than the client asks for
   */
  @ManagedAttribute("Bytes of the longest response that is copied")
  public int getSmallBytes() {
    return smallBytes;
  }

  /**
   * Sets the length, with head, up to which a response is copied to a client that agrees, from the next start on. A response that is read
   * in place takes three messages instead of one, which is slower over a network for some ten KiB. Each connection has memory for some of
   * them.
   *
   * @param smallBytes 0 to 32768
   */
  public void setSmallBytes(int smallBytes) {
    this.smallBytes = smallBytes;
  }

  /**
   * The number of chunks of the connector's memory that connections use.
   *
   * @return the number: one for each open connection, and those of pending copies
   */
  @ManagedAttribute("Chunks of memory in use")
  public int getChunksInUse() {
    return arena.inUse();
  }

  // ---------------------------------------------------------------- start and stop

  @Override
  protected void doStart() throws Exception {
    for (int i = 0; i < loops; ++i) completions.add(new Completions(LOOP_DEPTH, getExecutor()));
    lease = ThreadPoolBudget.leaseFrom(getExecutor(), this, loops * Driver.THREADS);
    super.doStart();
    completions.forEach(Completions::start);
  }

  @Override
  protected void doStop() throws Exception {
    close();
    for (final Completions one : completions) end(one);
    super.doStop();
    completions.clear();
    if (lease != null) lease.close();
  }

  /** Closes connections, also those that are accepted meanwhile, until no operation is pending. */
  private void end(Completions one) throws ExsException, InterruptedException {
    final long end = System.nanoTime() + STOP_NS;
    do {
      for (final EndPoint open : getConnectedEndPoints()) ((ExsEndPoint) open).close(STOP_LINGER_MS);
      if (one.close(CLOSE_AGAIN_MS, TimeUnit.MILLISECONDS)) return;
    } while (System.nanoTime() < end);
    LOG.warn("{}: connections have not ended in {} s", this, TimeUnit.NANOSECONDS.toSeconds(STOP_NS));
  }

  @Override
  public void open() throws IOException {
    if (server != null) return;
    final InetSocketAddress at = getHost() == null ? new InetSocketAddress(getPort()) : new InetSocketAddress(getHost(), getPort());
    server = ServerChannel.listen(SocketType.STREAM, at, acceptQueueSize, provider, new SocketLimits(smallBytes, CREDITS));
    localPort = server.localAddress().getPort();
  }

  @Override
  public void close() {
    final ServerChannel closing = server;
    if (closing == null) return;
    server = null;
    localPort = CLOSED;
    try {
      closing.close();
    } catch (ExsException e) {
      LOG.warn(e);
    }
  }

  @Override
  public boolean isOpen() {
    return server != null;
  }

  @Override
  public ServerChannel getTransport() {
    return server;
  }

  /** The port where it listens; -1: it has not been opened; -2: it is closed. */
  @Override
  public int getLocalPort() {
    return localPort;
  }

  // ---------------------------------------------------------------- connections

  @Override
  protected void accept(int acceptor) throws IOException, InterruptedException {
    final ServerChannel from = server;
    if (from == null) throw new ClosedChannelException();
    // The connection belongs to the loop whose queue its accept names; its operations will name the same one.
    final Completions where = completions.get(acceptor % completions.size());
    final CompletableFuture<StreamChannel> accepting = from.accept(where.loop());
    try {
      accepted(accepting.get(), where);
    } catch (InterruptedException e) {
      accepting.thenAccept(late -> late.close(where.loop()));
      throw e;
    } catch (ExecutionException e) {
      throw e.getCause() instanceof IOException ? (IOException) e.getCause() : new IOException(e);
    }
  }

  private void accepted(StreamChannel channel, Completions where) throws ExsException {
    final ExsEndPoint endPoint = endPointOf(channel, where);
    if (endPoint == null) return;
    boolean isTold = false;
    try {
      endPoint.setIdleTimeout(getIdleTimeout());
      endPoint.onOpen();
      onEndPointOpened(endPoint);
      final Connection connection = getDefaultConnectionFactory().newConnection(this, endPoint);
      endPoint.setConnection(connection);
      connection.onOpen();
      isTold = true;
    } finally {
      if (!isTold) endPoint.close();
    }
  }

  /** Returns null if the peer has gone already. An exception would also delay the next peer. */
  private ExsEndPoint endPointOf(StreamChannel channel, Completions where) throws ExsException {
    ExsEndPoint made = null;
    try {
      made = new ExsEndPoint(getScheduler(), channel, where, arena, getExecutor(), this::onEndPointClosed);
    } catch (ExsException e) {
      if (e.errno() != ExsException.ENOTCONN) throw e;
      LOG.debug(e);
    } finally {
      if (made == null) channel.abort(where.loop());
    }
    return made;
  }
}
