package exs;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A message that a matched probe has taken ({@link MessageChannel#mprobe}): nobody else gets it. It is received once. One that is forgotten
 * stays until the channel is closed.
 *
 * <p>Any thread may receive it. Memory, threads and errors are those of {@link MessageChannel}; besides, IllegalStateException: it was
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
   * What is known of it.
   *
   * @return source, tag, context and length
   */
  public Status status() {
    return status;
  }

  /**
   * Receives it, and waits until it is there.
   *
   * @param into where to; a longer message is cut
   * @return what came
   * @throws ExsException EMSGSIZE: it was cut; ECONNRESET: the sender has died, and with it the message
   */
  public Status recv(ByteBuffer into) throws ExsException {
    return endpoint.finishAnyway(irecv(into), "recv");
  }

  /**
   * Receives it into part of an array, and waits until it is there.
   *
   * @param array where to, of primitive elements
   * @param at its first element
   * @param count how many there is room for
   * @return what came
   * @throws ExsException as {@link #recv(ByteBuffer)}
   */
  public Status recv(Object array, int at, int count) throws ExsException {
    return endpoint.finishAnyway(irecv(array, at, count), "recv");
  }

  /**
   * Starts to receive it.
   *
   * @param into where to; direct: the library's until the request has ended
   * @return ends when it is there
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
   * Starts to receive it into part of an array.
   *
   * @param array where to, of primitive elements; written by who hears of the request's end
   * @param at its first element
   * @param count how many there is room for
   * @return ends when it is there
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
