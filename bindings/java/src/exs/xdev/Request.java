// SPDX-License-Identifier: BSD-2-Clause
package exs.xdev;

import exs.ExsException;

/** A pending send or receive of a {@link Device}. Threads: one waits at a time (IllegalStateException for a second). */
public final class Request {
  private final exs.Request request;
  private final Buffer buffer;
  private final Status status;
  private boolean isTold;

  Request(exs.Request request, Buffer buffer, Status status) {
    this.request = request;
    this.buffer = buffer;
    this.status = status;
    request.attach(this);
  }

  /**
   * Waits until the request has ended.
   *
   * @return the status of the message
   * @throws ExsException the request failed: EMSGSIZE the buffer was too small, ECONNRESET the other process has died, EPIPE it has left; EINTR:
   *     the thread was interrupted, and the request continues
   */
  public Status iwait() throws ExsException {
    return tell(request.await());
  }

  /**
   * Returns whether the request has ended.
   *
   * @return the status of the message; null: the request has not ended
   * @throws ExsException as {@link #iwait}
   */
  public Status itest() throws ExsException {
    final exs.Status ended = request.await(0);
    return ended == null ? null : tell(ended);
  }

  /**
   * Cancels a receive that is not matched, or a send that has not left. The program still has to wait for its end.
   *
   * @throws ExsException the device has been finished
   */
  public void cancel() throws ExsException {
    request.cancel();
  }

  /**
   * The buffer that the request sends or receives.
   *
   * @return the buffer, which is the device's until the request has ended
   */
  public Buffer buffer() {
    return buffer;
  }

  private synchronized Status tell(exs.Status ended) {
    if (!isTold) {
      isTold = true;
      status.fill(ended);
      if (request.isReceive() && !ended.isCancelled()) buffer.received(ended.length());
    }
    return status;
  }
}
