// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import java.lang.annotation.Native;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;

/**
 * The load of a service (exs_svc_stats_t).
 *
 * @param open how long it has been open at this place
 * @param messages accepted since then, including requests
 * @param replies requests answered since then
 * @param mailbox messages that have not been released
 * @param requestsOpen requests that have not been answered
 * @param flows peers that are connected
 * @param windowsFree windows for long items that are free
 */
public record ServiceStats(Duration open, long messages, long replies, long mailbox, long requestsOpen, long flows, long windowsFree) {
  @Native static final int OPEN_AT = 0;
  @Native static final int MESSAGES_AT = 8;
  @Native static final int REPLIES_AT = 16;
  @Native static final int MAILBOX_AT = 24;
  @Native static final int REQUESTS_OPEN_AT = 32;
  @Native static final int FLOWS_AT = 40;
  @Native static final int WINDOWS_FREE_AT = 48;
  @Native static final int BYTES = 56;

  /** Reads the bytes of an exs_svc_stats_t. */
  static ServiceStats of(ByteBuffer item) {
    final ByteBuffer stats = item.duplicate().order(ByteOrder.nativeOrder());
    return new ServiceStats(Duration.ofNanos(stats.getLong(OPEN_AT)), stats.getLong(MESSAGES_AT), stats.getLong(REPLIES_AT),
        stats.getLong(MAILBOX_AT), stats.getLong(REQUESTS_OPEN_AT), stats.getLong(FLOWS_AT), stats.getLong(WINDOWS_FREE_AT));
  }
}
