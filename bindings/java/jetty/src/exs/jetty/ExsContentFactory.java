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
 * A cache of content in memory of exs, which peers of an {@link ExsConnector} read where it lies. Connectors of TCP are served from it as
 * from any other.
 *
 * <pre>
 * context.setAttribute("cache", new ExsContentFactory(context.getBaseResource(), context.getMimeTypes(), true));
 * context.addServlet(DefaultServlet.class, "/").setInitParameter("resourceCache", "cache");
 * </pre>
 *
 * <p>Content that is not cached is read in pieces as long as the output buffer of HttpConfiguration. With {@code setMaxCachedFiles(0)} all
 * of it is.
 *
 * <p>Memory of content that has left the cache is freed by the collector, when nobody sends it any more. Where there is no more memory of
 * exs, content lies where Jetty would put it, and is copied. Thread: any.
 */
public class ExsContentFactory extends CachedContentFactory {
  private static final Logger LOG = Log.getLogger(ExsContentFactory.class);

  /** Each memory of exs takes a descriptor and whole pages: small contents share one. */
  private static final int SHARED_BYTES = 1 << 20;
  private static final int SMALL_BYTES = SHARED_BYTES / 8;
  private static final int ALIGNMENT = 64;

  private ByteBuffer shared = ByteBuffer.allocateDirect(0);

  /**
   * A cache without a parent.
   *
   * @param factory who knows the files, for instance the folder that has them
   * @param mimeTypes of the files
   * @param hasEtags whether contents have entity tags
   * @param precompressed formats in which files may lie beside themselves
   */
  public ExsContentFactory(ResourceFactory factory, MimeTypes mimeTypes, boolean hasEtags, CompressedContentFormat... precompressed) {
    super(null, factory, mimeTypes, false, hasEtags, precompressed);
  }

  /** What is not cached is read into buffers of the connector's pool, not into one that is made for it. */
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
      LOG.debug(e);  // Jetty tries itself, and tells
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
