// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import java.lang.annotation.Native;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The contents of a message, as Native.read writes them: copies of short items, and the addresses of long ones. */
record Contents(ServiceId from, List<ByteBuffer> items, long[] addresses, long[] lengths, long limitNs) {
  @Native static final int FROM_AT = 0;
  @Native static final int ITEMS_COUNT_AT = 16;
  @Native static final int LONGS_COUNT_AT = 20;
  @Native static final int LIMIT_AT = 24;
  @Native static final int LENGTHS_AT = 32;
  @Native static final int LONGS_AT = 160;
  @Native static final int DATA_AT = 416;
  @Native static final int BYTES = 4416;

  static Contents read(long message, ByteBuffer room) {
    exs.service.Native.read(message, exs.service.Native.address(room));
    final byte[] from = new byte[ServiceId.BYTES];
    room.get(FROM_AT, from);
    final int longsCount = room.getInt(LONGS_COUNT_AT);
    final long[] addresses = new long[longsCount];
    final long[] lengths = new long[longsCount];
    for (int i = 0; i < longsCount; ++i) {
      addresses[i] = room.getLong(LONGS_AT + 16 * i);
      lengths[i] = room.getLong(LONGS_AT + 16 * i + 8);
    }
    return new Contents(ServiceId.orNobody(from), items(room), addresses, lengths, room.getLong(LIMIT_AT));
  }

  private static List<ByteBuffer> items(ByteBuffer room) {
    final int count = room.getInt(ITEMS_COUNT_AT);
    final List<ByteBuffer> items = new ArrayList<>(count);
    int at = DATA_AT;
    for (int i = 0; i < count; ++i) {
      final byte[] bytes = new byte[(int) room.getLong(LENGTHS_AT + 8 * i)];
      room.get(at, bytes);
      at += bytes.length;
      items.add(ByteBuffer.wrap(bytes));
    }
    return Collections.unmodifiableList(items);
  }
}
