// SPDX-License-Identifier: BSD-2-Clause
package xdev.exsdev;

import java.io.IOException;
import mpjdev.Status;

/** A pending receive. The receive of the dynamic part starts when the static part has arrived with its length and number. */
final class ReceiveRequest extends ExsRequest {
  private final ExsDevice device;
  private final Incoming incoming;
  private final exs.Request data;
  private final Status told;  // the caller's status, to be filled
  private exs.Request dynamic;
  private byte[] objects;

  ReceiveRequest(ExsDevice device, Incoming incoming, exs.Request data, Status told) {
    super(device.ended());
    this.device = device;
    this.incoming = incoming;
    this.data = data;
    this.told = told == null ? new Status() : told;
    data.attach(this);
  }

  @Override
  Status finish(long timeoutNs) throws IOException {
    final exs.Status static_ = data.await(timeoutNs);
    if (static_ == null) return null;
    if (static_.isCancelled()) return told;
    if (objects == null) {
      objects = new byte[incoming.arrived(static_.length())];
      if (objects.length > 0) {
        dynamic = device.startDynamic(objects, static_, incoming.number());
        dynamic.attach(this);
      }
    }
    if (dynamic != null) {
      if (dynamic.await(timeoutNs) == null) return null;
      incoming.arrivedDynamic(objects);
    }
    return device.tell(told, incoming, static_);
  }

  @Override
  boolean cancelled() throws IOException {
    data.cancel();
    return data.test() && data.status().isCancelled();
  }
}
