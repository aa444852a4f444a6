// SPDX-License-Identifier: BSD-2-Clause
package exs.xdev;

/**
 * The status of a message. {@link Device#irecv} takes one and fills it when the program learns of the request's end. Thread: the one that
 * has learned of that end.
 */
public final class Status {
  private ProcessID source = ProcessID.ANY_SOURCE;
  private int tag = Device.ANY_TAG;
  private int context;
  private long size;
  private boolean isCancelled;

  /** A status without a message. */
  public Status() {}

  static Status of(exs.Status told) {
    final Status status = new Status();
    status.fill(told);
    return status;
  }

  void fill(exs.Status told) {
    source = new ProcessID(told.source());
    tag = told.tag();
    context = told.context();
    size = told.length();
    isCancelled = told.isCancelled();
  }

  /**
   * The sender of a received message; of sends: the receiver.
   *
   * @return the process
   */
  public ProcessID source() {
    return source;
  }

  /**
   * The tag of the message.
   *
   * @return any int
   */
  public int tag() {
    return tag;
  }

  /**
   * The context of the message.
   *
   * @return 0 or more
   */
  public int context() {
    return context;
  }

  /**
   * The length of the message.
   *
   * @return in bytes
   */
  public long size() {
    return size;
  }

  /**
   * Returns whether the request was cancelled and no message moved.
   *
   * @return whether it was cancelled
   */
  public boolean isCancelled() {
    return isCancelled;
  }

  @Override
  public String toString() {
    return "Status[" + source + ", tag " + tag + ", context " + context + ", " + size + " bytes" + (isCancelled ? ", cancelled]" : "]");
  }
}
