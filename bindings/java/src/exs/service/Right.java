package exs.service;

/** What a {@link Capability} allows. */
public enum Right {
  /** To send messages. */
  SEND(0x1),
  /** To ping the service, and to ask how busy it is. */
  STATS(0x2),
  /** To send requests. */
  REQUEST(0x4),
  /** That messages and requests have long items. */
  LONG(0x8);

  final int bit;

  Right(int bit) {
    this.bit = bit;
  }
}
