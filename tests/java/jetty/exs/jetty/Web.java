// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.eclipse.jetty.http2.server.HTTP2CServerConnectionFactory;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.servlet.DefaultServlet;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;
import org.eclipse.jetty.util.resource.Resource;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/** A server with files and servlets, over exs and over TCP at the same time. */
final class Web implements AutoCloseable {
  static final int LARGE_BYTES = 10 << 20;

  final Server server = new Server(new QueuedThreadPool(64));
  final ServletContextHandler context = new ServletContextHandler();
  final ExsConnector exs;
  final ServerConnector tcp = new ServerConnector(server);
  final ExsContentFactory cache;
  private final String provider;

  /** Serves the files of a folder, which it fills if it is empty. */
  Web(Path files, String provider) throws IOException {
    this.provider = provider;
    if (!Files.exists(files.resolve("large"))) fill(files);
    final HttpConnectionFactory http = new ExsHttpConnectionFactory();
    exs = new ExsConnector(server, null, null, null, 2, 2, http, new HTTP2CServerConnectionFactory(http.getHttpConfiguration()));
    for (final org.eclipse.jetty.server.AbstractNetworkConnector one : new org.eclipse.jetty.server.AbstractNetworkConnector[] {exs, tcp}) {
      one.setHost("127.0.0.1");
      server.addConnector(one);
    }
    context.setBaseResource(Resource.newResource(files.toUri()));
    cache = new ExsContentFactory(context.getBaseResource(), context.getMimeTypes(), true);
    context.setAttribute("cache", cache);
    final ServletHolder holder = new ServletHolder(DefaultServlet.class);
    holder.setInitParameter("resourceCache", "cache");
    holder.setInitParameter("etags", "true");
    context.addServlet(holder, "/");
    context.addServlet(new ServletHolder(new Echo()), "/echo");
    context.addServlet(new ServletHolder(new Digest()), "/digest");
    server.setHandler(context);
  }

  Web start() throws Exception {
    server.start();
    return this;
  }

  void stop() {
    try {
      server.stop();
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private static void fill(Path files) throws IOException {
    final int[] sizes = {0, 1, 4 << 10, 64 << 10, 1 << 20};
    for (final int size : sizes) Files.write(files.resolve("file-" + size), bytes(size));
    Files.write(files.resolve("large"), bytes(LARGE_BYTES));
  }

  static byte[] bytes(int size) {
    final byte[] bytes = new byte[size];
    new Random(size).nextBytes(bytes);
    return bytes;
  }

  Http overExs() throws IOException {
    return new Http(socket(exs));
  }

  Http overTcp() throws IOException {
    return new Http(new Socket(InetAddress.getLoopbackAddress(), tcp.getLocalPort()));
  }

  Socket socket(ExsConnector connector) throws IOException {
    return new ChannelSocket(connector.getLocalPort(), provider);
  }

  static String sum(byte[] bytes) {
    return HexFormat.of().formatHex(sha256().digest(bytes));
  }

  private static MessageDigest sha256() {
    try {
      return MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }

  /** Of the connections over exs that there are; how long connecting takes does not count, as it would with the connector's. */
  void shortenIdleTime(long idleMs) {
    for (final EndPoint one : exs.getConnectedEndPoints()) one.setIdleTimeout(idleMs);
  }

  /** Waits until connections over exs, and what they held, are gone. */
  void awaitNobody() {
    await(() -> exs.getConnectedEndPoints().isEmpty() && exs.getChunksInUse() == 0);
  }

  /** Until something has happened, or the time of the test is up. */
  static void await(BooleanSupplier condition) {
    while (!condition.getAsBoolean()) {
      if (Thread.currentThread().isInterrupted()) throw new AssertionError("it has not happened");
      LockSupport.parkNanos(1_000_000);
    }
  }

  @Override
  public void close() {
    stop();
    for (final Connector one : server.getConnectors()) {
      if (one instanceof ExsConnector && ((ExsConnector) one).getChunksInUse() != 0) throw new AssertionError("chunks are left");
    }
  }

  /** Answers with what it is sent, while that arrives. */
  private static final class Echo extends HttpServlet {
    private static final long serialVersionUID = 1;

    @Override
    protected void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
      final byte[] some = new byte[10_000];
      final InputStream in = request.getInputStream();
      final OutputStream out = response.getOutputStream();
      for (int count = in.read(some); count >= 0; count = in.read(some)) {
        out.write(some, 0, count);
        out.flush();
      }
    }
  }

  /** Answers with the SHA-256 of what it is sent. */
  private static final class Digest extends HttpServlet {
    private static final long serialVersionUID = 1;

    @Override
    protected void doPost(HttpServletRequest request, HttpServletResponse response) throws IOException {
      final MessageDigest digest = sha256();
      new DigestInputStream(request.getInputStream(), digest).transferTo(OutputStream.nullOutputStream());
      response.getOutputStream().print(HexFormat.of().formatHex(digest.digest()));
    }
  }
}
