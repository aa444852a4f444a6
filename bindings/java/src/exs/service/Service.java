// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import exs.ExsException;
import exs.Memory;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A service of a node (exs_svc_open). Thread: any. */
public final class Service implements AutoCloseable {
  /** Receives messages. It releases each message at some time, in any thread. If a handler throws, its message is released at once. */
  public interface Handler {
    /**
     * A message has arrived.
     *
     * @param message the message, which the handler has to release
     * @throws Exception passed to the handler of uncaught exceptions
     */
    default void message(Message message) throws Exception {
      message.release();
    }

    /**
     * A request has arrived.
     *
     * @param request the request, which the handler has to answer and to release
     * @throws Exception passed to the handler of uncaught exceptions; the sender learns that there is no reply
     */
    default void request(Request request) throws Exception {
      request.release();
    }

    /**
     * The service can be reached. A fenced service reports this each time that it serves again. This event and later ones come one after
     * the other, perhaps before {@link Builder#open} has returned.
     *
     * @throws Exception passed to the handler of uncaught exceptions
     */
    default void opened() throws Exception {}

    /**
     * A fenced service serves nobody until the next {@link #opened}.
     *
     * @param why ETIMEDOUT: the directory does not answer in time, or says that another's lease runs
     * @throws Exception passed to the handler of uncaught exceptions
     */
    default void suspended(ExsException why) throws Exception {}

    /**
     * Another process has the key and is the service, by a newer record. This service serves nobody any more; close it.
     *
     * @throws Exception passed to the handler of uncaught exceptions
     */
    default void overtaken() throws Exception {}
  }

  /** The settings of a new service. Thread: one. */
  public static final class Builder {
    private final ServiceNode node;
    private final ServiceKey key;
    private final Handler handler;
    private final List<ByteBuffer> windows = new ArrayList<>();
    private final ByteBuffer options = Options.create(Options.BYTES);

    Builder(ServiceNode node, ServiceKey key, Handler handler) {
      this.node = node;
      this.key = key;
      this.handler = handler;
    }

    /**
     * Serves only senders with a capability.
     *
     * @param lowest serial that is taken
     * @return this
     */
    public Builder onlyWithCapability(int lowest) {
      options.putInt(Options.ONLY_WITH_CAPABILITY_AT, 1).putInt(Options.SERIAL_MIN_AT, lowest);
      return this;
    }

    /**
     * Serves only while a directory grants a lease: {@link ServiceNode.Builder#directory}. {@link Handler#opened} and {@link
     * Handler#suspended} report this.
     *
     * @return this
     */
    public Builder fenced() {
      options.putInt(Options.FLAGS_AT, Options.FENCED);
      return this;
    }

    /**
     * Sets the limit of messages that are not released, all of which one principal may have.
     *
     * @param messages by default 1,024, and 256 of one principal; senders of more get {@link Peer.Listener#dropped}
     * @return this
     */
    public Builder mailbox(int messages) {
      return mailbox(messages, 0);
    }

    /**
     * Sets the limits of messages that are not released.
     *
     * @param messages of all; 0: 1,024
     * @param each of one principal, which is a capability, by its serial, or else a host; 0: as many as of all, or 256 where that is 0
     * @return this
     */
    public Builder mailbox(int messages, int each) {
      options.putInt(Options.MAILBOX_AT, messages).putInt(Options.MAILBOX_EACH_AT, each);
      return this;
    }

    /**
     * Sets the limit of memory that the library may allocate for long items that fit no window. One principal may have all of it. {@link
     * Message#longItem} copies such items.
     *
     * @param bytes by default 256 MiB, and 64 MiB for one principal
     * @return this
     */
    public Builder memory(long bytes) {
      return memory(bytes, 0);
    }

    /**
     * Sets the limits of memory that the library may allocate for long items that fit no window.
     *
     * @param bytes for all; 0: 256 MiB
     * @param each for one principal, as of {@link #mailbox(int, int)}; 0: as much as for all, or 64 MiB where that is 0
     * @return this
     */
    public Builder memory(long bytes, long each) {
      options.putLong(Options.MEMORY_AT, bytes).putLong(Options.MEMORY_EACH_AT, each);
      return this;
    }

    /**
     * Receives long items into memory of the program: each into the smallest window that fits and is free. The release of a message frees
     * its windows.
     *
     * @param count how many windows
     * @param bytes of each
     * @return this
     * @throws ExsException ENOMEM
     */
    public Builder windows(int count, int bytes) throws ExsException {
      for (int i = 0; i < count; ++i) windows.add(Memory.allocate(bytes).buffer());
      return this;
    }

