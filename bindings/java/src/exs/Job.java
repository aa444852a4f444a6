// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * A job whose processes know each other by a list, without exs-run.
 *
 * @param rank of this process, from 0 on
 * @param addresses of all processes by rank, as {@code host:port}; this process listens at its own
 * @param key a secret of the job of 16 bytes, the same in all its processes; null: none
 * @param eagerBytes the longest message that moves before it is matched; 0: the provider's default
 * @param connectTimeoutMs the time for another process to answer, in milliseconds; 0: 10,000
 */
public record Job(int rank, List<String> addresses, byte[] key, int eagerBytes, int connectTimeoutMs) {
  private static final int KEY_BYTES = 16;

  /**
   * Checks all that can be checked without the other processes.
   *
   * @param rank of this process, from 0 on
   * @param addresses of all processes by rank, as {@code host:port}
   * @param key 16 bytes, which are copied; null: none
   * @param eagerBytes the longest message that moves before it is matched; 0: the provider's default
   * @param connectTimeoutMs the time for another process to answer, in milliseconds; 0: 10,000
   * @throws IllegalArgumentException no rank of the list, a key of another length, or a negative number
   */
  public Job {
    addresses = List.copyOf(addresses);
    if (rank < 0 || rank >= addresses.size())
      throw new IllegalArgumentException("rank " + rank + " of a job of " + addresses.size());
    if (key != null && key.length != KEY_BYTES) throw new IllegalArgumentException("a key of " + key.length + " bytes, not 16");
    if (eagerBytes < 0 || connectTimeoutMs < 0) throw new IllegalArgumentException("eagerBytes and connectTimeoutMs are not negative");
    key = key == null ? null : key.clone();
  }

  /**
   * A job without a key, and with defaults for everything else.
   *
   * @param rank of this process
   * @param addresses of all processes by rank, as {@code host:port}
   */
  public Job(int rank, List<String> addresses) {
    this(rank, addresses, null, 0, 0);
  }

  /**
   * The secret of the job.
   *
   * @return a copy of its 16 bytes; null: none
   */
  @Override
  public byte[] key() {
    return key == null ? null : key.clone();
  }

  byte[] addressText() {
    return (String.join("\0", addresses) + "\0").getBytes(StandardCharsets.UTF_8);
  }
}
