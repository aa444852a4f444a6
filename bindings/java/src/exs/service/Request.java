package exs.service;

import exs.ExsException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A message that is to be answered. Thread: any. */
public final class Request extends Message {
  private final Service service;

  Request(Service service, long address, Contents contents, List<ByteBuffer> places) {
    super(address, contents, places);
    this.service = service;
  }

  /**
   * Answers, or sends a part of the answer (exs_svc_reply). Long items, from position to limit, must not change until the future has ended;
   * those in {@link exs.Memory} are read where they lie. The request is to be released all the same.
   *
   * @param status the program's
   * @param items short ones, which are copied
   * @param longs direct buffers
   * @param hasMore whether another part follows
   * @return ends when who asked has all long items: at once where there are none; with ECANCELED or ECONNRESET where it has given up
   * @throws ExsException EMSGSIZE: too many items or bytes; EAGAIN, where more follows: 64 parts have not been taken; ECANCELED: nobody
   *     waits for it any more, or it has been answered; ENOMEM
   * @throws IllegalArgumentException a long item is no direct buffer
   * @throws IllegalStateException the request has been released
   */
  public CompletableFuture<Void> reply(int status, List<ByteBuffer> items, List<ByteBuffer> longs, boolean hasMore) throws ExsException {
    final CallFrame frame = CallFrame.ofThread();
    final List<ByteBuffer> held = CallFrame.slices(longs);
    frame.setItems(items);
    frame.setLongs(held);
    final int flags = hasMore ? Event.MORE : 0;
    final ServiceNode node = service.node();
    synchronized (this) {
      final long message = address();
      if (held.isEmpty()) {
        Native.check(Native.reply(message, status, frame.items, items.size(), 0, 0, flags, 0));
        return CompletableFuture.completedFuture(null);
      }
      final Pending.Send send = new Pending.Send(node, service, held, "a reply");
      node.start(node.newHandle(), send,
          handle -> Native.reply(message, status, frame.items, items.size(), frame.longs, held.size(), flags, handle));
      return send.sent;
    }
  }
}
