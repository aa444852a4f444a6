// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.util.List;
import java.util.function.LongToIntFunction;

/** The implementation of a {@link MessageChannel}: starts requests, waits for them, and keeps their memory. Thread: any. */
final class Endpoint extends Guarded {
  private static final int PIECE_BYTES = 24;
  private static final int COUNTERS = 12;

  private final long ep;
  private final int rank;
  private final int size;
  private final RequestTable requests = new RequestTable();

  private Endpoint(long ep) {
    this.ep = ep;
    rank = Native.rank(ep);
    size = Native.size(ep);
  }

  static Endpoint join(byte[] addresses, int rank, int size, byte[] key, int eagerBytes, int timeoutMs) throws ExsException {
    final CallFrame frame = CallFrame.ofThread();
    final int outcome = Native.join(addresses, rank, size, key, eagerBytes, timeoutMs, frame.out);
    if (outcome < 0) throw ExsException.of(outcome);
    return new Endpoint(frame.request());
  }

  int rank() {
    return rank;
  }

  int size() {
    return size;
  }

  long ep() {
    return ep;
  }

  RequestTable requests() {
    return requests;
  }

  @Override
  String name() {
    return "MessageChannel";
  }

  // ---------------------------------------------------------------- sends

  void send(ByteBuffer from, int to, int tag, int context, int flags) throws ExsException {
    if (!from.isDirect()) {
      sendArray(arrayOf(from), startOf(from), from.remaining(), to, tag, context, flags);
      return;
    }
    final Request rest;
    final CallFrame frame = enter();
    try {
      final int outcome =
          Native.send(ep, from, from.position(), from.remaining(), to, tag, context, flags, SLICE_NS, frame.out);
      if (outcome == Native.DONE) return;
      rest = unfinished(outcome, frame, new Request(this, false, from, null));
    } finally {
      leave(frame);
    }
    finishAnyway(rest, "send");
  }

  void sendArray(Object array, int at, int count, int to, int tag, int context, int flags) throws ExsException {
    final int kind = Elements.kindOf(array, at, count);
    final CallFrame frame = enter();
    Request rest = null;
    Stage stage = null;
    try {
      stage = frame.takeStage(Elements.bytesOf(kind, count));
      final int outcome =
          Native.sendArray(ep, array, kind, at, count, stage.address(), to, tag, context, flags, SLICE_NS, frame.out);
      if (outcome == Native.DONE) return;
      rest = unfinished(outcome, frame, new Request(this, false, stage, null));
    } finally {
      if (rest == null && stage != null) frame.giveBack(stage);
      leave(frame);
    }
    finishAnyway(rest, "send");
  }

  Request isend(ByteBuffer from, int to, int tag, int context, int flags) throws ExsException {
    if (!from.isDirect()) return isendArray(arrayOf(from), startOf(from), from.remaining(), to, tag, context, flags);
    final int at = from.position();
    final int length = from.remaining();
    return start(new Request(this, false, from, null), out -> Native.isend(ep, from, at, length, to, tag, context, flags, out));
  }

  Request isendArray(Object array, int at, int count, int to, int tag, int context, int flags) throws ExsException {
    final int kind = Elements.kindOf(array, at, count);
    final Stage stage = Stage.take(Elements.bytesOf(kind, count));
    return start(new Request(this, false, stage, null),
        out -> Native.isendArray(ep, array, kind, at, count, stage.address(), to, tag, context, flags, out));
  }

  Request isendPieces(ByteBuffer[] pieces, int to, int tag, int context, int flags) throws ExsException {
    final ByteBuffer[] kept = pieces.clone();
    final long list = listOf(kept);
    return start(new Request(this, false, kept, null),
        out -> Native.isendPieces(ep, list, kept.length, to, tag, context, flags, out));
  }

  // ---------------------------------------------------------------- receives

  Status recv(ByteBuffer into, int from, int tag, int context) throws ExsException {
    writable(into);
    if (!into.isDirect()) return recvArray(arrayOf(into), startOf(into), into.remaining(), from, tag, context);
    final Request rest;
    final CallFrame frame = enter();
    try {
      final int outcome =
          Native.recv(ep, into, into.position(), into.remaining(), from, tag, context, SLICE_NS, frame.out);
      if (outcome == Native.DONE) return frame.status();
      rest = unfinished(outcome, frame, new Request(this, true, into, null));
    } finally {
      leave(frame);
    }
    return finishAnyway(rest, "recv");
  }

  Status recvArray(Object array, int at, int count, int from, int tag, int context) throws ExsException {
    final int kind = Elements.kindOf(array, at, count);
    final CallFrame frame = enter();
    Request rest = null;
    Stage stage = null;
    try {
      stage = frame.takeStage(Elements.bytesOf(kind, count));
      final int outcome =
          Native.recvArray(ep, array, kind, at, count, stage.address(), from, tag, context, SLICE_NS, frame.out);
      if (outcome == Native.DONE) return frame.status();
      rest = unfinished(outcome, frame, new Request(this, true, stage, new Request.Incoming(array, kind, at, count)));
    } finally {
      if (rest == null && stage != null) frame.giveBack(stage);
      leave(frame);
    }
    return finishAnyway(rest, "recv");
  }

