// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import java.util.ArrayDeque;

/** Tasks that the executor of a node runs one after the other, in order. Thread: any. */
final class Sequence {
  private final ServiceNode node;

  /** A thread runs them while it is not empty. */
  private final ArrayDeque<Runnable> tasks = new ArrayDeque<>();

  Sequence(ServiceNode node) {
    this.node = node;
  }

  void add(Runnable task) {
    synchronized (tasks) {
      tasks.add(task);
      if (tasks.size() > 1) return;
    }
    node.execute(this::runAll);
  }

  private void runAll() {
    while (true) {
      final Runnable next;
      synchronized (tasks) {
        next = tasks.peek();
      }
      try {
        next.run();
      } catch (RuntimeException e) {
        final Thread here = Thread.currentThread();
        here.getUncaughtExceptionHandler().uncaughtException(here, e);
      }
      synchronized (tasks) {
        tasks.remove();
        if (tasks.isEmpty()) return;
      }
    }
  }
}
