package exs.service;

import exs.ExsException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A request that is under way. Thread: any. */
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
   * Its reply, or the last part of it, which is to be released.
   *
   * @return ends with ETIMEDOUT, ECANCELED, EOWNERDEAD and the others of EXS_SVC_EVT_REPLY where there is none; with EPROTO where it came
   *     in parts and the options have no handler of those
   */
  public CompletableFuture<Reply> reply() {
    return reply;
  }

  /**
   * Ends the request, if it has not ended: its reply is ECANCELED. The service may have executed it.
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

  /** What the node holds of it. */
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
