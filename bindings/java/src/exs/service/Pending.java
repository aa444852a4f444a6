// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import exs.ExsException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A call whose event has not arrived, with the memory that the library uses until then. */
abstract class Pending {
  /** The peer or service that owns the call. */
  final Object owner;
  final List<ByteBuffer> held;

  Pending(Object owner, List<ByteBuffer> held) {
    this.owner = owner;
    this.held = held;
  }

  /** Handles the event, which owns its message, on the thread of the node. Returns true if another event follows. */
  abstract boolean tell(Event event);

  /** The call gets no event, because its owner was closed. */
  abstract void lose(ExsException why);

  /** A send of a message, or of a part of a reply, with long items. */
  static final class Send extends Pending {
    private final ServiceNode node;
    private final String what;
    final CompletableFuture<Void> sent = new CompletableFuture<>();

    Send(ServiceNode node, Object owner, List<ByteBuffer> held, String what) {
      super(owner, held);
      this.node = node;
      this.what = what;
    }

    @Override
    boolean tell(Event event) {
      if (event.error() == 0) {
        node.execute(() -> sent.complete(null));
      } else {
        lose(Native.failure(event.error(), what));
      }
      return false;
    }

    @Override
    void lose(ExsException why) {
      node.execute(() -> sent.completeExceptionally(why));
    }
  }
}
