package exs;

/** What a socket carries. */
public enum SocketType {
  /** Bytes, as TCP does. */
  STREAM,
  /** Messages, each received as it was sent; windows are of these alone. */
  MESSAGES
}
