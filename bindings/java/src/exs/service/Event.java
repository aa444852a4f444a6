// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import java.lang.annotation.Native;
import java.nio.ByteBuffer;

/** An exs_svc_event_t. The constants are in the header that javac makes, and services.cc compares them with those of C. */
record Event(int type, int error, long count, long elapsedNs, long handle, long message, int status, int flags) {
  @Native static final int OPEN = 1;
  @Native static final int MESSAGE = 2;
  @Native static final int DROPPED = 3;
  @Native static final int RESTART = 4;
  @Native static final int LOST = 5;
  @Native static final int PONG = 6;
  @Native static final int SENT = 7;
  @Native static final int REQUEST = 8;
  @Native static final int REPLY = 9;
  @Native static final int SUSPENDED = 12;
  @Native static final int OVERTAKEN = 13;
  @Native static final int STATS = 14;
  @Native static final int MORE = 1;

  @Native static final int BYTES = 64;
  @Native static final int TYPE_AT = 0;
  @Native static final int ERROR_AT = 4;
  @Native static final int COUNT_AT = 8;
  @Native static final int ELAPSED_AT = 16;
  @Native static final int HANDLE_AT = 24;
  @Native static final int MESSAGE_AT = 48;
  @Native static final int STATUS_AT = 56;
  @Native static final int FLAGS_AT = 60;

  static Event at(ByteBuffer events, int at) {
    return new Event(events.getInt(at + TYPE_AT), events.getInt(at + ERROR_AT), events.getLong(at + COUNT_AT),
        events.getLong(at + ELAPSED_AT), events.getLong(at + HANDLE_AT), events.getLong(at + MESSAGE_AT), events.getInt(at + STATUS_AT),
        events.getInt(at + FLAGS_AT));
  }

  boolean hasMore() {
    return (flags & MORE) != 0;
  }
}
