package exs.service;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/** How a request is asked; each method gives options that differ in one thing. Immutable. */
public final class RequestOptions {
  /** Without a limit, not idempotent, into memory that the library allocates, and of one part. */
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
   * How long a reply is waited for.
   *
   * @param limit afterwards the request ends with ETIMEDOUT
   * @return such options
   */
  public RequestOptions limit(Duration limit) {
    return new RequestOptions(limit.toNanos(), isIdempotent, places, parts);
  }

  /**
   * Executing it twice does no harm, so it is sent again when the service starts again.
   *
   * @return such options
   */
  public RequestOptions idempotent() {
    return new RequestOptions(limitNs, true, places, parts);
  }

  /**
   * Where long items of replies go, one after the other.
   *
   * @param buffers direct ones, from position to limit, best of {@link exs.Memory}; the library's until the request has ended
   * @return such options
   */
  public RequestOptions into(ByteBuffer... buffers) {
    return new RequestOptions(limitNs, isIdempotent, CallFrame.slices(List.of(buffers)), parts);
  }

  /**
   * Takes a reply in parts. The last one completes the future, too, after the handler has had it.
   *
   * @param handler releases each part, or whoever it gives it to. If an idempotent request is sent again, parts may come again from the
   *     first on
   * @return such options
   */
  public RequestOptions parts(Consumer<Reply> handler) {
    return new RequestOptions(limitNs, isIdempotent, places, handler);
  }
}
