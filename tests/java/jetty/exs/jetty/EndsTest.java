// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import exs.Loop;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jetty.server.HttpChannel;
import org.eclipse.jetty.server.Request;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients that do not end as they should. */
@Timeout(120)
class EndsTest {
  private static final int ABORTS = Integer.getInteger("exs.aborts", 1000);

  private static final List<Throwable> UNCAUGHT = new CopyOnWriteArrayList<>();

  @TempDir
  static Path files;

  @BeforeAll
  static void noteWhatNobodyCatches() {
    Thread.setDefaultUncaughtExceptionHandler((thread, failure) -> UNCAUGHT.add(failure));
  }

  @AfterAll
  static void nothingWasUncaught() {
    Thread.setDefaultUncaughtExceptionHandler(null);
    assertEquals(List.of(), UNCAUGHT);
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void aborted_fetches_leave_nothing_behind(String provider) throws Exception {
    try (Web web = new Web(files, provider).start(); Loop loop = Loop.start(64)) {
      for (int i = 0; i < ABORTS; ++i) {
        final ChannelSocket socket = (ChannelSocket) web.socket(web.exs);
        final Http http = new Http(socket);
        http.send("GET", i % 2 == 0 ? "/large" : "/file-1048576", -1);
        if (i % 4 < 2) http.line();
        final Future<Void> gone = i % 3 == 0 ? socket.channel.close(loop) : socket.channel.abort(loop);
        gone.get();
      }
      web.awaitNobody();
      assertServes(web);
    }
  }

  private static void assertServes(Web web) throws IOException {
    final String sum = Web.sum(Files.readAllBytes(files.resolve("large")));
    try (Http exs = web.overExs(); Http tcp = web.overTcp()) {
      assertEquals(sum, Web.sum(exs.get("/large").body()));
      assertEquals(sum, Web.sum(tcp.get("/large").body()));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void an_idle_connection_is_closed(String provider) throws Exception {
    try (Web web = new Web(files, provider).start(); Http heard = web.overExs()) {
      assertEquals(1, heard.get("/file-1").body().length);
      web.exs.setIdleTimeout(100);
      try (Http silent = web.overExs()) {
        assertEquals(-1, silent.in.read());
      }
      web.shortenIdleTime(100);
      assertEquals(-1, heard.in.read());
      web.awaitNobody();
    }
  }

  /** A peer that neither goes on nor hears that it should have gone holds nothing for longer than it does with TCP. */
  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void who_stops_in_a_request_is_gone_when_its_idle_time_is_up(String provider) throws Exception {
    final String head = " HTTP/1.1\r\nHost: here\r\n";
    for (final String half : List.of("GET /" + head + "X-A: ", "POST /digest" + head + "Content-Length: 9\r\n\r\nx")) {
      try (Web web = new Web(files, provider)) {
        web.exs.setIdleTimeout(2000);
        web.tcp.setIdleTimeout(2000);
        web.start();
        try (Http exs = web.overExs(); Http tcp = web.overTcp()) {
          for (final Http one : List.of(exs, tcp)) {
            one.out.write(half.getBytes(StandardCharsets.ISO_8859_1));
            one.out.flush();
          }
          Web.await(() -> !web.exs.getConnectedEndPoints().isEmpty() && !web.tcp.getConnectedEndPoints().isEmpty());
          web.awaitNobody();
          assertFalse(web.tcp.getConnectedEndPoints().isEmpty());
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void who_never_reads_is_given_up(String provider) throws Exception {
    try (Web web = new Web(files, provider)) {
      final AtomicInteger failures = countFailures(web);
      web.start();
      try (Http deaf = web.overExs()) {
        deaf.send("GET", "/large", -1);
        assertEquals('H', deaf.in.read());
        web.shortenIdleTime(100);
        Web.await(() -> failures.get() == 1);
        web.awaitNobody();
        assertServes(web);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void who_stands_still_is_given_up(String provider) throws Exception {
    try (Web web = new Web(files, provider)) {
      final AtomicInteger failures = countFailures(web);
      web.start();
      final Process reader = Reader.start(web.exs.getLocalPort(), provider, "/large");
      try {
        signal("STOP", reader);
        web.shortenIdleTime(200);
        Web.await(() -> failures.get() == 1);
        web.awaitNobody();
        assertTrue(reader.isAlive());
        assertServes(web);
      } finally {
        reader.destroyForcibly().waitFor();
      }
    }
  }

  private static void signal(String name, Process process) throws Exception {
    assertEquals(0, new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).inheritIO().start().waitFor());
  }

  private static AtomicInteger countFailures(Web web) {
    final AtomicInteger failures = new AtomicInteger();
    web.exs.addBean(new HttpChannel.Listener() {
      @Override
      public void onResponseFailure(Request request, Throwable failure) {
        failures.incrementAndGet();
      }
    });
    return failures;
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void a_killed_client_is_noticed(String provider) throws Exception {
    try (Web web = new Web(files, provider).start()) {
      final Process reader = Reader.start(web.exs.getLocalPort(), provider, "/large");
      assertFalse(web.exs.getConnectedEndPoints().isEmpty());
      assertTrue(reader.destroyForcibly().waitFor(60, TimeUnit.SECONDS));
      web.awaitNobody();
      assertServes(web);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void the_server_stops_while_it_is_busy(String provider) throws Exception {
    final Web web = new Web(files, provider).start();
    final Process reader = Reader.start(web.exs.getLocalPort(), provider, "/large");
    web.close();
    assertEquals(0, web.exs.getChunksInUse());
    assertTrue(reader.destroyForcibly().waitFor(60, TimeUnit.SECONDS));
  }
}
