// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import exs.ExsException;
import java.util.Arrays;
import java.util.Objects;

/** The name of a service, which is derived from its {@link ServiceKey}. Any process that knows it may contact the service. Immutable. */
public final class ServiceId {
  static final int BYTES = 16;

  private final byte[] bytes;

  ServiceId(byte[] bytes) {
    this.bytes = bytes;
  }

  /** Returns null if all bytes are zero. */
  static ServiceId orNobody(byte[] bytes) {
    return Arrays.equals(bytes, new byte[BYTES]) ? null : new ServiceId(bytes);
  }

  /**
   * Reads an ID.
   *
   * @param text "exs:" and 32 digits
   * @return the ID
   * @throws ExsException EINVAL: the text is invalid
   */
  public static ServiceId parse(String text) throws ExsException {
    final byte[] bytes = new byte[BYTES];
    Native.check(Native.parseId(Native.text(Objects.requireNonNull(text)), bytes));
    return new ServiceId(bytes);
  }

  /**
   * Finds the ID of a name in a file of names.
   *
   * @param names the file; null: that of EXS_SERVICES, or /etc/exs/services
   * @param name a name, or the text of an ID
   * @return the ID
   * @throws ExsException ENOENT: there is no such name
   */
  public static ServiceId find(String names, String name) throws ExsException {
    final byte[] bytes = new byte[BYTES];
    Native.check(Native.find(Native.text(names), Native.text(Objects.requireNonNull(name)), bytes));
    return new ServiceId(bytes);
  }

  byte[] bytes() {
    return bytes;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ServiceId && Arrays.equals(bytes, ((ServiceId) other).bytes);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(bytes);
  }

  /** Returns "exs:" and 32 digits. */
  @Override
  public String toString() {
    return Native.idText(bytes);
  }
}
