// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.nio.ByteBuffer;

/**
 * One process of a job: it sends messages to ranks, and receives messages that match by source, tag and context.
 *
 * <p>Messages that one receive could match are matched in the order sent, each once. They move while the program computes. The manual
 * page exm(7) has the guarantees.
 *
 * <p><b>Memory.</b> A message is the bytes of a buffer between its position and its limit at the call, which changes neither. Bytes of
 * direct buffers are not copied here: from the call until the end of the request they belong to the library, and the collector does not
 * free them. Heap buffers and arrays pass through memory of the library, by one copy. Sent ones may change as soon as the call returns.
 * Received ones are written when the program learns of the end. An array has bytes, shorts, chars, ints, longs, floats or doubles, in the
 * byte order of the machine; {@code at} and {@code count} are elements.
 *
 * <p><b>Threads.</b> Any thread may call anything at any time. A waiting thread checks every 50 ms whether it was interrupted, or the
 * channel closed.
 *
 * <p><b>Errors.</b> IllegalArgumentException: the argument is no direct buffer, writable array or heap buffer with an array.
 * IndexOutOfBoundsException: the array does not have these elements. {@link ExsException} with EINVAL: an impossible rank, tag or
 * context; ECONNRESET: the other rank, or one that might have been, has died; EPIPE: it has left the job; EBADF: the channel is closed;
 * ENOMEM. Calls that wait also fail with EINTR: the thread was interrupted. A blocking receive is cancelled then, unless a message has
 * matched it.
 */
public final class MessageChannel implements AutoCloseable {
  /** As a source: any rank. */
  public static final int ANY_SOURCE = -2;
  /** As a tag: any tag. */
  public static final int ANY_TAG = -2;

  private static final int SYNC = 1;

  private final Endpoint endpoint;

  private MessageChannel(Endpoint endpoint) {
    this.endpoint = endpoint;
  }

  /**
   * Joins the job that exs-run has started this process for; without exs-run, a job of one.
   *
   * @return the channel
   * @throws ExsException EPROTO, ECONNRESET: the message of exs-run is invalid, or it has gone; ENOMEM
   */
  public static MessageChannel open() throws ExsException {
    return new MessageChannel(Endpoint.join(null, 0, 1, null, 0, 0));
  }

  /**
   * Joins a job of known processes.
   *
   * @param job the processes
   * @return the channel
   * @throws ExsException EINVAL: an invalid address; EADDRINUSE and others of exs_listen: this process cannot listen at its own
   */
  public static MessageChannel open(Job job) throws ExsException {
    return new MessageChannel(
        Endpoint.join(job.addressText(), job.rank(), job.addresses().size(), job.key(), job.eagerBytes(), job.connectTimeoutMs()));
  }

  /**
   * The number of this process in the job.
   *
   * @return 0 to {@link #size} - 1
   */
  public int rank() {
    return endpoint.rank();
  }

  /**
   * The number of processes in the job.
   *
   * @return 1 or more
   */
  public int size() {
    return endpoint.size();
  }

  // ---------------------------------------------------------------- sends

  /**
   * Sends, and waits until the memory is free again.
   *
   * @param from the data
   * @param to the rank, which may be this one
   * @param tag any but {@link #ANY_TAG}
   * @param context 0 to 2^31-1
   * @throws ExsException as the class says
   */
  public void send(ByteBuffer from, int to, int tag, int context) throws ExsException {
    endpoint.send(from, to, tag, context, 0);
  }

  /**
   * Sends part of an array, and waits until the library has it.
   *
   * @param array the data, of primitive elements
   * @param at its first element
   * @param count how many
   * @param to the rank, which may be this one
   * @param tag any but {@link #ANY_TAG}
   * @param context 0 to 2^31-1
   * @throws ExsException as the class says
   */
  public void send(Object array, int at, int count, int to, int tag, int context) throws ExsException {
    endpoint.sendArray(array, at, count, to, tag, context, 0);
  }

  /**
   * As {@link #send(ByteBuffer, int, int, int)}, and waits until a receive has matched it.
   *
   * @param from the data
   * @param to the rank
   * @param tag any but {@link #ANY_TAG}
   * @param context 0 to 2^31-1
   * @throws ExsException as the class says
   */
  public void ssend(ByteBuffer from, int to, int tag, int context) throws ExsException {
    endpoint.send(from, to, tag, context, SYNC);
  }

  /**
   * As {@link #send(Object, int, int, int, int, int)}, and waits until a receive has matched it.
   *
   * @param array the data, of primitive elements
   * @param at its first element
   * @param count how many
   * @param to the rank
   * @param tag any but {@link #ANY_TAG}
   * @param context 0 to 2^31-1
   * @throws ExsException as the class says
   */
  public void ssend(Object array, int at, int count, int to, int tag, int context) throws ExsException {
    endpoint.sendArray(array, at, count, to, tag, context, SYNC);
  }

