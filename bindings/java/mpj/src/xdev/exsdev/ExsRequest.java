package xdev.exsdev;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import mpjdev.Status;
import xdev.XDevException;

/** A send or receive under way, which consists of one request of exs or, with a dynamic part, of two. */
abstract class ExsRequest extends mpjdev.Request {
  private final Ended ended;
  private final ReentrantLock waiting = new ReentrantLock();   // requests of exs bear one thread at a time
  private final AtomicBoolean isHandled = new AtomicBoolean();
  private volatile Status status;

  ExsRequest(Ended ended) {
    this.ended = ended;
  }

  /** Null: not in that time. Called by one thread at a time, and not again after it has given one. */
  abstract Status finish(long timeoutNs) throws IOException;

  /** True: it had not left or arrived, and will not. */
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

  /** What it holds is its own until it has ended, and then the collector's. */
  @Override
  public void free() {}

  @Override
  public boolean isnull() {
    return false;
  }
}
