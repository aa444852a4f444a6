// SPDX-License-Identifier: BSD-2-Clause
package xdev.exsdev;

import java.io.IOException;
import java.nio.ByteBuffer;
import mpjbuf.Buffer;
import xdev.XDevException;

/** A buffer of MPJ as a message that is sent once: the place of its bytes, with an envelope before them. */
final class Outgoing {
  private final ByteBuffer whole;  // envelope and data in one piece; null: they are apart
  private final ByteBuffer data;
  private ByteBuffer envelope;
  /** The dynamic part; null: none. */
  final byte[] dynamic;
  /** The number of the message, if it has a dynamic part. */
  final int number;

  /** Numbers the messages that need it. */
  interface Numbers {
    int next();
  }

  Outgoing(Buffer buffer, Numbers numbers) {
    try {
      buffer.commit();
    } catch (mpjbuf.BufferException failure) {
      throw new XDevException(failure);
    }
    final ByteBuffer memory = Incoming.memoryOf(buffer);
    final int at = buffer.offset();
    final byte[] objects = buffer.getDynamicBuffer();
    dynamic = objects == null || objects.length == 0 ? null : objects;
    number = dynamic == null ? 0 : numbers.next();
    final int dynamicLength = dynamic == null ? 0 : dynamic.length;
    final ByteBuffer view = memory.duplicate().clear().position(at).limit(at + buffer.getSize());
    if (dynamic == null && at >= Envelope.BYTES && memory.isDirect()) {
      // The envelope is the same whenever this buffer is sent, so it may be sent to several ranks at a time.
      Envelope.put(view.limit(Math.max(at, view.limit())), at - Envelope.BYTES, memory.order(), 0, 0);
      whole = view.position(at - Envelope.BYTES);
      data = null;
    } else if (memory.isDirect()) {
      envelope = Envelopes.take();
      Envelope.put(envelope, 0, memory.order(), dynamicLength, number);
      whole = null;
      data = view;
    } else {
      final ByteBuffer copy = ByteBuffer.allocate(Envelope.BYTES + view.remaining());
      Envelope.put(copy, 0, memory.order(), dynamicLength, number);
      whole = copy.position(Envelope.BYTES).put(view).flip();
      data = null;
    }
  }

  /** Starts the send, without the dynamic part. */
  exs.Request start(exs.MessageChannel channel, int to, int tag, int context, boolean isSynchronous) throws IOException {
    if (whole != null) return isSynchronous ? channel.issend(whole, to, tag, context) : channel.isend(whole, to, tag, context);
    final ByteBuffer[] pieces = {envelope.duplicate().clear(), data};
    return isSynchronous ? channel.issend(pieces, to, tag, context) : channel.isend(pieces, to, tag, context);
  }

  /** Returns true if one call has sent everything, because it is one piece of memory. */
  boolean sendWhole(exs.MessageChannel channel, int to, int tag, int context, boolean isSynchronous) throws IOException {
    if (whole == null || dynamic != null) return false;
    if (isSynchronous) channel.ssend(whole, to, tag, context);
    else channel.send(whole, to, tag, context);
    return true;
  }

  /** The static part has left. */
  void ended() {
    if (envelope != null) Envelopes.give(envelope);
    envelope = null;
  }
}
