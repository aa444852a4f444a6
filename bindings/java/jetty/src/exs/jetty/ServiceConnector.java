// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import exs.ExsException;
import exs.service.Request;
import exs.service.Service;
import exs.service.ServiceId;
import exs.service.ServiceKey;
import exs.service.ServiceNode;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.io.ByteBufferPool;
import org.eclipse.jetty.server.AbstractConnector;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.util.annotation.ManagedAttribute;
import org.eclipse.jetty.util.annotation.ManagedObject;
import org.eclipse.jetty.util.thread.Scheduler;
import org.eclipse.jetty.util.thread.ThreadPoolBudget;

/**
 * Serves HTTP to clients that know the name of a service, wherever both are: a request is a message, and so is each part of its reply
 * (bindings/java/jetty/FORMAT.md).
 *
 * <pre>
 * ServiceConnector connector = new ServiceConnector(server, ServiceKey.load(Path.of("web.key")));
 * server.addConnector(connector);
 * </pre>
 *
 * <p>Clients send GET and HEAD as idempotent requests, which survive a restart of the server with the same key. The server may have other
 * connectors, too, which serve browsers.
 *
 * <p>If another process has the key and is the service, by a newer record, the connector logs this. It then serves nobody and does not
 * accept. From its next start on it is the service again.
 */
@ManagedObject("HTTP to a service of exs")
public class ServiceConnector extends AbstractConnector {
  private static final int MAILBOX = 4096;
  private static final long STOP_NS = TimeUnit.SECONDS.toNanos(10);

  private final Arena arena = new Arena();
  private final Set<ServiceExchange> exchanges = ConcurrentHashMap.newKeySet();
  private final ServiceKey key;
  private final ServiceId id;
  private final HttpConfiguration configuration;
  private String listen;
  private String directory;
  private int mailbox = MAILBOX;
  private int windows;
  private int windowBytes;
  private int serialMin = -1;
  private volatile ServiceNode node;
  private volatile Service service;
  private volatile Driver driver;
  private ThreadPoolBudget.Lease lease;

  /**
   * A connector with Jetty's default configuration, but longer output buffers.
   *
   * @param server the owner of the connections
   * @param key of the service; it must be open when the connector starts
   * @throws ExsException EBADF: the key is closed
   */
  public ServiceConnector(Server server, ServiceKey key) throws ExsException {
    this(server, null, null, null, key, ExsHttpConnectionFactory.newConfiguration());
  }

  /**
   * A connector.
   *
   * @param server the owner of the connections
   * @param executor runs the threads; null: the server's
   * @param scheduler of retries; null: the server's
   * @param pool of buffers; null: an {@link ExsBufferPool} of its own
   * @param key of the service; it must be open when the connector starts
   * @param configuration of HTTP
   * @throws ExsException EBADF: the key is closed
   */
  public ServiceConnector(Server server, Executor executor, Scheduler scheduler, ByteBufferPool pool, ServiceKey key,
      HttpConfiguration configuration) throws ExsException {
    super(server, executor, scheduler, pool != null ? pool : new ExsBufferPool(), 0, new HttpConnectionFactory(configuration));
    this.key = key;
    this.configuration = configuration;
    id = key.id();
  }

  /**
   * The name of the service.
   *
   * @return the ID that clients open a peer with
   */
  public final ServiceId getServiceId() {
    return id;
  }

  /**
   * Sets the address where other hosts find the service, from the next start on.
   *
   * @param address as {@link ServiceNode.Builder#listen}; null: as by default
   */
  public void setListen(String address) {
    listen = address;
  }

  /**
   * Sets the directory where other hosts find the service, from the next start on.
   *
   * @param address as {@link ServiceNode.Builder#directory}; null: as by default
   */
  public void setDirectory(String address) {
    directory = address;
  }

  /**
   * Sets the limit of requests at a time, from the next start on.
   *
   * @param requests by default 4096; more are refused with ENOBUFS
   */
  public void setMailbox(int requests) {
    mailbox = requests;
  }

  /**
   * Receives bodies of requests into memory of their own, without a copy, from the next start on.
   *
   * @param count how many at a time; further ones are received elsewhere and copied
   * @param bytes of each
   */
  public void setBodyWindows(int count, int bytes) {
    windows = count;
    windowBytes = bytes;
  }

  /**
   * Serves only clients with a capability, from the next start on.
   *
   * @param lowest serial that is taken; below 0: serves all who know the name
   */
  public void setSerialMin(int lowest) {
    serialMin = lowest;
  }

  /**
   * The number of requests that are being served.
   *
   * @return the number of requests that have not ended
   */
  @ManagedAttribute("Requests being served")
  public int getRequests() {
    return exchanges.size();
  }

  /**
   * The number of chunks that are being sent from copies.
   *
   * @return the number of chunks
   */
  @ManagedAttribute("Chunks of memory in use")
  public int getChunksInUse() {
    return arena.inUse();
  }

  Arena arena() {
    return arena;
  }

  Driver driver() {
    return driver;
  }

  HttpConfiguration configuration() {
    return configuration;
  }

  // ---------------------------------------------------------------- start and stop

  @Override
  protected void doStart() throws Exception {
    final ServiceNode.Builder builder = ServiceNode.builder();
    if (listen != null) builder.listen(listen);
    if (directory != null) builder.directory(directory);
    node = builder.openWithoutThread();
    driver = new Driver(node::complete, node::close, getExecutor());
    boolean isComplete = false;
    try {
      service = openService();
      setAccepting(true);
      lease = ThreadPoolBudget.leaseFrom(getExecutor(), this, Driver.THREADS);
      super.doStart();
      driver.start();
      isComplete = true;
    } finally {
      if (!isComplete) closeNode();
    }
  }

  private Service openService() throws ExsException {
    final Service.Builder builder = node.service(key, new Service.Handler() {
      @Override
      public void request(Request request) {
        arrived(request);
      }

      @Override
      public void overtaken() {
        makeWay();
      }
    });
    if (serialMin >= 0) builder.onlyWithCapability(serialMin);
    return builder.mailbox(mailbox).windows(windows, windowBytes).open();
  }

  /** Runs on the driving thread. */
  private void makeWay() {
    LOG.warn("{}: overtaken, {} is elsewhere now and nobody is served here: end the other one that has its key, then stop and start this"
        + " connector, or give one of them another key", this, id);
    setAccepting(false);
    service.close();
  }

  /** Runs on the driving thread. */
  private void arrived(Request request) {
    final ServiceExchange exchange = new ServiceExchange(this, request);
    exchanges.add(exchange);
    boolean isStarted = false;
    try {
      driver.add(exchange);
      isStarted = true;
    } finally {
      if (!isStarted) exchange.end();
    }
  }

  void ended(ServiceExchange exchange) {
    exchanges.remove(exchange);
  }

  @Override
  protected void doStop() throws Exception {
    closeNode();
    super.doStop();
  }

  private void closeNode() throws Exception {
    if (node == null) return;
    node = null;
    if (!driver.close(STOP_NS, TimeUnit.NANOSECONDS))
      LOG.warn("{}: requests have not ended in {} s", this, TimeUnit.NANOSECONDS.toSeconds(STOP_NS));
    if (lease != null) lease.close();
    lease = null;
  }

  /** Does nothing: requests arrive without an accept. */
  @Override
  protected void accept(int acceptor) {
    throw new UnsupportedOperationException();
  }

  /** The node; null: the connector has not been started. */
  @Override
  public ServiceNode getTransport() {
    return node;
  }
}
