// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import exs.ExsException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A message that expects a reply. Thread: any. */
public final class Request extends Message {
  private final Service service;

  Request(Service service, long address, Contents contents, List<ByteBuffer> places) {
    super(address, contents, places);
    this.service = service;
  }

  /**
   * Sends the reply, or a part of it (exs_svc_reply). Long items, from position to limit, must not change until the future has completed;
   * those in {@link exs.Memory} are read in place. The program still has to release the request.
   *
   * @param status the program's
   * @param items short ones, which are copied
   * @param longs direct buffers
   * @param hasMore whether another part follows
   * @return a future that completes when the receiver has all long items, at once if there are none; it fails with ECANCELED or ECONNRESET
   *     if the receiver has given up
   * @throws ExsException EMSGSIZE: too many items or bytes; EAGAIN, if more follows: 64 parts have not been accepted; ECANCELED:
   *     the sender has given the request up, or it has been answered; ENOMEM
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
