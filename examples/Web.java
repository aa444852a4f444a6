// A web server of Jetty whose pictures browsers fetch by TCP, and exs-fetch by exs, at the same time.
//   java -cp ... Web [TCP-PORT EXS-PORT]     run-Web.sh has the class path, and an example of every kind of client
// It draws the pictures when it starts. The page shows them, and the SHA-256 of what the browser got.
// SPDX-License-Identifier: BSD-2-Clause
import exs.jetty.ExsConnector;
import exs.jetty.ExsContentFactory;
import java.awt.Color;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;
import javax.imageio.ImageIO;
import org.eclipse.jetty.server.AbstractNetworkConnector;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.servlet.DefaultServlet;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.util.resource.Resource;

class Web {
  private static final int PICTURES = 6;
  private static final String PAGE = """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8"><link rel="icon" href="data:,"><title>exs</title></head><body>
      <h1>Pictures from memory of exs</h1>
      PICTURES
      <pre id="sums"></pre>
      <script>
        const hex = bytes => [...new Uint8Array(bytes)].map(byte => byte.toString(16).padStart(2, '0')).join('');
        const sum = async picture => {
          await picture.decode();
          const answer = await fetch(picture.src);
          return hex(await crypto.subtle.digest('SHA-256', await answer.arrayBuffer())) + '  ' + new URL(picture.src).pathname;
        };
        Promise.all([...document.images].map(sum)).then(sums => document.getElementById('sums').textContent = sums.join('\\n') + '\\n');
      </script></body></html>
      """;

  private static final String HELP = """
      usage: java -cp ... Web [TCP-PORT EXS-PORT]
      Serves a page with pictures, by TCP and by exs at the same time, until a signal ends it.
      It listens at 127.0.0.1, at any free ports by default. run-Web.sh has the class path.
      The exit status is 1 after an error, or 2 if the arguments are invalid.
      """;

  public static void main(String[] arguments) throws Exception {
    if (arguments.length == 1 && "--help".equals(arguments[0])) {
      System.out.print(HELP);
      return;
    }
    if (arguments.length != 0 && arguments.length != 2) {
      System.err.print(HELP);
      System.exit(2);
    }
    final Path files = Files.createTempDirectory("exs-web-");
    Runtime.getRuntime().addShutdownHook(new Thread(() -> remove(files)));
    fill(files);

    final Server server = new Server();
    final AbstractNetworkConnector tcp = new ServerConnector(server);
    final AbstractNetworkConnector exs = new ExsConnector(server);
    tcp.setPort(arguments.length == 2 ? Integer.parseInt(arguments[0]) : 0);
    exs.setPort(arguments.length == 2 ? Integer.parseInt(arguments[1]) : 0);
    for (final AbstractNetworkConnector one : new AbstractNetworkConnector[] {tcp, exs}) {
      one.setHost("127.0.0.1");
      server.addConnector(one);
    }

    final ServletContextHandler context = new ServletContextHandler();
    context.setBaseResource(Resource.newResource(files.toUri()));
    context.setAttribute("cache", new ExsContentFactory(context.getBaseResource(), context.getMimeTypes(), true));
    context.addServlet(DefaultServlet.class, "/").setInitParameter("resourceCache", "cache");
    server.setHandler(context);
    server.start();
    System.out.println("http://127.0.0.1:" + tcp.getLocalPort() + "/ by TCP, http://127.0.0.1:" + exs.getLocalPort() + "/ by exs");
    server.join();
  }

  private static void fill(Path files) throws IOException {
    final StringBuilder list = new StringBuilder();
    for (int i = 1; i <= PICTURES; ++i) {
      final String name = "picture-" + i + ".png";
      ImageIO.write(picture(120 * i, i), "png", files.resolve(name).toFile());
      list.append("<img src=\"").append(name).append("\" alt=\"\" height=\"240\">\n");
    }
    Files.writeString(files.resolve("index.html"), PAGE.replace("PICTURES", list));
  }

  /** Part of Mandelbrot's set. */
  private static BufferedImage picture(int edge, int number) {
    final BufferedImage picture = new BufferedImage(edge, edge, BufferedImage.TYPE_INT_RGB);
    final double width = 3.0 / (1 << number);
    for (int x = 0; x < edge; ++x) {
      for (int y = 0; y < edge; ++y) {
        final int steps = steps(-0.7436 + width * x / edge - width / 2, 0.1318 + width * y / edge - width / 2);
        picture.setRGB(x, y, Color.HSBtoRGB(0.6f + steps / 100f, 0.7f, steps == 200 ? 0f : 1f));
      }
    }
    return picture;
  }

  private static int steps(double cx, double cy) {
    int steps = 0;
    for (double x = 0, y = 0; steps < 200 && x * x + y * y < 4; ++steps) {
      final double next = x * x - y * y + cx;
      y = 2 * x * y + cy;
      x = next;
    }
    return steps;
  }

  private static void remove(Path files) {
    try (Stream<Path> all = Files.walk(files)) {
      all.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
    } catch (IOException e) {
      System.err.println("Web: " + files + " stays: " + e.getMessage());
    }
  }
}
