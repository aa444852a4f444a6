// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import exs.ExsException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A service to send to, wherever it is (exs_svc_peer_open). Messages of a peer arrive in order. Thread: any. */
public final class Peer implements AutoCloseable {
  private static final int IDEMPOTENT = 1;

  /** Receives the fate of messages, on the thread of the node or by its executor. */
  public interface Listener {
    /**
     * The service refused messages. It may have accepted later ones.
     *
     * @param count how many
     * @param why ENOBUFS: the mailbox was full; EACCES: they are not allowed
     */
    default void dropped(long count, ExsException why) {}

    /**
     * The service has started again.
     *
     * @param count how many messages have an unknown fate
     */
    default void restarted(long count) {}

    /**
     * The service cannot be reached; the next message tries again.
     *
     * @param count how many messages are lost
     * @param why ENOENT: no process is the service; EACCES, EDQUOT, EPROTO, ECONNRESET
     */
    default void lost(long count, ExsException why) {}
  }

  /** The settings of a new peer. Thread: one. */
  public static final class Builder {
    private final ServiceNode node;
    private final ServiceId id;
    private Service from;
    private Capability capability;
    private Listener listener = new Listener() {};

    Builder(ServiceNode node, ServiceId id) {
      this.node = node;
      this.id = id;
    }

    /**
     * Sets the sender.
     *
     * @param service a service of this node, which proves itself to the receiver; by default the peer is anonymous
     * @return this
     */
    public Builder from(Service service) {
      if (service.node() != node) throw new IllegalArgumentException(service + " belongs to another node");
      from = service;
      return this;
    }

    /**
     * Sets the capability.
     *
     * @param right a capability of the service
     * @return this
     */
    public Builder capability(Capability right) {
      capability = right;
      return this;
    }

    /**
     * Sets the listener for the fate of messages.
     *
     * @param one the listener; by default none
     * @return this
     */
    public Builder listener(Listener one) {
      listener = one;
      return this;
    }

    /**
     * Opens the peer. The service is not contacted before the first message.
     *
     * @return the peer
     * @throws ExsException EINVAL: the capability is another service's; ENOMEM; EBADF: the node or the sender is closed
     */
    public Peer open() throws ExsException {
      final Peer peer = new Peer(node, id, listener);
      final byte[] right = capability == null ? null : capability.bytes();
      final ServiceKey.Use open = sender -> {
        node.open(peer, (address, handle) -> Native.checkAddress(Native.openPeer(address, sender, id.bytes(), right, handle)));
        return 0;
      };
      if (from == null) {
        open.of(0);
      } else {
        from.use(open);
      }
      return peer;
    }
  }

  private final ServiceNode node;
  private final ServiceId id;
  private final Listener listener;
  private final long handle;
  private final Gate gate;
  private final Question<Duration> ping;
  private final Question<ServiceStats> stats;
  private volatile long address;