  Request irecv(ByteBuffer into, int from, int tag, int context) throws ExsException {
    writable(into);
    if (!into.isDirect()) return irecvArray(arrayOf(into), startOf(into), into.remaining(), from, tag, context);
    final int at = into.position();
    final int length = into.remaining();
    return start(new Request(this, true, into, null), out -> Native.irecv(ep, into, at, length, from, tag, context, out));
  }

  Request irecvArray(Object array, int at, int count, int from, int tag, int context) throws ExsException {
    final Request.Incoming incoming = new Request.Incoming(array, Elements.kindOf(array, at, count), at, count);
    final long bytes = Elements.bytesOf(incoming.kind(), count);
    final Stage stage = Stage.take(bytes);
    return start(new Request(this, true, stage, incoming),
        out -> Native.irecvAt(ep, stage.address(), bytes, from, tag, context, out));
  }

  Request irecvPieces(ByteBuffer[] pieces, int from, int tag, int context) throws ExsException {
    final ByteBuffer[] kept = pieces.clone();
    for (final ByteBuffer piece : kept) writable(piece);
    final long list = listOf(kept);
    return start(new Request(this, true, kept, null),
        out -> Native.irecvPieces(ep, list, kept.length, from, tag, context, out));
  }

  /** Receives a message that a probe has taken. */
  Request imrecv(long message, ByteBuffer into) throws ExsException {
    writable(into);
    if (!into.isDirect()) return imrecvArray(message, arrayOf(into), startOf(into), into.remaining());
    final int at = into.position();
    final int length = into.remaining();
    return start(new Request(this, true, into, null), out -> Native.imrecv(ep, message, into, at, length, out));
  }

  Request imrecvArray(long message, Object array, int at, int count) throws ExsException {
    final Request.Incoming incoming = new Request.Incoming(array, Elements.kindOf(array, at, count), at, count);
    final long bytes = Elements.bytesOf(incoming.kind(), count);
    final Stage stage = Stage.take(bytes);
    return start(new Request(this, true, stage, incoming), out -> Native.imrecvAt(ep, message, stage.address(), bytes, out));
  }

  // ---------------------------------------------------------------- probes

  Status probe(int from, int tag, int context, long timeoutNs) throws ExsException {
    final Deadline deadline = new Deadline("probe", timeoutNs);
    do {
      final CallFrame frame = enter();
      try {
        if (happened(timeoutNs == 0 ? Native.iprobe(ep, from, tag, context, frame.out)
                                    : Native.probe(ep, from, tag, context, deadline.sliceNs(), frame.out)))
          return frame.status();
      } finally {
        leave(frame);
      }
    } while (deadline.isAhead());
    return null;
  }

  Message mprobe(int from, int tag, int context, long timeoutNs) throws ExsException {
    final Deadline deadline = new Deadline("mprobe", timeoutNs);
    do {
      final CallFrame frame = enter();
      try {
        if (happened(timeoutNs == 0 ? Native.improbe(ep, from, tag, context, frame.out)
                                    : Native.mprobe(ep, from, tag, context, deadline.sliceNs(), frame.out)))
          return new Message(this, frame.message(), frame.status());
      } finally {
        leave(frame);
      }
    } while (deadline.isAhead());
    return null;
  }

  // ---------------------------------------------------------------- requests

  Request peek(long timeoutNs) throws ExsException {
    final Deadline deadline = new Deadline("peek", timeoutNs);
    do {
      for (long named = named(deadline.sliceNs()); named != 0; named = named(0)) {
        final Request found = requests.find(named);
        if (found != null && found.isReleased()) endReleased(found);
        if (found != null && !found.isHidden()) return found;
      }
    } while (deadline.isAhead());
    return null;
  }

  /** Returns 0 if none has ended in that time. */
  private long named(long sliceNs) throws ExsException {
    final CallFrame frame = enter();
    try {
      return happened(Native.peek(ep, sliceNs, frame.out)) ? frame.request() : 0;
    } finally {
      leave(frame);
    }
  }

  /** Waits until a request that the caller has claimed has ended. Returns false if the time is over. */
  boolean finish(Request request, long timeoutNs) throws ExsException {
    final Deadline deadline = new Deadline("await", timeoutNs);
    do {
      if (hasEnded(request, deadline.sliceNs())) return true;
    } while (deadline.isAhead());
    return false;
  }

  void cancel(Request request) throws ExsException {
    final CallFrame frame = enter();
    try {
      // EINVAL: the request has ended meanwhile.
      Native.cancel(ep, request.handle());
    } finally {
      leave(frame);
    }
  }

  void release(Request request) {
    requests.release(request);
  }