  /**
   * Starts a send.
   *
   * @param from the data; direct: it belongs to the library until the request has ended
   * @param to the rank, which may be this one
   * @param tag any but {@link #ANY_TAG}
   * @param context 0 to 2^31-1
   * @return a request that ends when the memory is free again
   * @throws ExsException as the class says
   */
  public Request isend(ByteBuffer from, int to, int tag, int context) throws ExsException {
    return endpoint.isend(from, to, tag, context, 0);
  }

  /**
   * Starts a send of part of an array, which may be changed at once.
   *
   * @param array the data, of primitive elements
   * @param at its first element
   * @param count how many
   * @param to the rank, which may be this one
   * @param tag any but {@link #ANY_TAG}
   * @param context 0 to 2^31-1
   * @return a request that ends when the message has left
   * @throws ExsException as the class says
   */
  public Request isend(Object array, int at, int count, int to, int tag, int context) throws ExsException {
    return endpoint.isendArray(array, at, count, to, tag, context, 0);
  }

  /**
   * Starts a send of several direct buffers in a row, as one message.
   *
   * @param pieces up to 1024, each belongs to the library until the request has ended
   * @param to the rank, which may be this one
   * @param tag any but {@link #ANY_TAG}
   * @param context 0 to 2^31-1
   * @return a request that ends when the memory is free again
   * @throws ExsException as the class says
   */
  public Request isend(ByteBuffer[] pieces, int to, int tag, int context) throws ExsException {
    return endpoint.isendPieces(pieces, to, tag, context, 0);
  }

  /**
   * As {@link #isend(ByteBuffer, int, int, int)}, but ends no sooner than a receive has matched it.
   *
   * @param from the data
   * @param to the rank
   * @param tag any but {@link #ANY_TAG}
   * @param context 0 to 2^31-1
   * @return a request that ends when it is matched and the memory is free again
   * @throws ExsException as the class says
   */
  public Request issend(ByteBuffer from, int to, int tag, int context) throws ExsException {
    return endpoint.isend(from, to, tag, context, SYNC);
  }

  /**
   * As {@link #isend(Object, int, int, int, int, int)}, but ends no sooner than a receive has matched it.
   *
   * @param array the data, of primitive elements
   * @param at its first element
   * @param count how many
   * @param to the rank
   * @param tag any but {@link #ANY_TAG}
   * @param context 0 to 2^31-1
   * @return a request that ends when it is matched
   * @throws ExsException as the class says
   */
  public Request issend(Object array, int at, int count, int to, int tag, int context) throws ExsException {
    return endpoint.isendArray(array, at, count, to, tag, context, SYNC);
  }

  /**
   * As {@link #isend(ByteBuffer[], int, int, int)}, but ends no sooner than a receive has matched it.
   *
   * @param pieces up to 1024 direct buffers
   * @param to the rank
   * @param tag any but {@link #ANY_TAG}
   * @param context 0 to 2^31-1
   * @return a request that ends when it is matched and the memory is free again
   * @throws ExsException as the class says
   */
  public Request issend(ByteBuffer[] pieces, int to, int tag, int context) throws ExsException {
    return endpoint.isendPieces(pieces, to, tag, context, SYNC);
  }

  // ---------------------------------------------------------------- receives

  /**
   * Receives the oldest message that matches, or waits for it.
   *
   * @param into the destination; a longer message is cut
   * @param from the rank, or {@link #ANY_SOURCE}
   * @param tag or {@link #ANY_TAG}
   * @param context 0 to 2^31-1
   * @return the status of the message
   * @throws ExsException as the class says; EMSGSIZE: the message was cut, and {@link ExsException#status} has its length
   */
  public Status recv(ByteBuffer into, int from, int tag, int context) throws ExsException {
    return endpoint.recv(into, from, tag, context);
  }

  /**
   * Receives the oldest message that matches into part of an array, or waits for it.
   *
   * @param array the destination, of primitive elements
   * @param at its first element
   * @param count the limit of elements; a longer message is cut, and an incomplete element is not written
   * @param from the rank, or {@link #ANY_SOURCE}
   * @param tag or {@link #ANY_TAG}
   * @param context 0 to 2^31-1
   * @return the status of the message
   * @throws ExsException as {@link #recv(ByteBuffer, int, int, int)}
   */
  public Status recv(Object array, int at, int count, int from, int tag, int context) throws ExsException {
    return endpoint.recvArray(array, at, count, from, tag, context);
  }

  /**
   * Starts a receive of the oldest message that matches.
   *
   * @param into the destination; direct: it belongs to the library until the request has ended
   * @param from the rank, or {@link #ANY_SOURCE}
   * @param tag or {@link #ANY_TAG}
   * @param context 0 to 2^31-1
   * @return a request that ends when the message has arrived
   * @throws ExsException as the class says
   */
  public Request irecv(ByteBuffer into, int from, int tag, int context) throws ExsException {
    return endpoint.irecv(into, from, tag, context);
  }

