package exs;

/**
 * What the ends of a connection agree on: each asks for its own, and the smaller value counts. More of either costs memory, at most the
 * product for each direction.
 *
 * @param smallBytes bytes of the longest send that leaves at once and is copied, 0 to 32768; of a longer one the peer reads the bytes where
 *     they lie, which takes more messages. Without limits 1024, and 4096 for streams
 * @param credits how many messages may be on their way in each direction, 1 to 4096. Without limits 32
 */
public record SocketLimits(int smallBytes, int credits) {}
