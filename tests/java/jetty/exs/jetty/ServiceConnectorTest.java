// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import exs.DirectoryProgram;
import exs.ExsException;
import exs.Memory;
import exs.service.Peer;
import exs.service.Reply;
import exs.service.RequestOptions;
import exs.service.ServiceKey;
import exs.service.ServiceNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import javax.servlet.AsyncContext;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.eclipse.jetty.server.AbstractConnector;
import org.eclipse.jetty.servlet.ServletHolder;
import org.eclipse.jetty.util.log.Log;
import org.eclipse.jetty.util.log.StdErrLog;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/** A server that is a service, beside its connectors of TCP and of exs. The environment says by which provider. */
@Tag("service")
@Timeout(120)
class ServiceConnectorTest {
  private static final String[] FILES = {"/file-0", "/file-1", "/file-4096", "/file-65536", "/file-1048576", "/large"};
  private static final long REPLY_BYTES = 64L * Web.LARGE_BYTES;
  private static final String PROVIDER = System.getenv().getOrDefault("EXS_PROVIDER", "shm");

  @TempDir
  static Path files;

  private ServiceKey key;
  private Web web;
  private ServiceConnector connector;
  private ServiceNode node;
  private Peer peer;

  @BeforeEach
  void start() throws Exception {
    key = ServiceKey.create();
    web = new Web(files, PROVIDER);
    connector = new ServiceConnector(web.server, key);
    connector.setBodyWindows(2, 1 << 20);
    web.server.addConnector(connector);
    web.context.addServlet(new ServletHolder(new Odd()), "/odd");
    web.start();
    node = ServiceNode.builder().findFor(Duration.ofSeconds(30)).replyMemory(REPLY_BYTES).open();
    peer = node.peer(connector.getServiceId()).open();
  }

  @AfterEach
  void stop() throws Exception {
    awaitNothing();
    node.close();
    web.close();
    key.close();
  }

  private void awaitNothing() {
    Web.await(() -> connector.getRequests() == 0 && connector.getChunksInUse() == 0);
  }

  @Test
  void a_file_is_the_same_as_over_tcp() throws Exception {
    for (int round = 0; round < 2; ++round) {  // read, and from the cache
      for (final String file : FILES) {
        final Http.Answer answer = Fetch.get(peer, file);
        try (Http tcp = web.overTcp()) {
          final Http.Answer other = tcp.get(file);
          assertEquals(Web.sum(other.body()), Web.sum(answer.body()), file);
          assertEquals(other.status(), answer.status());
          for (final String field : new String[] {"content-length", "etag", "last-modified"})
            assertEquals(other.fields().get(field), answer.fields().get(field), file + ' ' + field);
        }
      }
    }
  }

