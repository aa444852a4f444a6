package exs;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A send or receive of a {@link MessageChannel} that is under way.
 *
 * <p>The channel holds it, and it holds its memory, until its end has been heard of: by {@link #await}, {@link #test} or those of several
 * requests. One that the program forgets is safe, but stays until the channel is closed; {@link #release} lets one go. An array that is
 * received into is written when its end is heard of, by the thread that does.
 *
 * <p>Threads: one waits at a time, a second gets IllegalStateException; any may call the other methods.
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

  /** Of the chain of {@link RequestTable}, which guards it. */
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

  /** Where an array is that is received into. */
  record Incoming(Object array, int kind, int at, int count) {}

  Request(Endpoint endpoint, boolean isReceive, Object memory, Incoming incoming) {
    this.endpoint = endpoint;
    this.isReceive = isReceive;
    this.memory = memory;
    this.incoming = incoming;
  }

  /** Under way from now on, by the number that the library has given; 0: it had ended with its call. */
  void start(long given) {
    handle = given;
    if (given == 0) end(Status.NOTHING, null);
  }

  /** It was not started. */
  void giveUp() {
    if (memory instanceof Stage stage) stage.giveBack();
  }

  /** Of a blocking call, which alone may see it. */
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
   * Waits until it has ended.
   *
   * @return what is known of the message; of one that was cancelled, that
   * @throws ExsException it failed, and fails again for whoever asks again: EMSGSIZE the message was cut, ECONNRESET the other rank, or one
   *     that might have been, has died, EPIPE it has left. EINTR: the thread was interrupted, and the request goes on. EBADF: the
   *     channel was closed
   * @throws IllegalStateException another thread waits for it
   */
  public Status await() throws ExsException {
    return await(-1);
  }

  /**
   * Waits until it has ended, or the time is over.
   *
   * @param timeoutNs in nanoseconds; negative: without limit; 0: asks
   * @return what is known of the message; null: it has not ended
   * @throws ExsException as {@link #await()}
   * @throws IllegalStateException another thread waits for it
   */
  public Status await(long timeoutNs) throws ExsException {
    if (status == null && !finish(timeoutNs)) return null;
    return result();
  }

  /**
   * Whether it has ended. Moves what can be moved.
   *
   * @return true: {@link #status} tells how, and {@link #await} does not wait
   * @throws ExsException EBADF: the channel was closed before that was known
   * @throws IllegalStateException another thread waits for it
   */
  public boolean test() throws ExsException {
    return status != null || finish(0);
  }

  /**
   * How it ended.
   *
   * @return null until its end has been heard of
   */
  public Status status() {
    return status;
  }

  /**
   * Whether it is a receive.
   *
   * @return false: a send
   */
  public boolean isReceive() {
    return isReceive;
  }

  /**
   * Cancels a receive that no message has matched, or a send that has not left; others end as ever. Either way it has to be
   * waited for.
   *
   * @throws ExsException EBADF: the channel is closed
   */
  public void cancel() throws ExsException {
    if (status == null) endpoint.cancel(this);
  }

  /**
   * Lets it end by itself: nobody will ask for it. Its memory stays the library's until then. An array that is received into is not
   * written.
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
   * What the program has attached.
   *
   * @return null: nothing
   */
  public Object attachment() {
    return attachment;
  }

  /**
   * Attaches something, for whoever gets the request by {@link MessageChannel#peek}.
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

  /** Nobody else waits for it from now on. */
  void claim() {
    if (!CLAIM.compareAndSet(this, false, true)) throw new IllegalStateException("another thread waits for this request, or it was released");
  }

  void unclaim() {
    CLAIM.setRelease(this, false);
  }

  /** What the library has told, and why it failed, if it did. Whoever calls has the claim. */
  void end(Status told, String why) {
    failure = why;
    if (memory instanceof Stage stage) {
      if (incoming != null && !told.isCancelled()) unstage(stage, told.length());
      stage.giveBack();
    }
    endWithout(told);
  }

  /** The same, where the memory is of no use any more. */
  void endWithout(Status told) {
    memory = null;
    incoming = null;
    status = told;
  }

  /** The channel was closed before its end was heard of. */
  void endClosed() {
    failure = "MessageChannel: it was closed before the request had ended";
    if (memory instanceof Stage stage) stage.giveBack();
    endWithout(new Status(MessageChannel.ANY_SOURCE, MessageChannel.ANY_TAG, 0, 0, ExsException.EBADF, false));
  }

  private void unstage(Stage stage, long length) {
    final long elements = length / Elements.bytesOf(incoming.kind);
    Native.copyOut(incoming.array, incoming.kind, incoming.at, (int) Math.min(elements, incoming.count), stage.address());
  }

  /** Of one that has ended. */
  Status result() throws ExsException {
    final Status told = status;
    if (told.error() == 0 || told.isCancelled()) return told;
    throw new ExsException(told.error(), failure, told);
  }
}
