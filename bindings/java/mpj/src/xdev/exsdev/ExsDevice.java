// SPDX-License-Identifier: BSD-2-Clause
package xdev.exsdev;

import exs.MessageChannel;
import java.io.IOException;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import mpjbuf.Buffer;
import mpjdev.Request;
import mpjdev.Status;
import xdev.Device;
import xdev.ProcessID;
import xdev.XDevException;

/**
 * The device of MPJ Express over exs: exs-run starts the processes, and their messages are those of exs/msg.h, by memory within a host.
 *
 * <p>The data of a buffer moves from direct memory to direct memory without a change, behind eight bytes ({@link Envelope}). Serialized
 * objects follow as a message of their own, under a context that MPJ does not use, with the first message's number as their tag. So
 * concurrent receives cannot get each other's objects.
 *
 * <p>Any thread may call anything at any time.
 */
public final class ExsDevice implements Device {
  private static final int SHADOW = 1 << 30;  // turns a context into that of dynamic parts
  private static final int BARRIER = Integer.MAX_VALUE;
  private static final long PEEK_SLICE_NS = 10_000_000;
  private static final long FAMILY = 0x6578732d6d706aL;  // the upper half of our UUIDs; the lower half is the rank

  private final AtomicInteger numbers = new AtomicInteger();
  private final Ended ended = new Ended();
  private final MessageChannel channel;
  private final ProcessID[] processes;

  /**
   * A device in the job that exs-run has started this process for.
   *
   * @throws XDevException exs cannot be started, or the job has no place for this process
   */
  public ExsDevice() throws XDevException {
    channel = JobChannel.get();
    processes = new ProcessID[channel.size()];
    for (int rank = 0; rank < processes.length; ++rank) processes[rank] = new ProcessID(new UUID(FAMILY, rank));
  }

  @Override
  public ProcessID[] init(String[] args) throws XDevException {
    if (!args[0].equals(Integer.toString(channel.rank())))
      throw new XDevException("exsdev: the first argument, the rank, is " + args[0] + ", but exs-run calls it " + channel.rank());
    JobChannel.began();
    return processes.clone();
  }

  @Override
  public ProcessID id() {
    return processes[channel.rank()];
  }

  @Override
  public int getSendOverhead() {
    return Envelope.BYTES;
  }

  @Override
  public int getRecvOverhead() {
    return Envelope.BYTES;
  }

  /** Waits for all processes, as other devices do: a message to one that has left would fail. The next device uses the same job. */
  @Override
  public void finish() throws XDevException {
    try {
      for (int distance = 1; distance < channel.size(); distance *= 2) {
        channel.send(new byte[0], 0, 0, (channel.rank() + distance) % channel.size(), distance, BARRIER);
        channel.recv(new byte[0], 0, 0, (channel.rank() + channel.size() - distance) % channel.size(), distance, BARRIER);
      }
    } catch (IOException failure) {
      throw new XDevException(failure);
    }
    JobChannel.finished();
  }

  // ---------------------------------------------------------------- sends

  @Override
  public Request isend(Buffer buffer, ProcessID to, int tag, int context) throws XDevException {
    return start(buffer, to, tag, context, false);
  }

  @Override
  public Request issend(Buffer buffer, ProcessID to, int tag, int context) throws XDevException {
    return start(buffer, to, tag, context, true);
  }

  @Override
  public void send(Buffer buffer, ProcessID to, int tag, int context) throws XDevException {
    sendAndWait(buffer, to, tag, context, false);
  }

  @Override
  public void ssend(Buffer buffer, ProcessID to, int tag, int context) throws XDevException {
    sendAndWait(buffer, to, tag, context, true);
  }

  private void sendAndWait(Buffer buffer, ProcessID to, int tag, int context, boolean isSynchronous) {
    final Outgoing outgoing = new Outgoing(buffer, this::nextNumber);
    try {
      if (outgoing.sendWhole(channel, rankOf(to), tag, checked(context), isSynchronous)) return;
    } catch (IOException failure) {
      throw new XDevException(failure);
    }
    start(outgoing, to, tag, context, isSynchronous).iwait();
  }

  private Request start(Buffer buffer, ProcessID to, int tag, int context, boolean isSynchronous) {
    final SendRequest request = start(new Outgoing(buffer, this::nextNumber), to, tag, context, isSynchronous);
    // peek does not return requests that ended with their calls.
    request.itest();
    return request;
  }

  private SendRequest start(Outgoing outgoing, ProcessID to, int tag, int context, boolean isSynchronous) {
    try {
      final exs.Request data = outgoing.start(channel, rankOf(to), tag, checked(context), isSynchronous);
      final exs.Request dynamic = outgoing.dynamic == null
          ? null
          : channel.isend(outgoing.dynamic, 0, outgoing.dynamic.length, rankOf(to), outgoing.number, context | SHADOW);
      return new SendRequest(ended, outgoing, data, dynamic, tag);
    } catch (IOException failure) {
      throw new XDevException(failure);
    }
  }

  private int nextNumber() {
    return numbers.incrementAndGet() & Integer.MAX_VALUE;
  }

  // ---------------------------------------------------------------- receives

