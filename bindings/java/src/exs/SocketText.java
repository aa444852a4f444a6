// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.nio.charset.StandardCharsets;

/** Options of sockets that are text. */
final class SocketText {
  static final int PROVIDER = 0x4543;
  static final int ERROR = 0x4546;

  private SocketText() {}

  /** Returns an empty text if there is none. */
  static String of(int socket, int option) {
    final byte[] bytes = Native.text(socket, option);
    return bytes == null ? "" : new String(bytes, StandardCharsets.UTF_8);
  }
}
