// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import exs.ExsException;
import exs.Memory;
import java.nio.ByteBuffer;
import org.eclipse.jetty.io.MappedByteBufferPool;
import org.eclipse.jetty.util.BufferUtil;
import org.eclipse.jetty.util.log.Log;
import org.eclipse.jetty.util.log.Logger;

/**
 * Buffers of which the long direct ones are memory of exs, so the peer reads written content in place. Thread: any.
 *
 * <p>It keeps returned buffers, up to a limit. If there is no more memory of exs, buffers are those of Jetty, whose content is copied.
 */
public class ExsBufferPool extends MappedByteBufferPool {
  private static final Logger LOG = Log.getLogger(ExsBufferPool.class);

  /** Each memory of exs takes a descriptor, so it is used for buffers of content, not for those of TLS. */
  private static final int EXS_BYTES_MIN = 64 << 10;
  private static final int FACTOR = 4096;
  private static final int BUFFERS_MAX = 1024;
  private static final long BYTES_MAX = 256L << 20;

  /** A pool that keeps up to 256 MiB of either kind of memory. */
  public ExsBufferPool() {
    super(FACTOR, BUFFERS_MAX, null, BYTES_MAX, BYTES_MAX);
  }

  @Override
  public ByteBuffer newByteBuffer(int capacity, boolean direct) {
    if (!direct || capacity < EXS_BYTES_MIN) return super.newByteBuffer(capacity, direct);
    try {
      final ByteBuffer buffer = Memory.allocate(capacity).buffer();
      BufferUtil.clear(buffer);
      return buffer;
    } catch (ExsException e) {
      LOG.warn("a buffer is not of memory of exs: {}", e.getMessage());
      return super.newByteBuffer(capacity, true);
    }
  }
}