  @Override
  public Status recv(Buffer buffer, ProcessID from, int tag, int context) throws XDevException {
    final Incoming incoming = new Incoming(buffer);
    try {
      final exs.Status data = incoming.receiveWhole(channel, rankOf(from), tag, checked(context));
      if (data == null) return start(incoming, from, tag, context, null).iwait();
      finishDynamic(incoming, data);
      return tell(new Status(), incoming, data);
    } catch (IOException failure) {
      throw new XDevException(failure);
    }
  }

  @Override
  public Request irecv(Buffer buffer, ProcessID from, int tag, int context, Status status) throws XDevException {
    return start(new Incoming(buffer), from, tag, context, status);
  }

  private ReceiveRequest start(Incoming incoming, ProcessID from, int tag, int context, Status status) {
    try {
      return new ReceiveRequest(this, incoming, incoming.start(channel, rankOf(from), tag, checked(context)), status);
    } catch (IOException failure) {
      throw new XDevException(failure);
    }
  }

  private void finishDynamic(Incoming incoming, exs.Status data) throws IOException {
    final byte[] objects = new byte[incoming.arrived(data.length())];
    if (objects.length == 0) return;
    channel.recv(objects, 0, objects.length, data.source(), incoming.number(), data.context() | SHADOW);
    incoming.arrivedDynamic(objects);
  }

  /** Receives the dynamic part of a message whose first part has arrived. */
  exs.Request startDynamic(byte[] objects, exs.Status data, int number) throws IOException {
    return channel.irecv(objects, 0, objects.length, data.source(), number, data.context() | SHADOW);
  }

  /** Fills `status` with the result. */
  Status tell(Status status, Incoming incoming, exs.Status data) {
    status.srcID = processes[data.source()].uuid();
    status.tag = data.tag();
    incoming.describe(status);
    return status;
  }

  // ---------------------------------------------------------------- probes

  /** A probe does not know the type of the message before it is received, so Status.Get_count goes by the bytes. */
  @Override
  public Status probe(ProcessID from, int tag, int context) throws XDevException {
    try {
      return found(channel.probe(rankOf(from), tag, checked(context), -1));
    } catch (IOException failure) {
      throw new XDevException(failure);
    }
  }

  @Override
  public Status iprobe(ProcessID from, int tag, int context) throws XDevException {
    try {
      return found(channel.iprobe(rankOf(from), tag, checked(context)));
    } catch (IOException failure) {
      throw new XDevException(failure);
    }
  }

  @Override
  public Status iprobe(ProcessID from, ProcessID to, int tag, int context) throws XDevException {
    return id().uuid().equals(to.uuid()) ? iprobe(from, tag, context) : null;
  }

  @Override
  public Status iprobeAndFetch(ProcessID from, ProcessID to, int tag, int context, Buffer buffer) throws XDevException {
    if (!id().uuid().equals(to.uuid())) return null;
    try {
      final exs.Message message = channel.improbe(rankOf(from), tag, checked(context));
      if (message == null) return null;
      final Incoming incoming = new Incoming(buffer);
      final exs.Request request = incoming.start(message);
      final exs.Status data = request == null ? message.status() : await(request);
      finishDynamic(incoming, data);
      return tell(new Status(), incoming, data);
    } catch (IOException failure) {
      throw new XDevException(failure);
    }
  }

  private exs.Status await(exs.Request request) throws IOException {
    request.attach(this);  // peek sees the attachment, and skips the request
    return request.await();
  }

  private Status found(exs.Status message) {
    if (message == null) return null;
    final Status status = new Status(processes[message.source()].uuid(), message.tag(), -1);
    status.countInBytes = (int) Math.max(0, message.length() - Envelope.BYTES - Buffer.SECTION_OVERHEAD);
    return status;
  }

  // ---------------------------------------------------------------- requests

  /** Waits for any request to end, and returns each once, except those whose end a thread has waited for before. */
  @Override
  public Request peek() throws XDevException {
    try {
      for (;;) {
        final ExsRequest request = ended.take();
        if (request != null) return request;
        final exs.Request named = channel.peek(PEEK_SLICE_NS);
        if (named != null && owner(named) instanceof ExsRequest) ((ExsRequest) owner(named)).itest();
      }
    } catch (IOException failure) {
      throw new XDevException(failure);
    }
  }

  /** The thread that has started the request may not have attached its owner yet. */
  private static Object owner(exs.Request request) {
    Object owner = request.attachment();
    while (owner == null) {
      Thread.onSpinWait();
      owner = request.attachment();
    }
    return owner;
  }

  Ended ended() {
    return ended;
  }

  // ---------------------------------------------------------------- arguments

  private int rankOf(ProcessID process) {
    final UUID uuid = process.uuid();
    if (uuid.getMostSignificantBits() == FAMILY) return (int) uuid.getLeastSignificantBits();
    if (uuid.equals(ANY_SRC.uuid())) return MessageChannel.ANY_SOURCE;
    throw new XDevException("exsdev: " + uuid + " is no process of this job");
  }

  private static int checked(int context) {
    if (context >= 0 && context < SHADOW) return context;
    throw new XDevException("exsdev: there is no context " + context);
  }
}
