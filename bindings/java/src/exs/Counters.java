package exs;

/**
 * What a channel has done since it was opened.
 *
 * @param sends that the library has taken
 * @param receives that have got a message
 * @param bytesSent of their messages
 * @param bytesReceived of their messages
 * @param eagerSends that travelled before they were matched
 * @param rendezvousSends that the receiver read when it had matched them
 * @param expected messages that arrived for a receive that was there
 * @param unexpected messages that waited for theirs
 * @param unexpectedBytes that wait now
 * @param unexpectedMessages that wait now
 * @param receivesWaiting now
 * @param peersConnected now
 */
public record Counters(long sends, long receives, long bytesSent, long bytesReceived, long eagerSends, long rendezvousSends,
    long expected, long unexpected, long unexpectedBytes, long unexpectedMessages, long receivesWaiting, long peersConnected) {}
