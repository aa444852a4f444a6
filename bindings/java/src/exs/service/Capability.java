// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import exs.ExsException;
import java.lang.annotation.Native;
import java.time.Instant;
import java.util.Arrays;
import java.util.Objects;
import java.util.Set;

/** The right to use a service that does not serve all who know its ID. Keep it secret: its holder may use the service. Immutable. */
public final class Capability {
  @Native static final int BYTES = 64;

  private final byte[] bytes;

  private Capability(byte[] bytes) {
    this.bytes = bytes;
  }

  /**
   * Makes a capability.
   *
   * @param key of the service
   * @param rights at least one
   * @param serial the service refuses serials below its lowest
   * @param expires the time of its end; null: never
   * @return the capability
   * @throws ExsException EINVAL: no rights; EBADF: the key is closed
   */
  public static Capability make(ServiceKey key, Set<Right> rights, int serial, Instant expires) throws ExsException {
    final int bits = rights.stream().mapToInt(right -> right.bit).reduce(0, (some, one) -> some | one);
    final long expiresMs = expires == null ? 0 : expires.toEpochMilli();
    final byte[] bytes = new byte[BYTES];
    key.use(address -> exs.service.Native.check(exs.service.Native.makeCapability(address, bits, serial, expiresMs, bytes)));
    return new Capability(bytes);
  }

  /**
   * Reads a capability.
   *
   * @param text the result of {@link #text}
   * @return the capability
   * @throws ExsException EINVAL: the text is invalid
   */
  public static Capability parse(String text) throws ExsException {
    final byte[] bytes = new byte[BYTES];
    exs.service.Native.check(
        exs.service.Native.parseCapability(exs.service.Native.text(Objects.requireNonNull(text)), bytes));
    return new Capability(bytes);
  }

  /**
   * The capability as text, with its secret.
   *
   * @return "exs-cap:" and 128 digits
   */
  public String text() {
    return exs.service.Native.capabilityText(bytes);
  }

  /**
   * The service that the capability is for.
   *
   * @return the ID
   */
  public ServiceId id() {
    return new ServiceId(Arrays.copyOf(bytes, ServiceId.BYTES));
  }

  byte[] bytes() {
    return bytes;
  }
}
