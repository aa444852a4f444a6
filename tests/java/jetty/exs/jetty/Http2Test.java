// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import static org.junit.jupiter.api.Assertions.assertEquals;

import exs.SocketType;
import exs.StreamChannel;
import java.io.ByteArrayOutputStream;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpURI;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.http.MetaData;
import org.eclipse.jetty.http2.api.Session;
import org.eclipse.jetty.http2.api.Stream;
import org.eclipse.jetty.http2.client.HTTP2Client;
import org.eclipse.jetty.http2.client.HTTP2ClientConnectionFactory;
import org.eclipse.jetty.http2.frames.DataFrame;
import org.eclipse.jetty.http2.frames.HeadersFrame;
import org.eclipse.jetty.io.ClientConnectionFactory;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.Promise;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** HTTP/2 in the open, of Jetty's own client, at an end point of exs as well. */
@Timeout(120)
class Http2Test {
  @TempDir
  static Path files;

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void many_streams_of_one_connection(String provider) throws Exception {
    final HTTP2Client client = new HTTP2Client();
    client.start();
    try (Web web = new Web(files, provider).start(); Ends ends = new Ends(client)) {
      final Session session = ends.connect(web.exs.getLocalPort(), provider);
      final List<String> names = List.of("file-0", "file-1", "file-4096", "file-65536", "file-1048576", "large");
      final List<CompletableFuture<byte[]>> bodies = new ArrayList<>();
      for (int i = 0; i < 3 * names.size(); ++i) {
        bodies.add(ask(session, web.exs.getLocalPort(), "GET", "/" + names.get(i % names.size()), null));
      }
      for (int i = 0; i < bodies.size(); ++i) {
        final byte[] file = Files.readAllBytes(files.resolve(names.get(i % names.size())));
        assertEquals(Web.sum(file), Web.sum(bodies.get(i).get()), names.get(i % names.size()));
      }
      final byte[] body = Web.bytes(3_000_000);
      assertEquals(Web.sum(body), new String(ask(session, web.exs.getLocalPort(), "POST", "/digest", body).get()));
      assertEquals(1, web.exs.getConnectedEndPoints().size());
      session.close(0, null, Callback.NOOP);
      web.awaitNobody();
    } finally {
      client.stop();
    }
  }

  private static CompletableFuture<byte[]> ask(Session session, int port, String method, String path, byte[] body) {
    final MetaData.Request request = new MetaData.Request(method, new HttpURI("http://127.0.0.1:" + port + path), HttpVersion.HTTP_2,
        new HttpFields());
    final CompletableFuture<byte[]> answer = new CompletableFuture<>();
    final ByteArrayOutputStream all = new ByteArrayOutputStream();
    session.newStream(new HeadersFrame(request, null, body == null), new Promise.Adapter<>() {
      @Override
      public void succeeded(Stream stream) {
        if (body != null) stream.data(new DataFrame(stream.getId(), ByteBuffer.wrap(body), true), Callback.NOOP);
      }

      @Override
      public void failed(Throwable failure) {
        answer.completeExceptionally(failure);
      }
    }, new Stream.Listener.Adapter() {
      @Override
      public void onHeaders(Stream stream, HeadersFrame frame) {
        if (frame.isEndStream()) answer.complete(all.toByteArray());
      }

      @Override
      public void onData(Stream stream, DataFrame frame, Callback callback) {
        final byte[] bytes = new byte[frame.getData().remaining()];
        frame.getData().get(bytes);
        all.writeBytes(bytes);
        callback.succeeded();
        if (frame.isEndStream()) answer.complete(all.toByteArray());
      }
    });
    return answer;
  }

  /** The client's ends of connections. */
  private static final class Ends implements AutoCloseable {
    private final HTTP2Client client;
    private final Completions completions;
    private final Arena arena = new Arena();

    Ends(HTTP2Client client) throws Exception {
      this.client = client;
      completions = new Completions(1000, client.getExecutor());
      completions.start();
    }

    Session connect(int port, String provider) throws Exception {
      final StreamChannel channel =
          StreamChannel.connect(completions.loop(), SocketType.STREAM, new InetSocketAddress("127.0.0.1", port), provider).get();
      final ExsEndPoint end = new ExsEndPoint(client.getScheduler(), channel, completions, arena, client.getExecutor(), closed -> {});
      end.onOpen();
      final CompletableFuture<Session> session = new CompletableFuture<>();
      final Map<String, Object> context = new HashMap<>();
      context.put(HTTP2ClientConnectionFactory.CLIENT_CONTEXT_KEY, client);
      context.put(ClientConnectionFactory.CONNECTOR_CONTEXT_KEY, client);
      context.put(HTTP2ClientConnectionFactory.SESSION_LISTENER_CONTEXT_KEY, new Session.Listener.Adapter());
      context.put(HTTP2ClientConnectionFactory.SESSION_PROMISE_CONTEXT_KEY, new Promise.Adapter<Session>() {
        @Override
        public void succeeded(Session made) {
          session.complete(made);
        }

        @Override
        public void failed(Throwable failure) {
          session.completeExceptionally(failure);
        }
      });
      final Connection connection = new HTTP2ClientConnectionFactory().newConnection(end, context);
      end.setConnection(connection);
      connection.onOpen();
      return session.get();
    }

    @Override
    public void close() {
      Web.await(() -> arena.inUse() == 0);
      try {
        if (!completions.close(60, TimeUnit.SECONDS)) throw new AssertionError("something is under way");
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    }
  }
}
