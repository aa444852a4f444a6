// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import exs.ExsException;
import exs.Memory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ReadableByteChannel;
import org.eclipse.jetty.http.CompressedContentFormat;
import org.eclipse.jetty.http.HttpContent;
import org.eclipse.jetty.http.MimeTypes;
import org.eclipse.jetty.server.CachedContentFactory;
import org.eclipse.jetty.util.log.Log;
import org.eclipse.jetty.util.log.Logger;
import org.eclipse.jetty.util.resource.Resource;
import org.eclipse.jetty.util.resource.ResourceFactory;

/**
 * A cache of content in memory of exs, which peers of an {@link ExsConnector} read in place. TCP connectors use it as any other cache.
 *
 * <pre>
 * context.setAttribute("cache", new ExsContentFactory(context.getBaseResource(), context.getMimeTypes(), true));
 * context.addServlet(DefaultServlet.class, "/").setInitParameter("resourceCache", "cache");
 * </pre>
 *
 * <p>Content that is not cached is read in pieces as long as the output buffer of HttpConfiguration. With {@code setMaxCachedFiles(0)} nothing
 * is cached.
 *
 * <p>The collector frees the memory of content that has left the cache and is not being sent. If there is no more memory of exs, content is
 * in Jetty's memory, and is copied. Thread: any.
 */
public class ExsContentFactory extends CachedContentFactory {
  private static final Logger LOG = Log.getLogger(ExsContentFactory.class);

  /** Each memory of exs takes a descriptor and whole pages, so small contents share one. */
  private static final int SHARED_BYTES = 1 << 20;
  private static final int SMALL_BYTES = SHARED_BYTES / 8;
  private static final int ALIGNMENT = 64;

  private ByteBuffer shared = ByteBuffer.allocateDirect(0);

  /**
   * A cache without a parent.
   *
   * @param factory finds the files, for instance in their folder
   * @param mimeTypes of the files
   * @param hasEtags whether contents have entity tags
   * @param precompressed formats of compressed files beside the originals
   */
  public ExsContentFactory(ResourceFactory factory, MimeTypes mimeTypes, boolean hasEtags, CompressedContentFormat... precompressed) {
    super(null, factory, mimeTypes, false, hasEtags, precompressed);
  }

  /** Content that is not cached is read into buffers of the connector's pool, not into newly allocated ones. */
  @Override
  public HttpContent getContent(String path, int maxBufferSize) throws IOException {
    return super.getContent(path, 1);
  }

  @Override
  protected ByteBuffer getIndirectBuffer(Resource resource) {
    final ByteBuffer content = load(resource);
    return content != null ? content : super.getIndirectBuffer(resource);
  }

  @Override
  protected ByteBuffer getDirectBuffer(Resource resource) {
    final ByteBuffer content = load(resource);
    return content != null ? content : super.getDirectBuffer(resource);
  }

  private ByteBuffer load(Resource resource) {
    final long length = resource.length();
    if (length <= 0 || length > Integer.MAX_VALUE) return null;
    try (ReadableByteChannel from = Channels.newChannel(resource.getInputStream())) {
      final ByteBuffer content = allocate((int) length);
      while (content.hasRemaining() && from.read(content) >= 0) continue;
      return content.flip();
    } catch (ExsException e) {
      LOG.warn("{} is not sent from memory of exs: {}", resource, e.getMessage());
    } catch (IOException e) {
      LOG.debug(e);  // Jetty tries again itself, and reports the error
    }
    return null;
  }

  private ByteBuffer allocate(int bytes) throws ExsException {
    if (bytes > SMALL_BYTES) return Memory.allocate(bytes).buffer();
    synchronized (this) {
      if (shared.remaining() < bytes) shared = Memory.allocate(SHARED_BYTES).buffer();
      final ByteBuffer content = shared.slice(shared.position(), bytes);
      shared.position(Math.min(shared.limit(), (shared.position() + bytes + ALIGNMENT - 1) & -ALIGNMENT));
      return content;
    }
  }
}
