// SPDX-License-Identifier: BSD-2-Clause
package exs;

/**
 * The status of a message that was received, sent or probed. Immutable; any thread may read it.
 *
 * @param source the rank it came from; of sends: the rank it went to
 * @param tag its tag
 * @param context its context
 * @param length its length in bytes, even if the receive had less room
 * @param error 0, or an errno: {@link ExsException#EMSGSIZE}: the message was cut
 * @param isCancelled whether the request was cancelled and no message moved
 */
public record Status(int source, int tag, int context, long length, int error, boolean isCancelled) {
  /** The status of a request without a message: a send that ended with its call. */
  static final Status NOTHING =
      new Status(MessageChannel.ANY_SOURCE, MessageChannel.ANY_TAG, 0, 0, 0, false);

  /**
   * The number of elements of a type in the message.
   *
   * @param elementBytes the size of one, at least 1
   * @return the number of whole elements
   */
  public long count(int elementBytes) {
    return length / elementBytes;
  }
}
