// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import exs.ExsException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;

/** A question to a peer that can be asked once at a time. Thread: any. */
final class Question<T> {
  private static final int EAGAIN = 11;

  private final ServiceNode node;
  private final String what;
  private final AtomicReference<CompletableFuture<T>> underWay = new AtomicReference<>();

  Question(ServiceNode node, String what) {
    this.node = node;
    this.what = what;
  }

  interface Start {
    int call();
  }

  /** Asks; the peer must not be closed meanwhile. */
  CompletableFuture<T> ask(Start start) throws ExsException {
    final CompletableFuture<T> answer = new CompletableFuture<>();
    if (!underWay.compareAndSet(null, answer)) throw new ExsException(EAGAIN, what + " is under way");
    final int outcome = start.call();
    if (outcome < 0) underWay.compareAndSet(answer, null);
    Native.check(outcome);
    return answer;
  }

  void answer(T value) {
    final CompletableFuture<T> asked = underWay.getAndSet(null);
    if (asked != null) node.execute(() -> asked.complete(value));
  }

  void lose(ExsException why) {
    final CompletableFuture<T> asked = underWay.getAndSet(null);
    if (asked != null) node.execute(() -> asked.completeExceptionally(why));
  }
}
