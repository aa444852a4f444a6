package exs;

import java.io.IOException;

/**
 * A call of exs that has failed: the errno of the C function, and a sentence that tells what was wrong and what to do about it.
 *
 * <p>Where a thread is interrupted while it waits, the errno is {@link #EINTR} and the thread stays interrupted.
 */
public final class ExsException extends IOException {
  /** The waiting thread was interrupted. */
  public static final int EINTR = 4;
  /** The channel is closed. */
  public static final int EBADF = 9;
  /** The sender, receiver or peer has left in an orderly way. */
  public static final int EPIPE = 32;
  /** The message was longer than the memory for it, and is cut. */
  public static final int EMSGSIZE = 90;
  /** The peer has died. */
  public static final int ECONNRESET = 104;
  /** The connection has ended. */
  public static final int ENOTCONN = 107;
  /** A time limit was over. */
  public static final int ETIMEDOUT = 110;
  /** Nobody listens there. */
  public static final int ECONNREFUSED = 111;
  /** The operation was cancelled. */
  public static final int ECANCELED = 125;

  private static final long serialVersionUID = 1;

  /** The errno. */
  private final int errno;
  /** Of the message, where there is one. */
  private final transient Status status;

  /**
   * A failure of a library over exs.
   *
   * @param errno a positive errno of Linux
   * @param text what was wrong and what to do about it
   */
  public ExsException(int errno, String text) {
    this(errno, text, null);
  }

  ExsException(int errno, String text, Status status) {
    super(text);
    this.errno = errno;
    this.status = status;
  }

  /** Of the call of this thread that has just returned {@code outcome}, which is minus errno. */
  static ExsException of(int outcome) {
    return new ExsException(-outcome, Native.errorText(-outcome));
  }

  static ExsException closed(String what) {
    return new ExsException(EBADF, what + ": it is closed");
  }

  static ExsException interrupted(String what) {
    return new ExsException(EINTR, what + ": the thread was interrupted");
  }

  /**
   * What kind of error it was.
   *
   * @return a positive errno of Linux
   */
  public int errno() {
    return errno;
  }

  /**
   * What is known of the message whose receive failed, for instance how long it was ({@link #EMSGSIZE}).
   *
   * @return null where there is nothing to tell, and after serialization
   */
  public Status status() {
    return status;
  }
}