  /**
   * Starts a receive into part of an array.
   *
   * @param array the destination, of primitive elements; the thread that learns of the request's end writes it
   * @param at its first element
   * @param count the limit of elements
   * @param from the rank, or {@link #ANY_SOURCE}
   * @param tag or {@link #ANY_TAG}
   * @param context 0 to 2^31-1
   * @return a request that ends when the message has arrived
   * @throws ExsException as the class says
   */
  public Request irecv(Object array, int at, int count, int from, int tag, int context) throws ExsException {
    return endpoint.irecvArray(array, at, count, from, tag, context);
  }

  /**
   * Starts a receive into several direct buffers in a row.
   *
   * @param pieces up to 1024, each belongs to the library until the request has ended
   * @param from the rank, or {@link #ANY_SOURCE}
   * @param tag or {@link #ANY_TAG}
   * @param context 0 to 2^31-1
   * @return a request that ends when the message has arrived
   * @throws ExsException as the class says
   */
  public Request irecv(ByteBuffer[] pieces, int from, int tag, int context) throws ExsException {
    return endpoint.irecvPieces(pieces, from, tag, context);
  }

  // ---------------------------------------------------------------- probes

  /**
   * Returns whether a message has arrived that such a receive would get.
   *
   * @param from the rank, or {@link #ANY_SOURCE}
   * @param tag or {@link #ANY_TAG}
   * @param context 0 to 2^31-1
   * @return the status of the message; null: there is none
   * @throws ExsException as the class says
   */
  public Status iprobe(int from, int tag, int context) throws ExsException {
    return endpoint.probe(from, tag, context, 0);
  }

  /**
   * Waits for a message that such a receive would get.
   *
   * @param from the rank, or {@link #ANY_SOURCE}
   * @param tag or {@link #ANY_TAG}
   * @param context 0 to 2^31-1
   * @param timeoutNs in nanoseconds; negative: without limit
   * @return the status of the message; null: none has arrived in that time
   * @throws ExsException as the class says
   */
  public Status probe(int from, int tag, int context, long timeoutNs) throws ExsException {
    return endpoint.probe(from, tag, context, timeoutNs);
  }

  /**
   * As {@link #iprobe}, but takes the message: no other receive gets it.
   *
   * @param from the rank, or {@link #ANY_SOURCE}
   * @param tag or {@link #ANY_TAG}
   * @param context 0 to 2^31-1
   * @return the message; null: there is none
   * @throws ExsException as the class says
   */
  public Message improbe(int from, int tag, int context) throws ExsException {
    return endpoint.mprobe(from, tag, context, 0);
  }

  /**
   * As {@link #probe}, but takes the message: no other receive gets it.
   *
   * @param from the rank, or {@link #ANY_SOURCE}
   * @param tag or {@link #ANY_TAG}
   * @param context 0 to 2^31-1
   * @param timeoutNs in nanoseconds; negative: without limit
   * @return the message; null: none has arrived in that time
   * @throws ExsException as the class says
   */
  public Message mprobe(int from, int tag, int context, long timeoutNs) throws ExsException {
    return endpoint.mprobe(from, tag, context, timeoutNs);
  }

  // ---------------------------------------------------------------- the job

  /**
   * Waits for any request of the channel to end, and returns it: each once, unless the program has learned of its end before. Sends that
   * ended with their calls are not returned.
   *
   * @param timeoutNs in nanoseconds; negative: without limit; 0: asks
   * @return the request, whose {@link Request#await} does not wait; null: none has ended in that time
   * @throws ExsException as the class says
   */
  public Request peek(long timeoutNs) throws ExsException {
    return endpoint.peek(timeoutNs);
  }

  /**
   * The ranks that have died. From then on they no longer fail receives from any source.
   *
   * @return all of them, in the order in which their deaths were noticed
   * @throws ExsException as the class says
   */
  public int[] failed() throws ExsException {
    return endpoint.failed();
  }

  /**
   * Ends this process at once with that exit status, and the job if exs-run has started it. Shutdown hooks do not run. Returns only if
   * the channel is closed.
   *
   * @param code the exit status
   * @throws ExsException EBADF: the channel is closed
   */
  public void abort(int code) throws ExsException {
    endpoint.abort(code);
  }

  /**
   * The channel's counters.
   *
   * @return a snapshot
   * @throws ExsException as the class says
   */
  public Counters counters() throws ExsException {
    return endpoint.counters();
  }

  /**
   * Leaves the job: waits up to 10 seconds for its sends, notifies the others, and ends the remaining requests. Threads that wait in the
   * channel get EBADF. A second call has no effect. An interrupt does not end it.
   *
   * @throws ExsException ETIMEDOUT: a send was not matched in that time, and is given up
   */
  @Override
  public void close() throws ExsException {
    endpoint.close();
  }

  @Override
  public String toString() {
    return "MessageChannel[rank " + rank() + " of " + size() + "]";
  }
}
