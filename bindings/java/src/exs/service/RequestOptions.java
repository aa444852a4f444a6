// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/** The options of a request; each method gives options that differ in one thing. Immutable. */
public final class RequestOptions {
  /** No limit, not idempotent, into memory that the library allocates, and of one part. */
  public static final RequestOptions NONE = new RequestOptions(0, false, List.of(), null);

  final long limitNs;
  final boolean isIdempotent;
  final List<ByteBuffer> places;
  final Consumer<Reply> parts;

  private RequestOptions(long limitNs, boolean isIdempotent, List<ByteBuffer> places, Consumer<Reply> parts) {
    this.limitNs = limitNs;
    this.isIdempotent = isIdempotent;
    this.places = places;
    this.parts = parts;
  }

  /**
   * Sets the time limit of the reply.
   *
   * @param limit the time after which the request ends with ETIMEDOUT
   * @return the changed options
   */
  public RequestOptions limit(Duration limit) {
    return new RequestOptions(limit.toNanos(), isIdempotent, places, parts);
  }

  /**
   * Marks the request as idempotent: executing it twice does no harm, so it is sent again when the service restarts.
   *
   * @return the changed options
   */
  public RequestOptions idempotent() {
    return new RequestOptions(limitNs, true, places, parts);
  }

  /**
   * Sets the memory for long items of replies, one after the other.
   *
   * @param buffers direct ones, from position to limit, best of {@link exs.Memory}; they belong to the library until the request has ended
   * @return the changed options
   */
  public RequestOptions into(ByteBuffer... buffers) {
    return new RequestOptions(limitNs, isIdempotent, CallFrame.slices(List.of(buffers)), parts);
  }

  /**
   * Takes a reply in parts. The last one also completes the future, after the handler has had it.
   *
   * @param handler releases each part, or passes it to code that does. If an idempotent request is sent again, parts may come again from the
   *     first on
   * @return the changed options
   */
  public RequestOptions parts(Consumer<Reply> handler) {
    return new RequestOptions(limitNs, isIdempotent, places, handler);
  }
}
