// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A message that a matched probe has taken ({@link MessageChannel#mprobe}): no other receive gets it. It can be received once. A
 * forgotten one stays until the channel is closed.
 *
 * <p>Any thread may receive it. Memory, threads and errors are those of {@link MessageChannel}. IllegalStateException means that it was
 * received before.
 */
public final class Message {
  private final Endpoint endpoint;
  private final long number;
  private final Status status;
  private final AtomicBoolean isReceived = new AtomicBoolean();

  Message(Endpoint endpoint, long number, Status status) {
    this.endpoint = endpoint;
    this.number = number;
    this.status = status;
  }

  /**
   * The status of the message.
   *
   * @return source, tag, context and length
   */
  public Status status() {
    return status;
  }

  /**
   * Receives the message, and waits until it has arrived.
   *
   * @param into the destination; a longer message is cut
   * @return the status of the message
   * @throws ExsException EMSGSIZE: it was cut; ECONNRESET: the sender has died, and with it the message
   */
  public Status recv(ByteBuffer into) throws ExsException {
    return endpoint.finishAnyway(irecv(into), "recv");
  }

  /**
   * Receives the message into part of an array, and waits until it has arrived.
   *
   * @param array the destination, of primitive elements
   * @param at its first element
   * @param count the limit of elements
   * @return the status of the message
   * @throws ExsException as {@link #recv(ByteBuffer)}
   */
  public Status recv(Object array, int at, int count) throws ExsException {
    return endpoint.finishAnyway(irecv(array, at, count), "recv");
  }

  /**
   * Starts to receive the message.
   *
   * @param into the destination; direct: it belongs to the library until the request has ended
   * @return a request that ends when the message has arrived
   * @throws ExsException EBADF: the channel is closed; ENOMEM
   */
  public Request irecv(ByteBuffer into) throws ExsException {
    take();
    boolean isStarted = false;
    try {
      final Request request = endpoint.imrecv(number, into);
      isStarted = true;
      return request;
    } finally {
      if (!isStarted) isReceived.set(false);
    }
  }

  /**
   * Starts to receive the message into part of an array.
   *
   * @param array the destination, of primitive elements; the thread that learns of the request's end writes it
   * @param at its first element
   * @param count the limit of elements
   * @return a request that ends when the message has arrived
   * @throws ExsException EBADF: the channel is closed; ENOMEM
   */
  public Request irecv(Object array, int at, int count) throws ExsException {
    take();
    boolean isStarted = false;
    try {
      final Request request = endpoint.imrecvArray(number, array, at, count);
      isStarted = true;
      return request;
    } finally {
      if (!isStarted) isReceived.set(false);
    }
  }

  private void take() {
    if (!isReceived.compareAndSet(false, true)) throw new IllegalStateException("the message was received before");
  }
}
