// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.net.Inet4Address;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;

/** Addresses as the library has them (native/sockets.cc): family, port, scope, 16 bytes. */
final class Addresses {
  private static final int BYTES = 28;
  private static final int FIRST = 12;
  private static final int IPV4_BYTES = 4;
  private static final int IPV6_BYTES = 16;

  private Addresses() {}

  /** Returns 4 or 6. */
  static int familyOf(InetSocketAddress address) throws ExsException {
    final int unknown = 99;
    if (address.isUnresolved()) throw new ExsException(unknown, "the host " + address.getHostString() + " is not known");
    return address.getAddress() instanceof Inet4Address ? 4 : 6;
  }

  /** Writes the address into the frame; it is valid until the thread's next list. */
  static long write(CallFrame frame, InetSocketAddress address) {
    final InetAddress host = address.getAddress();
    final ByteBuffer list = frame.list(BYTES).clear();
    list.putInt(host instanceof Inet4Address ? 4 : 6).putInt(address.getPort());
    list.putInt(host instanceof Inet6Address six ? six.getScopeId() : 0).put(host.getAddress());
    return Native.address(list);
  }

  interface Ask {
    int about(int socket, long address);
  }

  static InetSocketAddress read(CallFrame frame, int socket, Ask ask) throws ExsException {
    final ByteBuffer list = frame.list(BYTES).clear();
    final int outcome = ask.about(socket, Native.address(list));
    if (outcome < 0) throw ExsException.of(outcome);
    final boolean isFour = list.getInt(0) == 4;
    final byte[] host = new byte[isFour ? IPV4_BYTES : IPV6_BYTES];
    list.get(FIRST, host);
    try {
      final InetAddress address = isFour ? InetAddress.getByAddress(host) : Inet6Address.getByAddress(null, host, list.getInt(8));
      return new InetSocketAddress(address, list.getInt(4));
    } catch (UnknownHostException e) {
      throw new AssertionError(e);
    }
  }
}