  private boolean hasEnded(Request request, long sliceNs) throws ExsException {
    final CallFrame frame = enter();
    try {
      frame.setRequest(request.handle());
      final int outcome = sliceNs == 0 ? Native.test(ep, frame.out) : Native.await(ep, sliceNs, frame.out);
      if (outcome == Native.PENDING) return false;
      if (frame.request() != 0) throw ExsException.of(outcome);
      requests.remove(request);
      request.end(frame.status(), outcome < 0 ? Native.errorText(-outcome) : null);
      return true;
    } finally {
      leave(frame);
    }
  }

  private boolean endReleased(Request request) throws ExsException {
    return hasEnded(request, 0);
  }

  /** Starts `request`; its memory belongs to the library until it has ended. */
  private Request start(Request request, LongToIntFunction call) throws ExsException {
    for (final Request released : requests.someReleased()) {
      if (!endReleased(released)) requests.release(released);
    }
    final CallFrame frame = enter();
    boolean isStarted = false;
    try {
      synchronized (requests) {
        requests.reserve();
        final int outcome = call.applyAsInt(frame.out);
        if (outcome < 0) throw ExsException.of(outcome);
        isStarted = true;
        request.start(frame.request());
        if (frame.request() != 0) requests.add(request);
        return request;
      }
    } finally {
      if (!isStarted) request.giveUp();
      leave(frame);
    }
  }

  /** Returns the request that a blocking call has started and that has not ended in its first slice. */
  private Request unfinished(int outcome, CallFrame frame, Request request) throws ExsException {
    if (outcome < 0) {
      final Status status = frame.status();
      throw status.error() == -outcome ? new ExsException(-outcome, Native.errorText(-outcome), status) : ExsException.of(outcome);
    }
    request.hide();
    request.start(frame.request());
    requests.reserve();
    requests.add(request);
    return request;
  }

  /** Waits for a request that no other code knows; an interrupt cancels it. */
  Status finishAnyway(Request request, String what) throws ExsException {
    request.claim();
    boolean isCancelled = false;
    while (!hasEnded(request, SLICE_NS)) {
      if (isCancelled || !Thread.currentThread().isInterrupted()) continue;
      isCancelled = true;
      cancel(request);
    }
    if (request.status().isCancelled()) throw ExsException.interrupted(what);
    return request.result();
  }

  // ---------------------------------------------------------------- the job

  int[] failed() throws ExsException {
    final CallFrame frame = enter();
    try {
      final ByteBuffer list = frame.list(size * Integer.BYTES);
      final int count = Native.failed(ep, Native.address(list), size);
      if (count < 0) throw ExsException.of(count);
      final int[] ranks = new int[Math.min(count, size)];
      list.clear().asIntBuffer().get(ranks);
      return ranks;
    } finally {
      leave(frame);
    }
  }

  void abort(int code) throws ExsException {
    final CallFrame frame = enter();
    try {
      Native.abort(ep, code);
    } finally {
      leave(frame);
    }
  }

  Counters counters() throws ExsException {
    final CallFrame frame = enter();
    try {
      final ByteBuffer list = frame.list(COUNTERS * Long.BYTES);
      final int outcome = Native.counters(ep, Native.address(list));
      if (outcome < 0) throw ExsException.of(outcome);
      final long[] of = new long[COUNTERS];
      list.clear().asLongBuffer().get(of);
      return new Counters(of[0], of[1], of[2], of[3], of[4], of[5], of[6], of[7], of[8], of[9], of[10], of[11]);
    } finally {
      leave(frame);
    }
  }

  void close() throws ExsException {
    if (!shut()) return;
    final int outcome = Native.leave(ep);
    final List<Request> rest = requests.clear();
    for (final Request request : rest) request.endClosed();
    if (outcome < 0) throw ExsException.of(outcome);
  }

  // ---------------------------------------------------------------- arguments

  private static boolean happened(int outcome) throws ExsException {
    if (outcome < 0) throw ExsException.of(outcome);
    return outcome == Native.DONE;
  }

  private static void writable(ByteBuffer into) {
    if (into.isReadOnly()) throw new ReadOnlyBufferException();
  }

  private static byte[] arrayOf(ByteBuffer heap) {
    if (!heap.hasArray()) throw new IllegalArgumentException("a buffer that is neither direct nor has an array that can be read");
    return heap.array();
  }

  private static int startOf(ByteBuffer heap) {
    return heap.arrayOffset() + heap.position();
  }

  /** Writes the pieces as exs_iovec_t; the list is valid until the thread's next list. */
  private static long listOf(ByteBuffer[] pieces) {
    final ByteBuffer list = CallFrame.ofThread().list(Math.max(1, pieces.length) * PIECE_BYTES);
    list.clear();
    for (int i = 0; i < pieces.length; ++i) {
      if (!pieces[i].isDirect()) throw new IllegalArgumentException("piece " + i + " is no direct buffer");
      list.putLong(Native.address(pieces[i]) + pieces[i].position()).putLong(pieces[i].remaining()).putLong(0);
    }
    return Native.address(list);
  }
}
