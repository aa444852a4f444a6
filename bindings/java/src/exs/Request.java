// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A pending send or receive of a {@link MessageChannel}.
 *
 * <p>The channel holds it, and it holds its memory, until the program learns of its end: by {@link #await}, {@link #test} or the calls
 * for several requests. A forgotten one is safe, but stays until the channel is closed; {@link #release} gives one up. A receive into an
 * array writes it when a thread learns of the end, in that thread.
 *
 * <p>Threads: one waits at a time, and a second gets IllegalStateException; any may call the other methods.
 */
public final class Request {
  private static final VarHandle CLAIM;

  static {
    try {
      CLAIM = MethodHandles.lookup().findVarHandle(Request.class, "isClaimed", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** The next in the chain of {@link RequestTable}, which guards it. */
  Request next;
  private enum Whose { PROGRAM, BLOCKING_CALL, NOBODY }


  private final Endpoint endpoint;
  private final boolean isReceive;
  private long handle;
  /** Its memory: a buffer, several, or the stage of an array. */
  private Object memory;
  private Incoming incoming;
  private volatile Whose whose = Whose.PROGRAM;
  private volatile Object attachment;
  private volatile Status status;
  private String failure;
  @SuppressWarnings("unused") // by CLAIM
  private boolean isClaimed;

  /** The place of an array that is received into. */
  record Incoming(Object array, int kind, int at, int count) {}

  Request(Endpoint endpoint, boolean isReceive, Object memory, Incoming incoming) {
    this.endpoint = endpoint;
    this.isReceive = isReceive;
    this.memory = memory;
    this.incoming = incoming;
  }

  /** The request is pending from now on, under the library's number; 0: it ended with its call. */
  void start(long given) {
    handle = given;
    if (given == 0) end(Status.NOTHING, null);
  }

  /** The request was not started. */
  void giveUp() {
    if (memory instanceof Stage stage) stage.giveBack();
  }

  /** Only a blocking call may see this request. */
  void hide() {
    whose = Whose.BLOCKING_CALL;
  }

  boolean isHidden() {
    return whose != Whose.PROGRAM;
  }

  boolean isReleased() {
    return whose == Whose.NOBODY;
  }

  long handle() {
    return handle;
  }

  Endpoint endpoint() {
    return endpoint;
  }

  /**
   * Waits until the request has ended.
   *
   * @return the status of the message; for a cancelled request, the cancellation
   * @throws ExsException the request failed, and each call throws this again: EMSGSIZE the message was cut, ECONNRESET the other rank, or one
   *     that might have been, has died, EPIPE it has left. EINTR: the thread was interrupted, and the request continues. EBADF: the
   *     channel was closed
   * @throws IllegalStateException another thread waits for it
   */
  public Status await() throws ExsException {
    return await(-1);
  }

  /**
   * Waits until the request has ended, or the time is over.
   *
   * @param timeoutNs in nanoseconds; negative: without limit; 0: asks
   * @return the status of the message; null: the request has not ended
   * @throws ExsException as {@link #await()}
   * @throws IllegalStateException another thread waits for it
   */
  public Status await(long timeoutNs) throws ExsException {
    if (status == null && !finish(timeoutNs)) return null;
    return result();
  }

  /**
   * Returns whether the request has ended, after moving pending bytes.
   *
   * @return true: {@link #status} has the result, and {@link #await} does not wait
   * @throws ExsException EBADF: the channel was closed before the end was known
   * @throws IllegalStateException another thread waits for it
   */
  public boolean test() throws ExsException {
    return status != null || finish(0);
  }

  /**
   * The status of a request that has ended.
   *
   * @return the status; null until the program has learned of the end
   */
  public Status status() {
    return status;
  }

  /**
   * Returns whether the request is a receive.
   *
   * @return false: a send
   */
  public boolean isReceive() {
    return isReceive;
  }

  /**
   * Cancels a receive that no message has matched, or a send that has not left; others end normally. Either way the program has to wait
   * for the end.
   *
   * @throws ExsException EBADF: the channel is closed
   */
  public void cancel() throws ExsException {
    if (status == null) endpoint.cancel(this);
  }

  /**
   * Gives the request up: it ends by itself. Its memory belongs to the library until then. An array that is received into is not written.
   *
   * @throws IllegalStateException another thread waits for it
   */
  public void release() {
    if (status != null) return;
    claim();
    whose = Whose.NOBODY;
    incoming = null;
    endpoint.release(this);
  }

  /**
   * The object that the program has attached.
   *
   * @return the object; null: none
   */
  public Object attachment() {
    return attachment;
  }

  /**
   * Attaches an object, which {@link MessageChannel#peek} returns with the request.
   *
   * @param something any object, or null
   */
  public void attach(Object something) {
    attachment = something;
  }

  private boolean finish(long timeoutNs) throws ExsException {
    claim();
    try {
      return status != null || endpoint.finish(this, timeoutNs);
    } finally {
      unclaim();
    }
  }

  /** No other thread waits for it from now on. */
  void claim() {
    if (!CLAIM.compareAndSet(this, false, true)) throw new IllegalStateException("another thread waits for this request, or it was released");
  }

  void unclaim() {
    CLAIM.setRelease(this, false);
  }

  /** Sets the status, and the error text if it failed. The caller has the claim. */
  void end(Status told, String why) {
    failure = why;
    if (memory instanceof Stage stage) {
      if (incoming != null && !told.isCancelled()) unstage(stage, told.length());
      stage.giveBack();
    }
    endWithout(told);
  }

  /** As end(), but the memory is of no use any more. */
  void endWithout(Status told) {
    memory = null;
    incoming = null;
    status = told;
  }

  /** The channel was closed before the program learned of the end. */
  void endClosed() {
    failure = "MessageChannel: it was closed before the request had ended";
    if (memory instanceof Stage stage) stage.giveBack();
    endWithout(new Status(MessageChannel.ANY_SOURCE, MessageChannel.ANY_TAG, 0, 0, ExsException.EBADF, false));
  }

  private void unstage(Stage stage, long length) {
    final long elements = length / Elements.bytesOf(incoming.kind);
    Native.copyOut(incoming.array, incoming.kind, incoming.at, (int) Math.min(elements, incoming.count), stage.address());
  }

  /** The result of a request that has ended. */
  Status result() throws ExsException {
    final Status told = status;
    if (told.error() == 0 || told.isCancelled()) return told;
    throw new ExsException(told.error(), failure, told);
  }
}
