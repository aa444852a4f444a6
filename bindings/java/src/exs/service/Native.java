// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import exs.ExsException;
import exs.NativeLibrary;
import java.nio.ByteBuffer;

/**
 * The calls into libexs-java-service.so: static, with primitives, buffers and arrays alone.
 *
 * <p>They return the result of the C function of that name, or a negative errno value, also in place of an address; {@link #errorText}
 * then has its text, for the same thread. Texts are bytes that end with a zero; null is NULL.
 */
final class Native {
  private static final long ERRNO_MAX = 4095;

  static {
    NativeLibrary.load(System.getProperty("exs.service.library"), "exs-java-service");
  }

  private Native() {}

  /** The text of this thread's last failed call. */
  static native String errorText();

  /** The meaning of an errno value. */
  static native String describe(int errno);

  /** The address of a direct buffer's first byte; 0: the buffer is not direct. */
  static native long address(ByteBuffer buffer);

  static native void copy(long from, ByteBuffer into, int bytes);

  // ---------------------------------------------------------------- names

  static native long createKey();

  static native long loadKey(byte[] path);

  static native int storeKey(long key, byte[] path);

  static native void freeKey(long key);

  static native void keyId(long key, byte[] id);

  static native int find(byte[] names, byte[] name, byte[] id);

  static native int parseId(byte[] text, byte[] id);

  static native String idText(byte[] id);

  /** A capability is the 64 bytes of an exs_svc_cap_t. */
  static native int makeCapability(long key, int rights, int serial, long expiresMs, byte[] capability);

  static native int parseCapability(byte[] text, byte[] capability);

  static native String capabilityText(byte[] capability);

  // ---------------------------------------------------------------- nodes, services, peers

  /** Opens a node, with the numbers of {@link Options}. */
  static native long openNode(byte[] options, byte[] listen, byte[] names, byte[] multicast, byte[] directory);

  static native void closeNode(long node);

  /** Opens a service, with {@link Options}. */
  static native long open(long node, long key, byte[] options, long handle);

  static native void close(long service);

  static native int addWindow(long service, long address, long bytes, int region);

  /** Opens a peer. A `from` of 0 means an anonymous sender. */
  static native long openPeer(long node, long from, byte[] id, byte[] capability, long handle);

  static native void closePeer(long peer);

  static native int ping(long peer);

  static native int stats(long peer);

  // ---------------------------------------------------------------- messages, by the lists of a CallFrame

  static native int sendShort(long peer, long items, int count);

  static native int sendLong(long peer, long items, int count, long longs, int longsCount, long handle);

  static native int request(long peer, long items, int count, long longs, int longsCount, long limitNs, int flags, long returns,
      int returnsCount, long handle);

  static native int cancel(long peer, long handle);

  static native int reply(long message, int status, long items, int count, long longs, int longsCount, int flags, long handle);

  static native void release(long message);

  /** Writes the contents of a message to `out`: {@link Contents}. */
  static native void read(long message, long out);

  /** Writes up to `max` events of 64 bytes to `events` and returns how many; 0: none in that time. */
  static native int await(long node, long events, int max, long timeoutNs);

  // ---------------------------------------------------------------- outcomes

  static long checkAddress(long outcome) throws ExsException {
    if (outcome < 0 && outcome >= -ERRNO_MAX) check((int) outcome);
    return outcome;
  }

  static int check(int outcome) throws ExsException {
    if (outcome < 0) throw new ExsException(-outcome, errorText());
    return outcome;
  }

  /** The exception of an event with an error. */
  static ExsException failure(int errno, String what) {
    return new ExsException(errno, what + ": " + describe(errno));
  }

  static byte[] text(String text) {
    return text == null ? null : (text + '\0').getBytes(java.nio.charset.StandardCharsets.UTF_8);
  }
}
