// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import exs.ExsException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One end of links: a listener, services and peers, and the thread that takes their events (exs_svc_node_open).
 *
 * <p>That thread calls handlers and completes futures, which must not block it. An executor may do this instead; it may call handlers of
 * messages concurrently and in another order. Handlers of the parts of a reply are called one after the other. Without an executor, the
 * thread that closes a service or peer reports the calls that end with it.
 *
 * <p>The node holds the memory of a call until the call has ended. Thread: any.
 */
public final class ServiceNode implements AutoCloseable {
  private static final int EVENTS_MAX = 64;
  private static final long SLICE_NS = 50_000_000;

  /** The settings of a new node. Thread: one. */
  public static final class Builder {
    private final ByteBuffer options = Options.create(Options.NODE_BYTES);
    private String listen;
    private String names;
    private String multicast;
    private String directory;
    private Executor executor;

    private Builder() {}

    /**
     * Sets the address where the node listens.
     *
     * @param address "address", "address:port" or "[address]:port"; by default EXS_SVC_LISTEN, or 127.0.0.1
     * @return this
     */
    public Builder listen(String address) {
      listen = address;
      return this;
    }

    /**
     * Sets how long a peer is searched for before its messages are lost.
     *
     * @param limit the time; by default 2 seconds
     * @return this
     */
    public Builder findFor(Duration limit) {
      options.putLong(Options.NODE_FIND_AT, limit.toNanos());
      return this;
    }

    /**
     * Sets the limit of links from other nodes, all of which one host may have.
     *
     * @param links other nodes at a time, by default 1,024, and 256 of one host
     * @param flows peers of each, by default 64
     * @return this
     */
    public Builder limits(int links, int flows) {
      options.putInt(Options.NODE_LINKS_AT, links).putInt(Options.NODE_FLOWS_AT, flows);
      return this;
    }

    /**
     * Sets how many of the links one host may have.
     *
     * @param links links of its nodes at a time
     * @return this
     */
    public Builder linksOfOneHost(int links) {
      options.putInt(Options.NODE_LINKS_EACH_AT, links);
      return this;
    }

    /**
     * Sets the file of names and places.
     *
     * @param file by default EXS_SERVICES, or /etc/exs/services
     * @return this
     */
    public Builder names(Path file) {
      names = file.toString();
      return this;
    }

    /**
     * Sets the interfaces for searching services on a link, and for answering about those of the node.
     *
     * @param interfaces "off", or names with commas between them, or none for all but loopback, and perhaps ":port"; by default
     *     EXS_SVC_MULTICAST, or all
     * @return this
     */
    public Builder multicast(String interfaces) {
      multicast = interfaces;
      return this;
    }

    /**
     * Sets the directory, exs-directory(1), for searching services, and for publishing those of the node.
     *
     * @param address "address", "address:port" or "[address]:port"; by default EXS_SVC_DIRECTORY, or none
     * @return this
     */
    public Builder directory(String address) {
      directory = address;
      return this;
    }

    /**
     * Sets the memory that the library may allocate for long items of replies.
     *
     * @param bytes by default 64 MiB
     * @return this
     */
    public Builder replyMemory(long bytes) {
      options.putLong(Options.NODE_MEMORY_AT, bytes);
      return this;
    }

    /**
     * Sets the executor that calls handlers and completes futures.
     *
     * @param by the executor; by default the node's thread
     * @return this
     */
    public Builder executor(Executor by) {
      executor = by;
      return this;
    }

    /**
     * Opens the node.
     *
     * @return the node
     * @throws ExsException EINVAL: an invalid setting; EADDRINUSE, EADDRNOTAVAIL, EACCES: the address is not available; EMFILE,
     *     EAGAIN, ENOMEM
     */
    public ServiceNode open() throws ExsException {
      final ServiceNode opened = openWithoutThread();
      opened.thread = new Thread(opened::run, "exs-services-" + Long.toHexString(opened.node));
      opened.thread.setDaemon(true);
      opened.thread.start();
      return opened;
    }

    /**
     * Opens a node without a thread of its own: {@link ServiceNode#complete} does that thread's work.
     *
     * @return the node
     * @throws ExsException as {@link #open}
     */
    public ServiceNode openWithoutThread() throws ExsException {
      final long node = Native.checkAddress(
          Native.openNode(options.array(), Native.text(listen), Native.text(names), Native.text(multicast), Native.text(directory)));
      return new ServiceNode(node, executor);
    }
  }

  private final long node;
  private final Executor executor;
  private final Gate gate = new Gate("a node");
  private final AtomicLong handles = new AtomicLong();
  private final ConcurrentHashMap<Long, Pending> pending = new ConcurrentHashMap<>();
  private final ConcurrentHashMap<Long, Service> services = new ConcurrentHashMap<>();
  private final ConcurrentHashMap<Long, Peer> peers = new ConcurrentHashMap<>();
  private Thread thread;
  private final ByteBuffer events = CallFrame.direct(EVENTS_MAX * Event.BYTES);
  private final ByteBuffer contents = CallFrame.direct(Contents.BYTES);
  private volatile boolean isClosing;
  private boolean isEnded;

  private ServiceNode(long node, Executor executor) {
    this.node = node;
    this.executor = executor;
  }

  /**
   * Opens a node with all defaults.
   *
   * @return the node
   * @throws ExsException as {@link Builder#open}
   */
  public static ServiceNode open() throws ExsException {
    return builder().open();
  }

  /**
   * Begins the settings of a new node.
   *
   * @return the builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Begins the settings of a new service of this node.
   *
   * @param key the service's key; it may be closed when the service is open
   * @param handler of its messages and requests
   * @return the builder
   */
  public Service.Builder service(ServiceKey key, Service.Handler handler) {
    return new Service.Builder(this, Objects.requireNonNull(key), Objects.requireNonNull(handler));
  }

