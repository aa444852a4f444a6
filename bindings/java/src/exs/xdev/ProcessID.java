// SPDX-License-Identifier: BSD-2-Clause
package exs.xdev;

/**
 * The identity of a device: its process. {@link Device#init} returns those of all processes, by rank.
 *
 * @param rank of the process in its job; -2: any
 */
public record ProcessID(int rank) {
  /** As a source: any process. */
  public static final ProcessID ANY_SOURCE = new ProcessID(exs.MessageChannel.ANY_SOURCE);

  @Override
  public String toString() {
    return rank == exs.MessageChannel.ANY_SOURCE ? "any process" : "process " + rank;
  }
}
