// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import exs.Memory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import org.eclipse.jetty.http.HttpContent;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class HttpTest {
  private static final List<String> FILES = List.of("file-0", "file-1", "file-4096", "file-65536", "file-1048576", "large");

  @TempDir
  static Path files;

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void files_are_those_that_tcp_gets(String provider) throws Exception {
    try (Web web = new Web(files, provider).start(); Http exs = web.overExs(); Http tcp = web.overTcp()) {
      for (int round = 0; round < 3; ++round) {
        for (final String file : FILES) {
          final String sum = Web.sum(Files.readAllBytes(files.resolve(file)));
          final Http.Answer answer = exs.get("/" + file);
          assertEquals(200, answer.status());
          assertEquals(sum, Web.sum(answer.body()), file);
          assertEquals(sum, Web.sum(tcp.get("/" + file).body()), file);
        }
      }
      final HttpContent content = web.cache.getContent("/large", 0);
      assertTrue(Memory.holds(content.getIndirectBuffer()));
      assertTrue(Memory.holds(content.getDirectBuffer()));
      assertEquals(1, web.exs.getConnectedEndPoints().size());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void files_that_are_not_cached_are_read_into_buffers_of_the_pool(String provider) throws Exception {
    try (Web web = new Web(files, provider)) {
      web.cache.setMaxCachedFiles(0);
      final ExsBufferPool pool = (ExsBufferPool) web.exs.getByteBufferPool();
      web.start();
      try (Http exs = web.overExs()) {
        for (final String file : FILES) {
          assertEquals(Web.sum(Files.readAllBytes(files.resolve(file))), Web.sum(exs.get("/" + file).body()), file);
        }
      }
      web.awaitNobody();
      assertEquals(1, pool.getDirectByteBufferCount());
      final ByteBuffer buffer = pool.acquire(ExsHttpConnectionFactory.OUTPUT_BYTES, true);
      assertTrue(Memory.holds(buffer));
      assertEquals(0, pool.getDirectByteBufferCount());
      assertEquals(0, buffer.remaining());
      pool.release(buffer);
      assertFalse(Memory.holds(pool.acquire(4096, true)));
      assertFalse(pool.acquire(ExsHttpConnectionFactory.OUTPUT_BYTES, false).isDirect());
    }
  }

  /** As a program has it that has set up its HTTP for other connectors. */
  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void files_by_the_connections_of_jetty(String provider) throws Exception {
    try (Web web = new Web(files, provider)) {
      web.cache.setMaxCachedFiles(0);
      final ExsConnector plain = new ExsConnector(web.server, new HttpConnectionFactory());
      plain.setHost("127.0.0.1");
      web.server.addConnector(plain);
      web.start();
      try (Http exs = new Http(web.socket(plain))) {
        for (final String file : FILES) {
          assertEquals(Web.sum(Files.readAllBytes(files.resolve(file))), Web.sum(exs.get("/" + file).body()), file);
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void heads_ranges_and_conditions(String provider) throws Exception {
    try (Web web = new Web(files, provider).start(); Http exs = web.overExs()) {
      final byte[] large = Files.readAllBytes(files.resolve("large"));
      final Http.Answer head = exs.ask("HEAD", "/large", null);
      assertEquals(200, head.status());
      assertEquals(Integer.toString(large.length), head.fields().get("content-length"));
      final Http.Answer range = exs.get("/large", "Range: bytes=1000-5000999");
      assertEquals(206, range.status());
      assertArrayEquals(java.util.Arrays.copyOfRange(large, 1000, 5_001_000), range.body());
      final Http.Answer several = exs.get("/large", "Range: bytes=0-9,100-199");
      assertEquals(206, several.status());
      assertTrue(several.fields().get("content-type").startsWith("multipart/byteranges"));
      assertEquals(304, exs.get("/large", "If-None-Match: " + head.fields().get("etag")).status());
      assertEquals(404, exs.get("/nothing").status());
      assertEquals(200, exs.get("/file-1").status());
      // Jetty tells the length of the file, also over TCP, and sends nothing of it: that ends the connection.
      exs.send("GET", "/large", -1, "Range: bytes=99999999-");
      assertEquals("HTTP/1.1 416 Range Not Satisfiable", exs.line());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void bodies_are_taken_whole_and_in_chunks(String provider) throws Exception {
    try (Web web = new Web(files, provider).start(); Http exs = web.overExs()) {
      for (final int size : new int[] {0, 1, 100_000, 20_000_000}) {
        final byte[] body = Web.bytes(size);
        assertEquals(Web.sum(body), exs.ask("POST", "/digest", body).text());
        exs.send("POST", "/echo", -1, "Transfer-Encoding: chunked");
        final CompletableFuture<Http.Answer> answer = CompletableFuture.supplyAsync(() -> read(exs));
        writeChunks(exs, body);
        final Http.Answer echo = answer.get();
        assertEquals("chunked", size == 0 ? "chunked" : echo.fields().get("transfer-encoding"));
        assertEquals(Web.sum(body), Web.sum(echo.body()));
      }
      assertEquals(100, continued(exs, 5_000_000));
    }
  }

  private static Http.Answer read(Http http) {
    try {
      return http.answer(false);
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static void writeChunks(Http http, byte[] body) throws IOException {
    for (int at = 0; at < body.length;) {
      final int count = Math.min(body.length - at, 1 + at % 70_001);
      http.out.write((Integer.toHexString(count) + "\r\n").getBytes(StandardCharsets.US_ASCII));
      http.out.write(body, at, count);
      http.out.write("\r\n".getBytes(StandardCharsets.US_ASCII));
      at += count;
    }
    http.out.write("0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
  }

  /** The first status of a request that waits to be told to go on. */
  private static int continued(Http http, int size) throws IOException {
    final byte[] body = Web.bytes(size);
    http.send("POST", "/digest", size, "Expect: 100-continue");
    final int status = http.answer(false).status();
    http.out.write(body);
    assertEquals(Web.sum(body), http.answer(false).text());
    return status;
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void requests_that_come_together_are_answered_in_order(String provider) throws Exception {
    try (Web web = new Web(files, provider).start(); Http exs = web.overExs()) {
      final CompletableFuture<List<Integer>> lengths = CompletableFuture.supplyAsync(() -> {
        final List<Integer> read = new ArrayList<>();
        for (int i = 0; i < 2 * FILES.size(); ++i) read.add(read(exs).body().length);
        return read;
      });
      for (int i = 0; i < 2 * FILES.size(); ++i) exs.send("GET", "/" + FILES.get(i % FILES.size()), -1);
      for (int i = 0; i < 2 * FILES.size(); ++i) {
        assertEquals(Files.size(files.resolve(FILES.get(i % FILES.size()))), (long) lengths.get().get(i));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void a_connection_ends_as_it_should(String provider) throws Exception {
    try (Web web = new Web(files, provider).start()) {
      try (Http exs = web.overExs()) {
        assertEquals(1 << 20, exs.get("/file-1048576", "Connection: close").body().length);
        assertEquals(-1, exs.in.read());
      }
      try (Http exs = web.overExs()) {
        exs.out.write("nonsense\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        assertEquals(400, exs.answer(false).status());
        assertEquals(-1, exs.in.read());
      }
      try (Http exs = web.overExs()) {
        exs.out.write("GET /file-65536 HTTP/1.0\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        assertEquals(65536, exs.answer(false).body().length);
        assertEquals(-1, exs.in.read());
      }
      web.awaitNobody();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void many_clients_at_once(String provider) throws Exception {
    try (Web web = new Web(files, provider).start()) {
      final String[] sums = new String[FILES.size()];
      for (int i = 0; i < sums.length; ++i) sums[i] = Web.sum(Files.readAllBytes(files.resolve(FILES.get(i))));
      final List<FutureTask<Void>> clients = new ArrayList<>();
      for (int client = 0; client < 16; ++client) {
        final int first = client;
        clients.add(new FutureTask<>(() -> {
          try (Http exs = web.overExs()) {
            for (int i = 0; i < 20; ++i) {
              final int file = (first + i) % sums.length;
              assertEquals(sums[file], Web.sum(exs.get("/" + FILES.get(file)).body()));
            }
          }
          return null;
        }));
      }
      clients.forEach(one -> new Thread(one).start());
      for (final FutureTask<Void> one : clients) one.get();
      web.awaitNobody();
    }
  }

  @Test
  void a_connector_starts_and_stops() throws Exception {
    try (Web web = new Web(files, null)) {
      assertEquals(-1, web.exs.getLocalPort());
      web.start();
      final int port = web.exs.getLocalPort();
      assertTrue(port > 0);
      try (Http open = web.overExs()) {
        assertEquals(1, open.get("/file-1").body().length);
        web.stop();
        assertEquals(-1, open.in.read());
      }
      assertEquals(-2, web.exs.getLocalPort());
      assertThrows(IOException.class, () -> new ChannelSocket(port, null));
      web.exs.setPort(port);
      web.server.start();
      assertEquals(port, web.exs.getLocalPort());
      try (Http again = web.overExs()) {
        assertEquals(1, again.get("/file-1").body().length);
      }
      final Web second = new Web(files, null);
      second.exs.setPort(port);
      assertThrows(IOException.class, second::start);
      second.close();
    }
    assertThrows(IllegalArgumentException.class, () -> new ExsConnector(new org.eclipse.jetty.server.Server(), null, null, null, 0, 1));
  }
}
