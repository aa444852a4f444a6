// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import java.nio.ByteBuffer;
import java.util.List;

/** A reply to a request, or a part of one, which the program has to release. Thread: any. */
public final class Reply extends Message {
  private final int status;
  private final boolean hasMore;

  Reply(long address, Contents contents, List<ByteBuffer> places, int status, boolean hasMore) {
    super(address, contents, places);
    this.status = status;
    this.hasMore = hasMore;
  }

  /**
   * The status that the service's program has set.
   *
   * @return its status
   */
  public int status() {
    return status;
  }

  /**
   * Returns whether another part of the reply follows.
   *
   * @return false: it is the last
   */
  public boolean hasMore() {
    return hasMore;
  }
}
