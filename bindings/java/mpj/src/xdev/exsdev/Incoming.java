// SPDX-License-Identifier: BSD-2-Clause
package xdev.exsdev;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import mpjbuf.Buffer;
import mpjbuf.NIOBuffer;
import mpjbuf.Type;
import xdev.XDevException;

/** A buffer of MPJ that receives a message: the places of its bytes, and the facts that the buffer needs afterwards. */
final class Incoming {
  private static final int SECTION_HEADER = 8;  // of MPJ: type, 3 unused bytes, number of elements

  private final Buffer buffer;
  private final ByteBuffer memory;
  private final int at;
  private final ByteBuffer whole;  // envelope and data in one piece; null: they are apart
  private ByteBuffer envelope;
  private int dynamicLength;
  private int number;

  Incoming(Buffer buffer) {
    this.buffer = buffer;
    memory = memoryOf(buffer);
    at = buffer.offset();
    if (!memory.isDirect()) whole = ByteBuffer.allocate(Envelope.BYTES + memory.capacity() - at);
    else whole = at >= Envelope.BYTES ? memory.duplicate().clear().position(at - Envelope.BYTES) : null;
    if (whole == null) envelope = Envelopes.take();
  }

  /** The memory of a buffer's static part. */
  static ByteBuffer memoryOf(Buffer buffer) {
    if (buffer.getStaticBuffer() instanceof NIOBuffer) return ((NIOBuffer) buffer.getStaticBuffer()).getBuffer();
    throw new XDevException("exsdev: a buffer whose memory is no java.nio.ByteBuffer");
  }

  exs.Request start(exs.MessageChannel channel, int from, int tag, int context) throws IOException {
    if (whole != null) return channel.irecv(whole, from, tag, context);
    return channel.irecv(pieces(), from, tag, context);
  }

  exs.Request start(exs.Message message) throws IOException {
    if (whole != null) return message.irecv(whole);
    // A message that a probe has taken is received into one piece.
    final ByteBuffer copy = ByteBuffer.allocateDirect((int) message.status().length());
    message.recv(copy);
    final ByteBuffer[] pieces = pieces();
    pieces[0].put(copy.limit(Envelope.BYTES));
    pieces[1].put(copy.limit(copy.capacity()));
    return null;
  }

  /** Returns null if one call cannot receive it. */
  exs.Status receiveWhole(exs.MessageChannel channel, int from, int tag, int context) throws IOException {
    return whole == null ? null : channel.recv(whole, from, tag, context);
  }

  private ByteBuffer[] pieces() {
    return new ByteBuffer[] {envelope.duplicate().clear(), memory.duplicate().clear().position(at)};
  }

  /** The static part has arrived: `length` bytes with the envelope. Returns the length of the dynamic part that follows. */
  int arrived(long length) {
    if (length < Envelope.BYTES) throw new XDevException("exsdev: a message of " + length + " bytes, which none of this device is");
    final ByteBuffer head = whole == null ? envelope : whole.duplicate();
    final int headAt = whole == null ? 0 : whole.position();
    final ByteOrder order = Envelope.order(head, headAt);
    dynamicLength = Envelope.dynamicLength(head, headAt);
    number = Envelope.number(head, headAt);
    final int size = (int) length - Envelope.BYTES;
    if (whole != null && !memory.isDirect()) memory.duplicate().clear().position(at).put(whole.duplicate().position(Envelope.BYTES).limit((int) length));
    if (envelope != null) Envelopes.give(envelope);
    envelope = null;
    buffer.setSize(size);
    if (memory.order() != order) buffer.setEncoding(order);
    return dynamicLength;
  }

  /** The number of the dynamic part's message. */
  int number() {
    return number;
  }

  void arrivedDynamic(byte[] objects) {
    buffer.setDynamicBuffer(objects);
  }

  /** Fills MPJ's status from the first section of the message. */
  void describe(mpjdev.Status status) {
    status.index = -1;
    status.countInBytes = Math.max(0, buffer.getSize() - SECTION_HEADER);
    if (buffer.getSize() < SECTION_HEADER) return;
    status.type = Type.getType(memory.get(at));
    // Uses a duplicate, because another thread may be reading the buffer. A duplicate does not keep the byte order.
    status.numEls = memory.duplicate().clear().order(memory.order()).getInt(at + 4);
  }
}