  /**
   * Begins the settings of a new peer.
   *
   * @param id of the service
   * @return the builder
   */
  public Peer.Builder peer(ServiceId id) {
    return new Peer.Builder(this, Objects.requireNonNull(id));
  }

  // ---------------------------------------------------------------- services and peers

  interface Open {
    long in(long node, long handle) throws ExsException;
  }

  /** Opens a service. The node knows it by its handle before its first event can arrive. */
  void open(Service service, Open open) throws ExsException {
    open(services, service.handle(), service, () -> service.opened(open.in(node, service.handle())));
  }

  void open(Peer peer, Open open) throws ExsException {
    open(peers, peer.handle(), peer, () -> peer.opened(open.in(node, peer.handle())));
  }

  private interface Body {
    void run() throws ExsException;
  }

  private <T> void open(ConcurrentHashMap<Long, T> all, long handle, T one, Body body) throws ExsException {
    gate.enter();
    try {
      all.put(handle, one);
      boolean isOpen = false;
      try {
        body.run();
        isOpen = true;
      } finally {
        if (!isOpen) all.remove(handle);
      }
    } finally {
      gate.leave();
    }
  }

  void forget(Service service) {
    services.remove(service.handle());
    loseAllOf(service);
  }

  void forget(Peer peer) {
    peers.remove(peer.handle());
    loseAllOf(peer);
  }

  // ---------------------------------------------------------------- calls under way

  long newHandle() {
    return handles.incrementAndGet();
  }

  interface Start {
    int with(long handle);
  }

  /** Starts a call that has an event. Its owner must not be closed meanwhile, or else the call must be refused. */
  void start(long handle, Pending call, Start start) throws ExsException {
    pending.put(handle, call);
    boolean isStarted = false;
    try {
      Native.check(start.with(handle));
      isStarted = true;
    } finally {
      if (!isStarted) pending.remove(handle);
    }
  }

  /** The library no longer uses their memory. */
  private void loseAllOf(Object owner) {
    final ExsException why = new ExsException(ExsException.ECANCELED, owner + " was closed");
    pending.forEach((handle, call) -> {
      if (call.owner == owner && pending.remove(handle, call)) call.lose(why);
    });
  }

  int pendingCount() {
    return pending.size();
  }

  // ---------------------------------------------------------------- events

  private void run() {
    try {
      while (complete()) continue;
    } catch (ExsException e) {
      throw new IllegalStateException(e);  // the queue belongs to this node
    }
  }

  /**
   * Waits for some time for an event, calls handlers and completes futures; by one thread at a time. For nodes of {@link
   * Builder#openWithoutThread}.
   *
   * @return false: the node is closed, and nothing is under way
   * @throws ExsException never
   */
  public boolean complete() throws ExsException {
    if (isEnded) return false;
    if (!isClosing) {
      step();
      return true;
    }
    isEnded = true;
    end();
    return false;
  }

  private void step() throws ExsException {
    final int count = Native.check(Native.await(node, Native.address(events), EVENTS_MAX, SLICE_NS));
    for (int i = 0; i < count; ++i) {
      try {
        tell(Event.at(events, i * Event.BYTES));
      } catch (RuntimeException e) {
        final Thread here = Thread.currentThread();
        here.getUncaughtExceptionHandler().uncaughtException(here, e);
      }
    }
  }

  private void tell(Event event) {
    switch (event.type()) {
      case Event.SENT, Event.REPLY -> tellPending(event);
      case Event.MESSAGE, Event.REQUEST -> arrived(event);
      case Event.OPEN, Event.SUSPENDED, Event.OVERTAKEN -> {
        final Service service = services.get(event.handle());
        if (service != null) service.tell(event);
      }
      case Event.DROPPED, Event.RESTART, Event.LOST, Event.PONG, Event.STATS -> {
        final Peer peer = peers.get(event.handle());
        if (peer != null) {
          peer.tell(event);
        } else {
          Native.release(event.message());
        }
      }
      default -> Native.release(event.message());
    }
  }

  private void tellPending(Event event) {
    final Pending call = pending.get(event.handle());
    if (call == null) {
      Native.release(event.message());  // its peer has been closed meanwhile
    } else if (!call.tell(event)) {
      pending.remove(event.handle());
    }
  }

  private void arrived(Event event) {
    final Service service = services.get(event.handle());
    if (service == null) {
      Native.release(event.message());
    } else {
      service.arrived(event.message(), read(event.message()), event.type() == Event.REQUEST);
    }
  }

  /** Runs on the thread of the node. */
  Contents read(long message) {
    return Contents.read(message, contents);
  }

  /** Runs the task by the executor. If that refuses, it runs on this thread, because a program waits for it. */
  void execute(Runnable task) {
    if (executor != null) {
      try {
        executor.execute(task);
        return;
      } catch (RejectedExecutionException e) {
        // As without an executor.
      }
    }
    task.run();
  }

  // ---------------------------------------------------------------- close

  private void end() {
    gate.shut();
    for (final Peer peer : Set.copyOf(peers.values())) peer.close();
    for (final Service service : Set.copyOf(services.values())) service.close();
    Native.closeNode(node);
  }

  /**
   * Closes the node, its services and its peers. Sent messages get up to one second to arrive; pending calls end with ECANCELED. Messages
   * stay valid until they are released. Returns when that is done; at once if called by the node's thread, or if there is none.
   *
   * @throws ExsException EINTR: the thread was interrupted; the node ends all the same
   */
  @Override
  public void close() throws ExsException {
    isClosing = true;
    if (thread == null || Thread.currentThread() == thread) return;
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new ExsException(ExsException.EINTR, "close of a node: the thread was interrupted");
    }
  }
}
