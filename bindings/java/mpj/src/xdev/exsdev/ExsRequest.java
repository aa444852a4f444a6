// SPDX-License-Identifier: BSD-2-Clause
package xdev.exsdev;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import mpjdev.Status;
import xdev.XDevException;

/** A pending send or receive, which consists of one request of exs or, with a dynamic part, of two. */
abstract class ExsRequest extends mpjdev.Request {
  private final Ended ended;
  private final ReentrantLock waiting = new ReentrantLock();  // only one thread may use a request of exs at a time
  private final AtomicBoolean isHandled = new AtomicBoolean();
  private volatile Status status;

  ExsRequest(Ended ended) {
    this.ended = ended;
  }

  /** Returns null if it has not ended in that time. One thread calls this at a time, and never after it has returned a status. */
  abstract Status finish(long timeoutNs) throws IOException;

  /** Returns true if the message had not left or arrived, and never will. */
  abstract boolean cancelled() throws IOException;

  @Override
  public Status iwait() {
    waiting.lock();
    try {
      while (status == null) status = finish(-1);
    } catch (IOException failure) {
      throw new XDevException(failure);
    } finally {
      waiting.unlock();
    }
    ended.forget(this);
    if (isHandled.compareAndSet(false, true)) complete(status);
    return status;
  }

  @Override
  public Status itest() {
    if (status != null || !waiting.tryLock()) return status;
    try {
      if (status == null && (status = finish(0)) != null) ended.add(this);
      return status;
    } catch (IOException failure) {
      throw new XDevException(failure);
    } finally {
      waiting.unlock();
    }
  }

  @Override
  public boolean cancel() {
    waiting.lock();
    try {
      return status == null && cancelled();
    } catch (IOException failure) {
      throw new XDevException(failure);
    } finally {
      waiting.unlock();
    }
  }

  /** The request keeps its memory until it has ended; then the collector frees it. */
  @Override
  public void free() {}

  @Override
  public boolean isnull() {
    return false;
  }
}