  @Test
  @EnabledIfSystemProperty(named = "exs.fetch", matches = ".+")
  void exs_fetch_gets_the_same_in_all_ways_at_the_same_time() throws Exception {
    final String tcp = "http://127.0.0.1:" + web.tcp.getLocalPort();
    final String stream = "http://127.0.0.1:" + web.exs.getLocalPort();
    final String service = "exs-svc://" + connector.getServiceId();
    final List<Process> clients =
        List.of(startFetch(tcp, "--tcp"), startFetch(stream), startFetch(service), startFetch(service, "--return"));
    final List<String> expected = new ArrayList<>();
    for (final String file : FILES) expected.add(Web.sum(Files.readAllBytes(files.resolve(file.substring(1)))) + "  " + file);
    for (final Process client : clients) {
      final String sums = new String(client.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertEquals(0, client.waitFor());
      assertEquals(expected, sums.lines().map(line -> line.replaceFirst("  [a-z-]+://[^/]+", "  ")).toList());
    }
  }

  private static Process startFetch(String server, String... options) throws IOException {
    final List<String> command = new ArrayList<>(List.of(System.getProperty("exs.fetch"), "--sums", "--repeat", "20"));
    command.addAll(List.of("--provider", PROVIDER));
    command.addAll(List.of(options));
    for (final String file : FILES) command.add(server + file);
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
  }

  @Test
  void head_tells_of_a_file_and_a_known_one_is_not_sent() throws Exception {
    final Http.Answer head = new Fetch(peer, "HEAD", "/large", null).answer().get();
    assertEquals(200, head.status());
    assertEquals(Integer.toString(Web.LARGE_BYTES), head.fields().get("content-length"));
    final Http.Answer known = Fetch.get(peer, "/large", "If-None-Match: " + head.fields().get("etag"));
    assertEquals(304, known.status());
    assertEquals(0, known.body().length);
    assertEquals(404, Fetch.get(peer, "/none").status());
    final Http.Answer range = Fetch.get(peer, "/large", "Range: bytes=100-299");
    assertEquals(206, range.status());
    assertArrayEquals(Arrays.copyOfRange(Web.bytes(Web.LARGE_BYTES), 100, 300), range.body());
  }

  @Test
  void bodies_are_posted_and_answers_come_in_parts() throws Exception {
    for (final int size : new int[] {1, 10_000, 1 << 20, 3 << 20}) {
      final byte[] bytes = Web.bytes(size);
      final ByteBuffer body = Memory.allocate(size).buffer().put(bytes).flip();
      assertEquals(Web.sum(bytes), new Fetch(peer, "POST", "/digest", body).answer().get().text());
      final Fetch echo = new Fetch(peer, "POST", "/echo", body, "Content-Length: " + size);
      assertEquals(Web.sum(bytes), Web.sum(echo.answer().get().body()));
      assertTrue(echo.parts() > size / 10_000, echo.parts() + " parts");
    }
    assertEquals(0, new Fetch(peer, "POST", "/echo", null).answer().get().body().length);
  }

  @Test
  void heads_that_are_none_are_refused() throws Exception {
    assertEquals(400, new Fetch(peer, "POST", "/echo", ByteBuffer.allocateDirect(5), "Content-Length: 6").answer().get().status());
    assertEquals(400, Fetch.get(peer, "/file-1", "Transfer-Encoding: chunked").status());
    assertEquals(400, Fetch.get(peer, "/file-1", "no field").status());
    assertEquals(400, Fetch.get(peer, "/file-1", "A: b\r\n\r\nGET / HTTP/1.1").status());
    assertEquals(400, Fetch.get(peer, "no path").status());
    for (final List<ByteBuffer> head : List.of(List.<ByteBuffer>of(), List.of(ByteBuffer.wrap(new byte[] {'G', 'E'}))))
      assertEquals(400, peer.request(head, List.of(), RequestOptions.NONE).reply().get().status());
  }

  @Test
  void long_heads_go_as_long_items() throws Exception {
    assertEquals(200, statusOfLongHead(6000));
    assertEquals(431, statusOfLongHead(9000));
    final Http.Answer answer = Fetch.get(peer, "/odd?head=6000");
    assertEquals(6000, answer.fields().get("x-long").length());
    assertEquals("end", answer.text());
  }

  private int statusOfLongHead(int bytes) throws Exception {
    final String head = "GET /odd HTTP/1.1\r\nHost: here\r\nX-Long: " + "x".repeat(bytes) + "\r\n\r\n";
    final ByteBuffer item = ByteBuffer.allocateDirect(head.length()).put(head.getBytes(StandardCharsets.ISO_8859_1)).flip();
    try (Reply reply = peer.request(List.of(), List.of(item), RequestOptions.NONE).reply().get()) {
      return reply.status();
    }
  }

  @Test
  void contents_of_the_heap_of_any_size_and_asynchronous_answers() throws Exception {
    assertEquals("later", Fetch.get(peer, "/odd?later=1").text());
    for (final int size : new int[] {0, 2048, 2049, 32 << 10, (32 << 10) + 1, 1_000_000})
      assertArrayEquals(new byte[size], Fetch.get(peer, "/odd?heap=" + size).body());
    assertEquals(500, Fetch.get(peer, "/odd?throw=1").status());
    assertEquals("nobody", Fetch.get(peer, "/odd?who=1").text());
  }

  @Test
  void an_answer_that_breaks_off_is_told() throws Exception {
    assertEquals(ExsException.ECANCELED, Fetch.errnoOf(new Fetch(peer, "GET", "/odd?break=1", null).answer()));
    assertEquals(1, Fetch.get(peer, "/file-1").body().length);
  }

  @Test
  void many_at_once() throws Exception {
    final List<Peer> peers = new ArrayList<>();
    for (int i = 0; i < 4; ++i) peers.add(node.peer(connector.getServiceId()).open());
    final List<CompletableFuture<Http.Answer>> answers = new ArrayList<>();
    for (int i = 0; i < 400; ++i) answers.add(Fetch.whenThereIsRoom(peers.get(i % 4), FILES[i % 5]).answer());
    for (int i = 0; i < 400; ++i)
      assertEquals(Web.sum(Files.readAllBytes(files.resolve(FILES[i % 5].substring(1)))), Web.sum(answers.get(i).get().body()));
  }

  @Test
  void aborted_fetches_leave_nothing_behind() throws Exception {
    for (int i = 0; i < 200; ++i) {
      final Fetch fetch = i % 10 != 5 ? new Fetch(peer, "GET", "/large", null)
                                      : new Fetch(peer, "POST", "/echo", ByteBuffer.allocateDirect(100_000));
      if (i % 3 == 0) peer.ping().get();
      fetch.call.cancel();
      assertEndedOrCancelled(fetch);
    }
    awaitNothing();
    assertEquals(Web.sum(Web.bytes(Web.LARGE_BYTES)), Web.sum(Fetch.get(peer, "/large").body()));
  }

  private static void assertEndedOrCancelled(Fetch fetch) throws InterruptedException {
    final int errno = Fetch.errnoOf(fetch.answer());
    assertTrue(errno == 0 || errno == ExsException.ECANCELED, "errno " + errno);
  }

  /** The service waits for those to come back, for a minute or until it ends. */
  @Test
  void clients_that_go_while_they_are_served() throws Exception {
    for (int i = 0; i < 10; ++i) {
      final Peer own = node.peer(connector.getServiceId()).open();
      final Fetch fetch = new Fetch(own, "GET", "/large", null);
      if (i % 2 == 0) own.ping().get();
      own.close();
      assertEndedOrCancelled(fetch);
    }
    assertEquals(Web.LARGE_BYTES, Fetch.get(peer, "/large").body().length);
    connector.stop();
    awaitNothing();
  }

  @Test
  void stopped_and_started_again_under_load() throws Exception {
    final List<CompletableFuture<Http.Answer>> answers = new ArrayList<>();
    for (int i = 0; i < 20; ++i) answers.add(new Fetch(peer, "GET", "/large", null).answer());
    connector.stop();
    connector.start();
    for (final CompletableFuture<Http.Answer> answer : answers)
      assertEquals(Web.sum(Web.bytes(Web.LARGE_BYTES)), Web.sum(answer.get().body()));
  }

  @Test
  @EnabledIfSystemProperty(named = "exs.directory", matches = ".+")
  void who_is_overtaken_says_so_and_is_it_again_when_started() throws Exception {
    final Path file = Files.createTempDirectory(files, "key").resolve("key");
    key.store(file);
    final ByteArrayOutputStream said = new ByteArrayOutputStream();
    final StdErrLog log = (StdErrLog) Log.getLogger(AbstractConnector.class);
    try (DirectoryProgram directory = new DirectoryProgram(file.resolveSibling("directory"))) {
      connector.stop();
      connector.setDirectory(directory.address());
      connector.start();
      assertTrue(connector.isAccepting());
      log.setStdErrStream(new PrintStream(said, true, StandardCharsets.UTF_8));
      directory.overtake(file);
      Web.await(() -> !connector.isAccepting());
      assertTrue(connector.isStarted());
      directory.endRivals();
      connector.stop();
      connector.start();
      assertTrue(connector.isAccepting());
      assertEquals(1, Fetch.get(peer, "/file-1").body().length);
      assertEquals(2, said.toString(StandardCharsets.UTF_8).split(" overtaken, ", -1).length, said.toString(StandardCharsets.UTF_8));
    } finally {
      log.setStdErrStream(null);
    }
  }

  @Test
  void a_server_that_is_killed_and_started_again_goes_on() throws Exception {
    final Path file = Files.createTempDirectory(files, "key").resolve("key");
    try (ServiceKey own = ServiceKey.create()) {
      own.store(file);
      final Peer served = node.peer(own.id()).open();
      Process server = ServedWeb.start(files, file, PROVIDER);
      for (int round = 0; round < 2; ++round) {
        final List<CompletableFuture<Http.Answer>> answers = new ArrayList<>();
        for (int i = 0; i < 20; ++i) answers.add(new Fetch(served, "GET", i % 2 == 0 ? "/large" : "/file-4096", null).answer());
        CompletableFuture.anyOf(answers.toArray(new CompletableFuture<?>[0])).get();
        server.destroyForcibly().waitFor();
        server = ServedWeb.start(files, file, PROVIDER);
        for (int i = 0; i < 20; ++i) assertEquals(i % 2 == 0 ? Web.LARGE_BYTES : 4096, answers.get(i).get().body().length);
      }
      assertEquals(Web.sum(Web.bytes(Web.LARGE_BYTES)), Web.sum(Fetch.get(served, "/large").body()));
      server.destroyForcibly().waitFor();
    }
  }

  /** Answers of other shapes. */
  private static final class Odd extends HttpServlet {
    private static final long serialVersionUID = 1;

    @Override
    protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
      final int head = number(request, "head");
      if (head > 0) response.setHeader("X-Long", "x".repeat(head));
      if (number(request, "throw") > 0) throw new IOException("on purpose");
      if (number(request, "who") > 0) {
        response.getOutputStream().print(request.getRemoteAddr());
      } else if (number(request, "later") > 0) {
        final AsyncContext later = request.startAsync();
        later.start(() -> answer(later));
      } else if (request.getParameter("heap") != null) {
        response.getOutputStream().write(new byte[number(request, "heap")]);
      } else if (number(request, "break") > 0) {
        response.setContentLength(100);
        response.getOutputStream().print("only this");
        response.flushBuffer();
        throw new IOException("on purpose");
      } else {
        response.getOutputStream().print("end");
      }
    }

    private static void answer(AsyncContext context) {
      try {
        context.getResponse().getOutputStream().print("later");
      } catch (IOException e) {
        throw new IllegalStateException(e);
      }
      context.complete();
    }

    private static int number(HttpServletRequest request, String name) {
      final String value = request.getParameter(name);
      return value == null ? 0 : Integer.parseInt(value);
    }
  }
}
