// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

/** A right of a {@link Capability}. */
public enum Right {
  /** Send messages. */
  SEND(0x1),
  /** Ping the service, and ask for its load. */
  STATS(0x2),
  /** Send requests. */
  REQUEST(0x4),
  /** Send long items in messages and requests. */
  LONG(0x8);

  final int bit;

  Right(int bit) {
    this.bit = bit;
  }
}
