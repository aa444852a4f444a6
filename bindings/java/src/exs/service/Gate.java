// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import exs.ExsException;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** Admits calls on an object of the library until it is shut. Shutting waits for the calls inside. Thread: any. */
final class Gate {
  private final String name;
  private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
  private boolean isShut;

  Gate(String name) {
    this.name = name;
  }

  void enter() throws ExsException {
    lock.readLock().lock();
    if (!isShut) return;
    lock.readLock().unlock();
    throw new ExsException(ExsException.EBADF, name + ": it is closed");
  }

  void leave() {
    lock.readLock().unlock();
  }

  /** Returns true to one thread alone, when no other is inside or will be. */
  boolean shut() {
    lock.writeLock().lock();
    try {
      final boolean isFirst = !isShut;
      isShut = true;
      return isFirst;
    } finally {
      lock.writeLock().unlock();
    }
  }
}
