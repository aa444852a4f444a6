// SPDX-License-Identifier: BSD-2-Clause
package exs;

/**
 * What a channel has done since it was opened.
 *
 * @param sends that the library has taken
 * @param receives that got a message
 * @param bytesSent of their messages
 * @param bytesReceived of their messages
 * @param eagerSends that moved before they were matched
 * @param rendezvousSends that the receiver read after matching them
 * @param expected messages that arrived for a waiting receive
 * @param unexpected messages that waited for a receive
 * @param unexpectedBytes that wait now
 * @param unexpectedMessages that wait now
 * @param receivesWaiting now
 * @param peersConnected now
 */
public record Counters(long sends, long receives, long bytesSent, long bytesReceived, long eagerSends, long rendezvousSends,
    long expected, long unexpected, long unexpectedBytes, long unexpectedMessages, long receivesWaiting, long peersConnected) {}
