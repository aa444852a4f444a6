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

  /** Is told what has become of messages; in the thread or by the executor of the node. */
  public interface Listener {
    /**
     * Messages were not taken, perhaps others after them were.
     *
     * @param count how many
     * @param why ENOBUFS: the mailbox was full; EACCES: they are not allowed
     */
    default void dropped(long count, ExsException why) {}

    /**
     * The service has started again.
     *
     * @param count how many messages may have been taken or not
     */
    default void restarted(long count) {}

    /**
     * The service cannot be reached; the next message tries again.
     *
     * @param count how many messages are lost
     * @param why ENOENT: nobody is the service; EACCES, EDQUOT, EPROTO, ECONNRESET
     */
    default void lost(long count, ExsException why) {}
  }

  /** How a peer is opened. Thread: one. */
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
     * Who sends.
     *
     * @param service of this node, which is proven to the receiver; by default nobody in particular
     * @return this
     */
    public Builder from(Service service) {
      if (service.node() != node) throw new IllegalArgumentException(service + " belongs to another node");
      from = service;
      return this;
    }

    /**
     * By what right.
     *
     * @param right a capability of the service
     * @return this
     */
    public Builder capability(Capability right) {
      capability = right;
      return this;
    }

    /**
     * Who is told what has become of messages.
     *
     * @param one by default nobody
     * @return this
     */
    public Builder listener(Listener one) {
      listener = one;
      return this;
    }

    /**
     * Opens the peer. Nothing is asked of the service before the first message.
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
   * @throws ExsException EMSGSIZE; EAGAIN: 64 messages have not been taken; ENOMEM; EBADF: the peer is closed
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
   * Sends a message with long items (exs_svc_send_long), which the service reads from where they lie; they must not change until the
   * future has ended.
   *
   * @param items short ones, which are copied
   * @param longs 1 to 16 direct buffers, from position to limit, best of {@link exs.Memory}
   * @return ends when the service has them; with ENOBUFS: it has no room, EOWNERDEAD: it has started again, and others
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
   * Sends a message that is to be answered (exs_svc_request).
   *
   * @param items short ones, which are copied
   * @param longs up to 16 direct buffers, which must not change until the request has ended
   * @param options how
   * @return its reply, when there is one
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

  /** Minus errno. */
  int cancel(long request) {
    try {
      gate.enter();
    } catch (ExsException e) {
      return 0;  // its requests have ended
    }
    try {
      return Native.cancel(address, request);
    } finally {
      gate.leave();
    }
  }

  /**
   * Asks the service whether it is there. Messages before it have been taken when it answers.
   *
   * @return how long that took; ends with ENOENT and others of {@link Listener#lost} where it cannot be reached, with EACCES where pings
   *     are not allowed
   * @throws ExsException EAGAIN: a ping is under way; EBADF: the peer is closed
   */
  public CompletableFuture<Duration> ping() throws ExsException {
    return ask(ping, () -> Native.ping(address));
  }

  /**
   * Asks the service how busy it is (exs_svc_stats).
   *
   * @return what it says; ends with ENOENT and others of {@link Listener#lost} where it cannot be reached, with EACCES where the capability
   *     has no {@link Right#STATS}
   * @throws ExsException EAGAIN: it is asked already; EBADF: the peer is closed
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

  /** In the thread of the node. */
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
   * Has the service to send to no more. Messages that have left go on while their link holds; requests, pings, questions, and long items
   * under way, end with ECANCELED.
   */
  @Override
  public void close() {
    if (!closeOnce()) return;
    node.forget(this);
    final ExsException why = new ExsException(ExsException.ECANCELED, this + " was closed");
    ping.lose(why);
    stats.lose(why);
  }

  /** False: it was closed before. Another one who closes waits, and nobody is told anything meanwhile. */
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
