// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import exs.DirectoryProgram;
import exs.ExsException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/** What a service hears of itself. */
@Timeout(120)
class FencingTest {
  private static final int EINVAL = 22;

  @TempDir
  Path folder;

  private final BlockingQueue<String> told = new LinkedBlockingQueue<>();
  private final BlockingQueue<Request> arrived = new LinkedBlockingQueue<>();
  private final Service.Handler handler = new Service.Handler() {
    @Override
    public void request(Request request) {
      arrived.add(request);
    }

    @Override
    public void opened() {
      told.add("opened");
    }

    @Override
    public void suspended(ExsException why) {
      told.add("suspended " + why.errno());
    }

    @Override
    public void overtaken() {
      told.add("overtaken");
    }
  };

  /** Others may come before, where the machine is slower than a lease. */
  private void awaitTold(String what) throws InterruptedException {
    while (!told.take().equals(what)) continue;
  }

  private static CompletableFuture<Reply> ask(Peer peer) throws ExsException {
    return peer.request(List.of(), List.of(), RequestOptions.NONE).reply();
  }

  private void answerNext() throws Exception {
    try (Request request = arrived.take()) {
      request.reply(7, List.of(), List.of(), false);
    }
  }

  @Test
  @EnabledIfSystemProperty(named = "exs.directory", matches = ".+")
  void a_fenced_service_serves_while_its_directory_answers() throws Exception {
    try (DirectoryProgram directory = new DirectoryProgram(folder.resolve("directory"));
         ServiceNode node = ServiceNode.builder().directory(directory.address()).multicast("off").open();
         ServiceKey key = ServiceKey.create()) {
      final Peer peer = node.peer(node.service(key, handler).fenced().open().id()).open();
      awaitTold("opened");
      CompletableFuture<Reply> reply = ask(peer);
      answerNext();
      assertEquals(7, reply.get().status());
      for (int round = 0; round < 2; ++round) {
        directory.pause();
        awaitTold("suspended " + ExsException.ETIMEDOUT);
        reply = ask(peer);
        directory.resume();
        awaitTold("opened");
        answerNext();
        assertEquals(7, reply.get().status());
      }
    }
  }

  @Test
  @EnabledIfSystemProperty(named = "exs.directory", matches = ".+")
  void who_is_overtaken_serves_nobody() throws Exception {
    final Path file = folder.resolve("key");
    try (DirectoryProgram directory = new DirectoryProgram(folder.resolve("directory"));
         ServiceNode node = ServiceNode.builder().directory(directory.address()).open();
         ServiceKey key = ServiceKey.create()) {
      key.store(file);
      final Service first = node.service(key, handler).fenced().open();
      awaitTold("opened");
      ask(node.peer(first.id()).open());
      try (Request request = arrived.take()) {
        directory.overtake(file, "fenced");
        awaitTold("overtaken");
        assertEquals(ExsException.ECANCELED,
            assertThrows(ExsException.class, () -> request.reply(7, List.of(), List.of(), false)).errno());
      }
      first.close();
      directory.endRivals();
      node.service(key, handler).fenced().open();
      awaitTold("opened");  // when the lease of the other has ended
      final CompletableFuture<Reply> reply = ask(node.peer(key.id()).open());
      answerNext();
      assertEquals(7, reply.get().status());
    }
  }

  @Test
  void a_fence_needs_a_directory() throws Exception {
    try (ServiceNode node = ServiceNode.builder().directory("").open(); ServiceKey key = ServiceKey.create()) {
      final ExsException why = assertThrows(ExsException.class, () -> node.service(key, handler).fenced().open());
      assertEquals(EINVAL, why.errno());
      node.service(key, handler).open();
      assertEquals("opened", told.take());
    }
    assertEquals(EINVAL, assertThrows(ExsException.class, () -> ServiceNode.builder().directory("nowhere").open()).errno());
    assertEquals(EINVAL, assertThrows(ExsException.class, () -> ServiceNode.builder().multicast(":0:").open()).errno());
  }

  @Test
  void a_handler_that_throws_is_told_of() throws Exception {
    final BlockingQueue<Throwable> uncaught = new LinkedBlockingQueue<>();
    Thread.setDefaultUncaughtExceptionHandler((thread, why) -> uncaught.add(why));
    final Service.Handler fail = new Service.Handler() {
      @Override
      public void opened() throws Exception {
        throw new Exception("on purpose");
      }

      @Override
      public void request(Request request) throws Exception {
        Pair.ECHO.request(request);
      }
    };
    try (Pair pair = new Pair(fail)) {
      assertEquals("on purpose", uncaught.take().getMessage());
      assertEquals(7, pair.ask("still there").status());
    } finally {
      Thread.setDefaultUncaughtExceptionHandler(null);
    }
  }
}
