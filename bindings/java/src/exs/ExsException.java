// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.io.IOException;

/**
 * A failed call of exs: the errno value of the C function, and a sentence with the error and its cure.
 *
 * <p>If a thread is interrupted while it waits, the errno value is {@link #EINTR}, and the thread stays interrupted.
 */
public final class ExsException extends IOException {
  /** The waiting thread was interrupted. */
  public static final int EINTR = 4;
  /** The channel is closed. */
  public static final int EBADF = 9;
  /** The sender, receiver or peer has left in an orderly way. */
  public static final int EPIPE = 32;
  /** The message was longer than the memory for it, and was cut. */
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
  /** The status of the message, if there is one. */
  private final transient Status status;

  /**
   * A failure of a library over exs.
   *
   * @param errno a positive errno value of Linux
   * @param text the error and its cure
   */
  public ExsException(int errno, String text) {
    this(errno, text, null);
  }

  ExsException(int errno, String text, Status status) {
    super(text);
    this.errno = errno;
    this.status = status;
  }

  /** Makes the exception of this thread's call that has just returned {@code outcome}, a negative errno value. */
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
   * The kind of error.
   *
   * @return a positive errno value of Linux
   */
  public int errno() {
    return errno;
  }

  /**
   * The status of the message whose receive failed, with its length for instance ({@link #EMSGSIZE}).
   *
   * @return the status; null if there is none, and after serialization
   */
  public Status status() {
    return status;
  }
}
