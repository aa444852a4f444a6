package exs.service;

import java.nio.ByteBuffer;
import java.util.List;

/** An answer to a request, or a part of one, to be released. Thread: any. */
public final class Reply extends Message {
  private final int status;
  private final boolean hasMore;

  Reply(long address, Contents contents, List<ByteBuffer> places, int status, boolean hasMore) {
    super(address, contents, places);
    this.status = status;
    this.hasMore = hasMore;
  }

  /**
   * What the service's program says.
   *
   * @return its status
   */
  public int status() {
    return status;
  }

  /**
   * Whether it is a part of a reply that another part follows.
   *
   * @return false: it is the last
   */
  public boolean hasMore() {
    return hasMore;
  }
}