    /**
     * Opens the service.
     *
     * @return the service
     * @throws ExsException EADDRINUSE: a process of this host, perhaps this one, is the service; EINVAL: it is fenced, and the node has no
     *     directory, or no address for it; EMFILE, ENOMEM; EBADF: the node or the key is closed
     */
    public Service open() throws ExsException {
      final Service service = new Service(node, key.id(), handler);
      key.use(secret -> {
        node.open(service, (address, handle) -> Native.checkAddress(Native.open(address, secret, options.array(), handle)));
        return 0;
      });
      boolean isComplete = false;
      try {
        for (final ByteBuffer window : windows) service.addWindow(window);
        isComplete = true;
      } finally {
        if (!isComplete) service.close();
      }
      return service;
    }
  }

  private final ServiceNode node;
  private final ServiceId id;
  private final Handler handler;
  private final long handle;
  private final Gate gate;
  private final Sequence told;
  private final List<ByteBuffer> windows = new CopyOnWriteArrayList<>();
  private volatile long address;

  private Service(ServiceNode node, ServiceId id, Handler handler) {
    this.node = node;
    this.id = id;
    this.handler = handler;
    handle = node.newHandle();
    gate = new Gate(toString());
    told = new Sequence(node);
  }

  /**
   * The name of the service.
   *
   * @return the ID that others open a peer with
   */
  public ServiceId id() {
    return id;
  }

  /**
   * Receives long items into a buffer, until the service and the messages in it have ended.
   *
   * @param window a direct buffer, from its position to its limit; best one of {@link Memory}
   * @throws ExsException ENOMEM; EBADF: the service is closed
   * @throws IllegalArgumentException the buffer is empty, read-only, or not direct
   */
  public void addWindow(ByteBuffer window) throws ExsException {
    if (window.isReadOnly() || !window.hasRemaining()) throw new IllegalArgumentException("a window is read-only or empty");
    final ByteBuffer own = window.slice();
    final long at = CallFrame.addressOf(own);
    gate.enter();
    try {
      windows.add(own);
      Native.check(Native.addWindow(address, at, own.remaining(), Memory.regionOf(own)));
    } finally {
      gate.leave();
    }
  }

  long handle() {
    return handle;
  }

  ServiceNode node() {
    return node;
  }

  void opened(long where) {
    address = where;
  }

  /** Uses the service while it cannot be closed. */
  long use(ServiceKey.Use use) throws ExsException {
    gate.enter();
    try {
      return use.of(address);
    } finally {
      gate.leave();
    }
  }

  /** Runs on the thread of the node. */
  void arrived(long message, Contents contents, boolean isRequest) {
    if (isRequest) {
      final Request request = new Request(this, message, contents, windows);
      node.execute(() -> handle(request, () -> handler.request(request)));
    } else {
      final Message arrived = new Message(message, contents, windows);
      node.execute(() -> handle(arrived, () -> handler.message(arrived)));
    }
  }

  /** Reports the fate of a message, on the thread of the node. */
  void tell(Event event) {
    switch (event.type()) {
      case Event.OPEN -> told.add(() -> handle(handler::opened));
      case Event.SUSPENDED -> {
        final ExsException why = Native.failure(event.error(), this + " has no lease of its directory");
        told.add(() -> handle(() -> handler.suspended(why)));
      }
      default -> told.add(() -> handle(handler::overtaken));
    }
  }

  private interface Body {
    void run() throws Exception;
  }

  private static void handle(Message message, Body body) {
    boolean isHandled = false;
    try {
      isHandled = handle(body);
    } finally {
      if (!isHandled) message.release();
    }
  }

  /** Returns false if it has thrown. */
  private static boolean handle(Body body) {
    try {
      body.run();
      return true;
    } catch (Exception e) {
      final Thread here = Thread.currentThread();
      here.getUncaughtExceptionHandler().uncaughtException(here, e);
      return false;
    }
  }

  /**
   * Closes the service. Messages stay valid until they are released. Requests are not answered any more, and pending replies end with
   * ECANCELED.
   */
  @Override
  public void close() {
    if (closeOnce()) node.forget(this);
  }

  /** Returns false if it was closed before. A second closing thread waits, and no event is delivered meanwhile. */
  private synchronized boolean closeOnce() {
    if (!gate.shut()) return false;
    Native.close(address);
    return true;
  }

  @Override
  public String toString() {
    return "service " + id;
  }
}
