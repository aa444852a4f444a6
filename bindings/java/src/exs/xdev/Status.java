package exs.xdev;

/**
 * What is known of a message. {@link Device#irecv} takes one and fills it when the end of its request is heard of. Thread: whoever has heard of
 * that end.
 */
public final class Status {
  private ProcessID source = ProcessID.ANY_SOURCE;
  private int tag = Device.ANY_TAG;
  private int context;
  private long size;
  private boolean isCancelled;

  /** Of no message yet. */
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
   * Who sent it; of sends: whom it went to.
   *
   * @return the process
   */
  public ProcessID source() {
    return source;
  }

  /**
   * Its tag.
   *
   * @return any int
   */
  public int tag() {
    return tag;
  }

  /**
   * Its context.
   *
   * @return 0 or more
   */
  public int context() {
    return context;
  }

  /**
   * Its length.
   *
   * @return in bytes
   */
  public long size() {
    return size;
  }

  /**
   * Whether the request was cancelled and no message moved.
   *
   * @return true: it was
   */
  public boolean isCancelled() {
    return isCancelled;
  }

  @Override
  public String toString() {
    return "Status[" + source + ", tag " + tag + ", context " + context + ", " + size + " bytes" + (isCancelled ? ", cancelled]" : "]");
  }
}