  private Peer(ServiceNode node, ServiceId id, Listener listener) {
    this.node = node;
    this.id = id;
    this.listener = listener;
    handle = node.newHandle();
    gate = new Gate(toString());
    ping = new Question<>(node, this + ": a ping");
    stats = new Question<>(node, this + ": a question how busy it is");
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

  // ---------------------------------------------------------------- sending

  /**
   * Sends a message of short items, which are copied (exs_svc_send_short).
   *
   * @param items up to 16, of 4000 bytes
   * @throws ExsException EMSGSIZE; EAGAIN: 64 messages have not been accepted; ENOMEM; EBADF: the peer is closed
   */
  public void sendShort(ByteBuffer... items) throws ExsException {
    final CallFrame frame = CallFrame.ofThread();
    frame.setItems(List.of(items));
    gate.enter();
    try {
      Native.check(Native.sendShort(address, frame.items, items.length));
    } finally {
      gate.leave();
    }
  }

  /**
   * Sends a message with long items (exs_svc_send_long). The service reads them in place, so they must not change until the future has
   * completed.
   *
   * @param items short ones, which are copied
   * @param longs 1 to 16 direct buffers, from position to limit, best of {@link exs.Memory}
   * @return a future that completes when the service has them, or fails: ENOBUFS: it has no room, EOWNERDEAD: it has restarted, and others
   * @throws ExsException as {@link #sendShort}
   * @throws IllegalArgumentException a long item is no direct buffer
   */
  public CompletableFuture<Void> sendLong(List<ByteBuffer> items, List<ByteBuffer> longs) throws ExsException {
    final CallFrame frame = CallFrame.ofThread();
    final List<ByteBuffer> held = CallFrame.slices(longs);
    frame.setItems(items);
    frame.setLongs(held);
    final Pending.Send send = new Pending.Send(node, this, held, "a message to " + this);
    start(node.newHandle(), send,
        own -> Native.sendLong(address, frame.items, items.size(), frame.longs, held.size(), own));
    return send.sent;
  }

  /**
   * Sends a request (exs_svc_request).
   *
   * @param items short ones, which are copied
   * @param longs up to 16 direct buffers, which must not change until the request has ended
   * @param options the options
   * @return the call, which has the reply
   * @throws ExsException as {@link #sendShort}; EAGAIN also: 64 requests have not ended
   * @throws IllegalArgumentException a long item, or a place for one, is no direct buffer, or a place is read-only
   */
  public Call request(List<ByteBuffer> items, List<ByteBuffer> longs, RequestOptions options) throws ExsException {
    final CallFrame frame = CallFrame.ofThread();
    final List<ByteBuffer> held = new ArrayList<>(CallFrame.slices(longs));
    frame.setItems(items);
    frame.setLongs(held);
    frame.setReturns(options.places);
    final int longsCount = held.size();
    held.addAll(options.places);
    final Call call = new Call(this, node.newHandle(), options);
    call.start(held, own -> Native.request(address, frame.items, items.size(), frame.longs, longsCount, options.limitNs,
        options.isIdempotent ? IDEMPOTENT : 0, frame.returns, options.places.size(), own));
    return call;
  }

  void start(long own, Pending pending, ServiceNode.Start start) throws ExsException {
    gate.enter();
    try {
      node.start(own, pending, start);
    } finally {
      gate.leave();
    }
  }

  /** Returns a negative errno value on failure. */
  int cancel(long request) {
    try {
      gate.enter();
    } catch (ExsException e) {
      return 0;  // closing has ended its requests
    }
    try {
      return Native.cancel(address, request);
    } finally {
      gate.leave();
    }
  }

  /**
   * Asks the service for a sign of life. When it answers, it has accepted all earlier messages.
   *
   * @return a future of the time that this took, which fails with ENOENT and others of {@link Listener#lost} if the service cannot be
   *     reached, and with EACCES if pings are not allowed
   * @throws ExsException EAGAIN: a ping is pending; EBADF: the peer is closed
   */
  public CompletableFuture<Duration> ping() throws ExsException {
    return ask(ping, () -> Native.ping(address));
  }

  /**
   * Asks the service for its load (exs_svc_stats).
   *
   * @return a future of the answer, which fails with ENOENT and others of {@link Listener#lost} if the service cannot be reached,
   *     and with EACCES if the capability has no {@link Right#STATS}
   * @throws ExsException EAGAIN: such a question is pending; EBADF: the peer is closed
   */
  public CompletableFuture<ServiceStats> stats() throws ExsException {
    return ask(stats, () -> Native.stats(address));
  }

  private <T> CompletableFuture<T> ask(Question<T> question, Question.Start start) throws ExsException {
    gate.enter();
    try {
      return question.ask(start);
    } finally {
      gate.leave();
    }
  }

  // ---------------------------------------------------------------- events

  /** Runs on the thread of the node. */
  void tell(Event event) {
    final ExsException why = event.error() == 0 ? null : Native.failure(event.error(), toString());
    switch (event.type()) {
      case Event.DROPPED -> node.execute(() -> listener.dropped(event.count(), why));
      case Event.RESTART -> node.execute(() -> listener.restarted(event.count()));
      case Event.PONG -> end(ping, Duration.ofNanos(event.elapsedNs()), why);
      case Event.STATS -> end(stats, why == null ? statsOf(event.message()) : null, why);
      default -> {
        ping.lose(why);
        stats.lose(why);
        node.execute(() -> listener.lost(event.count(), why));
      }
    }
  }

  private static <T> void end(Question<T> question, T answer, ExsException why) {
    if (why == null) {
      question.answer(answer);
    } else {
      question.lose(why);
    }
  }

  private ServiceStats statsOf(long message) {
    final Contents contents = node.read(message);
    Native.release(message);
    return ServiceStats.of(contents.items().get(0));
  }

  /**
   * Closes the peer. Messages that have left go on while their link holds. Requests, pings, questions, and moving long items end with
   * ECANCELED.
   */
  @Override
  public void close() {
    if (!closeOnce()) return;
    node.forget(this);
    final ExsException why = new ExsException(ExsException.ECANCELED, this + " was closed");
    ping.lose(why);
    stats.lose(why);
  }

  /** Returns false if it was closed before. A second closing thread waits, and no event is delivered meanwhile. */
  private synchronized boolean closeOnce() {
    if (!gate.shut()) return false;
    Native.closePeer(address);
    return true;
  }

  @Override
  public String toString() {
    return "peer " + id;
  }
}
