// SPDX-License-Identifier: BSD-2-Clause
package xdev.exsdev;

import java.io.IOException;
import mpjdev.Status;

/** A pending send. */
final class SendRequest extends ExsRequest {
  private final Outgoing outgoing;
  private final exs.Request data;
  private final exs.Request dynamic;  // null: no dynamic part
  private final int tag;

  SendRequest(Ended ended, Outgoing outgoing, exs.Request data, exs.Request dynamic, int tag) {
    super(ended);
    this.outgoing = outgoing;
    this.data = data;
    this.dynamic = dynamic;
    this.tag = tag;
    if (dynamic != null) dynamic.attach(this);
    data.attach(this);
  }

  @Override
  Status finish(long timeoutNs) throws IOException {
    if (data.await(timeoutNs) == null) return null;
    if (dynamic != null && dynamic.await(timeoutNs) == null) return null;
    outgoing.ended();
    return new Status(0, tag, -1);
  }

  @Override
  boolean cancelled() throws IOException {
    if (dynamic != null) return false;  // half a message cannot be taken back
    data.cancel();
    return data.test() && data.status().isCancelled();
  }
}
