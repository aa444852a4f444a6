// SPDX-License-Identifier: BSD-2-Clause
package exs;

/**
 * The result of a send or receive on a {@link StreamChannel}.
 *
 * @param length the number of moved bytes
 * @param isEnd of receives: whether the peer has ended its sending and nothing more will come
 * @param isCut of receives: whether the message was longer than the memory for it, and its rest is gone
 * @param messageLength of receives that were cut: the length of the whole message in bytes; else {@code length}
 */
public record Transfer(long length, boolean isEnd, boolean isCut, long messageLength) {
  private static final int FLAG_CUT = 0x1;
  private static final int FLAG_END = 0x2;

  static Transfer of(Event event) {
    final boolean isCut = (event.flags() & FLAG_CUT) != 0;
    return new Transfer(event.length(), (event.flags() & FLAG_END) != 0, isCut, isCut ? event.offset() : event.length());
  }
}
