// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import exs.ExsException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A pending request. Thread: any. */
public final class Call {
  private static final int EPROTO = 71;
  private static final int ENOENT = 2;

  private final Peer peer;
  private final long handle;
  private final RequestOptions options;
  private final CompletableFuture<Reply> reply = new CompletableFuture<>();
  private final Sequence told;
  private boolean isInParts;

  Call(Peer peer, long handle, RequestOptions options) {
    this.peer = peer;
    this.handle = handle;
    this.options = options;
    told = new Sequence(peer.node());
  }

  /**
   * The reply, or its last part, which the program has to release.
   *
   * @return a future of the reply, which fails with ETIMEDOUT, ECANCELED, EOWNERDEAD and the others of EXS_SVC_EVT_REPLY if there is none,
   *     and with EPROTO if it came in parts and the options have no handler of those
   */
  public CompletableFuture<Reply> reply() {
    return reply;
  }

  /**
   * Ends the request, if it has not ended, with ECANCELED. The service may have executed it.
   *
   * @throws ExsException ENOMEM
   */
  public void cancel() throws ExsException {
    final int outcome = peer.cancel(handle);
    if (outcome != -ENOENT) Native.check(outcome);
  }

  void start(List<ByteBuffer> held, ServiceNode.Start start) throws ExsException {
    peer.start(handle, new Waiting(held), start);
  }

  /** The node's view of the call. */
  private final class Waiting extends Pending {
    Waiting(List<ByteBuffer> held) {
      super(peer, held);
    }

    @Override
    boolean tell(Event event) {
      if (event.error() != 0) {
        lose(Native.failure(event.error(), "a request to " + peer));
        return false;
      }
      final Contents contents = peer.node().read(event.message());
      final Reply part = new Reply(event.message(), contents, options.places, event.status(), event.hasMore());
      told.add(() -> arrived(part));
      return event.hasMore();
    }

    @Override
    void lose(ExsException why) {
      told.add(() -> reply.completeExceptionally(why));
    }
  }

  private void arrived(Reply part) {
    if (options.parts == null) {
      complete(part);
      return;
    }
    boolean isTaken = false;
    try {
      options.parts.accept(part);
      isTaken = true;
    } finally {
      if (!isTaken) part.release();
      if (!part.hasMore()) reply.complete(part);
    }
  }

  private void complete(Reply part) {
    isInParts |= part.hasMore();
    if (!isInParts) {
      if (!reply.complete(part)) part.release();
      return;
    }
    part.release();
    if (part.hasMore()) return;
    reply.completeExceptionally(new ExsException(EPROTO, "a request to " + peer + ": the reply came in parts, and nobody takes them"));
  }
}
