// SPDX-License-Identifier: BSD-2-Clause
package exs;

/**
 * The limits that both ends agree on: each asks for its own, and the smaller value applies. A higher limit costs memory, at most the
 * product for each direction.
 *
 * @param smallBytes bytes of the longest send that leaves at once and is copied, 0 to 32768; a longer one is read by the peer in place
 *     they lie, which takes more messages. Without limits 1024, and 4096 for streams
 * @param credits how many messages may be on their way in each direction, 1 to 4096. Without limits 32
 */
public record SocketLimits(int smallBytes, int credits) {}
