// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.nio.ByteBuffer;

/**
 * The calls into libexs-java.so: static, with primitives, buffers and arrays alone.
 *
 * <p>They return the result of the C function of that name, or a negative errno value; {@link #errorText} then has its text, for the same
 * thread. Other results are in the 64 bytes at {@code out}, which belong to the calling thread ({@link CallFrame}). Calls that wait do so
 * for at most {@code sliceNs}, and return {@link #PENDING} if nothing happened.
 */
final class Native {
  static final int PENDING = 0;
  static final int DONE = 1;

  static {
    NativeLibrary.load(System.getProperty("exs.library"), "exs-java");
    final int outcome = start();
    if (outcome < 0) throw new ExceptionInInitializerError(errorText(-outcome));
  }

  private Native() {}

  /** Calls exs_init, once and for the life of the process: direct buffers of exs must never lose their memory. */
  private static native int start();

  /** The text of this thread's last failed call. */
  static native String errorText(int errno);

  /** The meaning of an errno value. */
  static native String describe(int errno);

  /** The address of a direct buffer's first byte; 0: the buffer is not direct. */
  static native long address(ByteBuffer buffer);

  // ---------------------------------------------------------------- memory

  /** Allocates memory of exs_alloc; {@code out} gets its address and region. */
  static native int alloc(long bytes, long out);

  static native int free(long address);

  static native ByteBuffer wrap(long address, long bytes);

  /** Copies from memory into {@code count} elements of an array from element {@code at} on. */
  static native void copyOut(Object array, int kind, int at, int count, long memory);

  // ---------------------------------------------------------------- messages

  /** Each address ends with a zero byte; null: exs-run supplies them. The endpoint is the request in {@code out}. */
  static native int join(byte[] addresses, int rank, int size, byte[] key, int eagerBytes, int timeoutMs, long out);

  static native int rank(long ep);

  static native int size(long ep);

  static native int leave(long ep);

  static native int abort(long ep, int code);

  static native int failed(long ep, long ranks, int room);

  static native int counters(long ep, long twelve);

  static native int isend(long ep, ByteBuffer from, int at, int length, int to, int tag, int context, int flags, long out);

  static native int isendArray(
      long ep, Object array, int kind, int at, int count, long stage, int to, int tag, int context, int flags, long out);

  static native int isendPieces(long ep, long pieces, int count, int to, int tag, int context, int flags, long out);

  static native int irecv(long ep, ByteBuffer into, int at, int length, int from, int tag, int context, long out);

  static native int irecvAt(long ep, long address, long length, int from, int tag, int context, long out);

  static native int irecvPieces(long ep, long pieces, int count, int from, int tag, int context, long out);

  static native int send(
      long ep, ByteBuffer from, int at, int length, int to, int tag, int context, int flags, long sliceNs, long out);

  static native int sendArray(
      long ep, Object array, int kind, int at, int count, long stage, int to, int tag, int context, int flags, long sliceNs, long out);

  static native int recv(long ep, ByteBuffer into, int at, int length, int from, int tag, int context, long sliceNs, long out);

  static native int recvArray(
      long ep, Object array, int kind, int at, int count, long stage, int from, int tag, int context, long sliceNs, long out);

  static native int iprobe(long ep, int from, int tag, int context, long out);

  static native int probe(long ep, int from, int tag, int context, long sliceNs, long out);

  static native int improbe(long ep, int from, int tag, int context, long out);

  static native int mprobe(long ep, int from, int tag, int context, long sliceNs, long out);

  static native int imrecv(long ep, long message, ByteBuffer into, int at, int length, long out);

  static native int imrecvAt(long ep, long message, long address, long length, long out);

  /** Waits for the request in {@code out}. */
  static native int await(long ep, long sliceNs, long out);

  static native int test(long ep, long out);

  /** Waits for one of the requests at {@code handles}; its index is in {@code out}. */
  static native int awaitAny(long ep, long handles, int count, long sliceNs, long out);

  /** Returns how many have ended; {@link #PENDING}: none yet. */
  static native int awaitSome(long ep, long handles, int count, long indices, long statuses, long sliceNs);

  /** Requests that have ended become 0 and have their statuses, also if it returns {@link #PENDING}. */
  static native int awaitAll(long ep, long handles, int count, long statuses, long sliceNs);

  /** Puts the request into {@code out}. */
  static native int peek(long ep, long sliceNs, long out);

  static native int cancel(long ep, long request);

  // ---------------------------------------------------------------- sockets and queues

  static native int socket(int domain, int type);

  /** An address is 28 bytes at {@code address}: family (4 or 6), port, scope, and 16 bytes. */
  static native int bind(int socket, long address);

  static native int listen(int socket, int backlog);

  static native int setProvider(int socket, byte[] text);

  static native byte[] text(int socket, int option);

  /** Sets the small-packet maximum, and the credits of both directions. */
  static native int setLimits(int socket, int smallBytes, int credits);

  static native int smallBytes(int socket);

  static native int credits(int socket);

  static native int setInt(int socket, int option, int value);

  static native int localAddress(int socket, long address);

  static native int peerAddress(int socket, long address);

  static native int connect(int socket, long address, int queue, long handle);

  static native int accept(int socket, int queue, long handle);

  /** An offset below 0 means none. If the buffer is null, the memory is at {@code at}. */
  static native int post(
      boolean isSend, int socket, ByteBuffer buffer, long at, long length, int flags, int queue, long handle, int region, long offset);

  /** Sends `count` pieces, each of 24 bytes at {@code pieces}, an exs_iovec_t. Its event has the form of a send's. */
  static native int sendPieces(int socket, long pieces, int count, int queue, long handle);

  static native int shutdown(int socket, int how);

  static native int cancelOperation(int socket, long handle);

  /** Waits up to the linger time of the socket. */
  static native int closeSocket(int socket);

  static native int closeSocketLater(int socket, int queue, long handle);

  static native int createQueue(int depth);

  static native int deleteQueue(int queue);

  /** Writes up to {@code max} events of 64 bytes to {@code events} and returns how many; 0: none in that time. */
  static native int dequeue(int queue, long events, int max, long sliceNs);

  static native int wake(int queue);

  static native int snapshotOfWindow(int socket, long into, long length, int region, long offset, long windowOffset, long sliceNs);

  static native int snapshotOfSlots(
      int socket, long into, long length, int region, long offset, long slotsOffset, long snapshot, long sliceNs);

  static native void beginUpdate(long window);

  static native void endUpdate(long window);

  static native long slotsBytes(int count, long bytes);

  static native void startSlots(long slots, int count, long bytes);

  /** The address of the slot for the next update. */
  static native long beginSlot(long slots);

  static native void endSlot(long slots);
}
