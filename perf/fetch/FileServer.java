// Serves the files of a folder by two servers of Jetty, for perf/fetch/figure3: one by TCP with Jetty's own cache, one by exs, as
// connections and as a service, with a cache in memory of exs. Both have them twice: under /cached/, where files up to 10 MiB are cached,
// as Jetty's were in 2012, and under /read/, where none is.
//   java -cp ... FileServer FOLDER     prints the ports of TCP and of exs, and the ID of the service, when they serve
// SPDX-License-Identifier: BSD-2-Clause
import exs.jetty.ExsConnector;
import exs.jetty.ExsContentFactory;
import exs.jetty.ServiceConnector;
import exs.service.ServiceKey;
import java.nio.file.Path;
import org.eclipse.jetty.http.CompressedContentFormat;
import org.eclipse.jetty.server.AbstractNetworkConnector;
import org.eclipse.jetty.server.CachedContentFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.ContextHandlerCollection;
import org.eclipse.jetty.servlet.DefaultServlet;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;
import org.eclipse.jetty.util.resource.Resource;

class FileServer {
  /** Jetty's cache has files that are shorter. */
  private static final int CACHED_BYTES_MAX = (10 << 20) + 1;
  private static final int CACHE_BYTES = 256 << 20;

  private static final String HELP = """
      usage: java -cp ... FileServer FOLDER
      Serves the files of FOLDER by TCP and by exs, until a signal ends it.
      It prints the ports of TCP and of exs, and the ID of the service.
      perf/fetch/figure3 starts it.
      The exit status is 1 after an error, or 2 if the arguments are invalid.
      """;

  public static void main(String[] arguments) throws Exception {
    final boolean isQuestion = arguments.length == 1 && "--help".equals(arguments[0]);
    if (isQuestion || arguments.length != 1) {
      (isQuestion ? System.out : System.err).print(HELP);
      System.exit(isQuestion ? 0 : 2);
    }
    final Path folder = Path.of(arguments[0]);
    final Server byTcp = new Server();
    final Server byExs = new Server();
    final int tcp = serve(byTcp, new ServerConnector(byTcp), folder, false);
    final ServiceConnector service = new ServiceConnector(byExs, ServiceKey.create());
    byExs.addConnector(service);
    final int exs = serve(byExs, new ExsConnector(byExs), folder, true);
    System.out.println(tcp + " " + exs + " " + service.getServiceId());
    byTcp.join();
  }

  private static int serve(Server server, AbstractNetworkConnector connector, Path folder, boolean inMemoryOfExs) throws Exception {
    connector.setHost("127.0.0.1");
    server.addConnector(connector);
    server.setHandler(new ContextHandlerCollection(context("/cached", folder, true, inMemoryOfExs), context("/read", folder, false, inMemoryOfExs)));
    server.start();
    return connector.getLocalPort();
  }

  private static ServletContextHandler context(String path, Path folder, boolean isCached, boolean inMemoryOfExs) throws Exception {
    final ServletContextHandler context = new ServletContextHandler(null, path);
    context.setBaseResource(Resource.newResource(folder.toUri()));
    final ServletHolder files = context.addServlet(DefaultServlet.class, "/");
    if (!isCached && !inMemoryOfExs) {
      files.setInitParameter("maxCachedFiles", "0");
      return context;
    }
    final CachedContentFactory cache =
        inMemoryOfExs
            ? new ExsContentFactory(context.getBaseResource(), context.getMimeTypes(), true)
            : new CachedContentFactory(null, context.getBaseResource(), context.getMimeTypes(), true, true, new CompressedContentFormat[0]);
    cache.setMaxCachedFileSize(CACHED_BYTES_MAX);
    cache.setMaxCacheSize(CACHE_BYTES);
    if (!isCached) cache.setMaxCachedFiles(0);
    context.setAttribute("cache", cache);
    files.setInitParameter("resourceCache", "cache");
    return context;
  }
}
