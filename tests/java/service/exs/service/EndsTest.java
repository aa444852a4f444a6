// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import exs.ExsException;
import exs.Memory;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Closes at any moment, services that are killed, and a collector that works meanwhile. */
@Timeout(120)
class EndsTest {
  private static final int EOWNERDEAD = 130;
  private static final int LONG_BYTES = 1 << 20;
  private static final int ROUNDS = 8;

  @TempDir
  static Path folder;

  @Test
  void a_node_without_a_thread_is_driven_by_its_owner() throws Exception {
    final ServiceNode node = ServiceNode.builder().openWithoutThread();
    try (ServiceKey key = ServiceKey.create(); ServiceNode other = ServiceNode.open()) {
      final Thread here = Thread.currentThread();
      final Service service = node.service(key, new Service.Handler() {
        @Override
        public void request(Request request) throws Exception {
          assertEquals(here, Thread.currentThread());
          Pair.ECHO.request(request);
        }
      }).open();
      final Peer peer = other.peer(service.id()).open();
      final CompletableFuture<Reply> reply = peer.request(List.of(Pair.text("why")), List.of(), RequestOptions.NONE).reply();
      while (!reply.isDone()) assertTrue(node.complete());
      assertEquals(7, reply.get().status());
      final CompletableFuture<Reply> late = node.peer(service.id()).open().request(List.of(), List.of(), RequestOptions.NONE).reply();
      node.close();
      assertFalse(late.isDone());
      assertFalse(node.complete());
      Pair.assertErrno(ExsException.ECANCELED, late);
      assertFalse(node.complete());
    }
  }

  enum End { PEER, SERVICE, CLIENT_NODE, SERVER_NODE }

  /** What is under way ends, once, and nothing is held any more. The later the round, the more has happened before the close. */
  @ParameterizedTest
  @EnumSource(End.class)
  void closed_at_any_moment(End end) throws Exception {
    for (int round = 0; round < ROUNDS; ++round) {
      try (Pair pair = new Pair(Pair.ECHO, builder -> builder.windows(4, LONG_BYTES))) {
        final List<CompletableFuture<?>> all = new ArrayList<>();
        final CountDownLatch some = new CountDownLatch(round);
        for (int i = 0; i < ROUNDS; ++i) {
          final ByteBuffer question = Pair.held(i, LONG_BYTES);
          final CompletableFuture<Reply> reply = pair.peer.request(List.of(), List.of(question), RequestOptions.NONE).reply();
          all.add(reply.whenComplete((got, why) -> some.countDown()));
          all.add(pair.peer.sendLong(List.of(), List.of(Pair.direct(i, LONG_BYTES))));
        }
        some.await();
        switch (end) {
          case PEER -> pair.peer.close();
          case SERVICE -> pair.service.close();
          case CLIENT_NODE -> pair.here.close();
          default -> pair.there.close();
        }
        // What waits for a service that may come back ends with who asks.
        pair.peer.close();
        for (final Future<?> one : all) awaitEnd(one);
        assertEquals(ExsException.EBADF, assertThrows(ExsException.class, () -> pair.peer.sendShort(Pair.text("late"))).errno());
      }
    }
  }

  private static void awaitEnd(Future<?> one) throws InterruptedException {
    try {
      one.get();
    } catch (ExecutionException e) {
      assertTrue(e.getCause() instanceof ExsException, e.toString());
    }
  }

  @Test
  void what_is_closed_is_not_entered() throws Exception {
    final Pair pair = new Pair(Pair.ECHO);
    pair.close();
    pair.close();
    assertEquals(ExsException.EBADF, assertThrows(ExsException.class, () -> pair.peer.ping()).errno());
    assertEquals(ExsException.EBADF, assertThrows(ExsException.class, () -> pair.service.addWindow(Pair.direct(1, 1))).errno());
    try (ServiceKey key = ServiceKey.create()) {
      assertEquals(ExsException.EBADF, assertThrows(ExsException.class, () -> pair.there.service(key, Pair.ECHO).open()).errno());
      assertEquals(ExsException.EBADF, assertThrows(ExsException.class, () -> pair.here.peer(key.id()).open()).errno());
    }
  }

  @Test
  void a_node_is_closed_by_its_own_thread() throws Exception {
    final ServiceNode node = ServiceNode.open();
    try (ServiceKey key = ServiceKey.create()) {
      final Service service = node.service(key, new Service.Handler() {
        @Override
        public void request(Request request) throws ExsException {
          node.close();
        }
      }).open();
      final Call call = node.peer(service.id()).open().request(List.of(), List.of(), RequestOptions.NONE);
      assertThrows(ExecutionException.class, () -> call.reply().get());
      node.close();
      assertEquals(0, node.pendingCount());
    }
  }

  /** While threads call, the objects they call are closed. */
  @Test
  void closed_while_threads_call() throws Exception {
    final ExecutorService threads = Executors.newFixedThreadPool(3);
    try {
      for (int round = 0; round < ROUNDS; ++round) {
        try (Pair pair = new Pair(Pair.ECHO)) {
          final CountDownLatch calling = new CountDownLatch(3);
          final List<Future<?>> all = new ArrayList<>();
          for (int i = 0; i < 3; ++i) all.add(threads.submit(() -> callUntilClosed(pair, calling)));
          calling.await();
          if (round % 2 == 0) {
            pair.peer.close();
          } else {
            pair.here.close();
          }
          for (final Future<?> one : all) one.get();
        }
      }
    } finally {
      threads.shutdown();
    }
  }

  private static Void callUntilClosed(Pair pair, CountDownLatch calling) throws Exception {
    final ByteBuffer some = Pair.direct(1, 10_000);
    while (true) {
      try {
        pair.peer.request(List.of(), List.of(some), RequestOptions.NONE).reply().get().release();
        calling.countDown();
      } catch (ExsException e) {
        if (e.errno() == ExsException.EBADF) return null;
        throw e;
      } catch (ExecutionException e) {
        calling.countDown();
      }
    }
  }

  /** Nobody but the library has the memory of what is under way. */
  @Test
  void the_collector_works_while_transfers_run() throws Exception {
    try (Pair pair = new Pair(Pair.ECHO)) {
      for (int i = 0; i < 20; ++i) {
        final CompletableFuture<Reply> first = ask(pair, Pair.held(i, LONG_BYTES), Memory.allocate(LONG_BYTES).buffer());
        final CompletableFuture<Reply> second = ask(pair, Pair.direct(-i, LONG_BYTES), ByteBuffer.allocateDirect(LONG_BYTES));
        System.gc();
        try (Reply reply = first.get()) {
          assertEquals(Pair.direct(i, LONG_BYTES), reply.longItem(0));
        }
        try (Reply reply = second.get()) {
          assertEquals(Pair.direct(-i, LONG_BYTES), reply.longItem(0));
        }
      }
    }
  }

  private static CompletableFuture<Reply> ask(Pair pair, ByteBuffer question, ByteBuffer place) throws ExsException {
    return pair.peer.request(List.of(), List.of(question), RequestOptions.NONE.into(place)).reply();
  }

  @Test
  void a_killed_service_starts_again() throws Exception {
    final Path file = folder.resolve("key");
    try (ServiceKey key = ServiceKey.create(); ServiceNode node = ServiceNode.open()) {
      key.store(file);
      final Peer peer = node.peer(key.id()).open();
      final Served first = new Served(file, "silent");
      final Call idempotent = peer.request(List.of(), List.of(Pair.held(1, LONG_BYTES)), RequestOptions.NONE.idempotent());
      final Call plain = peer.request(List.of(), List.of(), RequestOptions.NONE);
      for (int i = 0; i < 2; ++i) assertEquals("taken", first.said.readLine());
      first.kill();
      final Served second = new Served(file, "echo");
      try (Reply reply = idempotent.reply().get()) {
        assertEquals(Pair.direct(1, LONG_BYTES), reply.longItem(0));
      }
      Pair.assertErrno(EOWNERDEAD, plain.reply());
      second.kill();
    }
  }

  /** A service in a process of its own, that answers, or does not but says what it has. */
  static final class Served {
    final BufferedReader said;
    private final Process process;

    /** Returns when it is there. */
    Served(Path key, String how) throws IOException {
      process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:-UsePerfData",
          "-Xmx128m", "-Djava.library.path=" + System.getProperty("java.library.path"), "-cp", System.getProperty("java.class.path"),
          Served.class.getName(), key.toString(), how).redirectError(ProcessBuilder.Redirect.INHERIT).start();
      said = new BufferedReader(new InputStreamReader(process.getInputStream()));
      assertEquals("there", said.readLine());
    }

    void kill() throws InterruptedException {
      process.destroyForcibly().waitFor();
    }

    public static void main(String[] arguments) throws Exception {
      final List<Request> kept = new ArrayList<>();
      final Service.Handler silent = new Service.Handler() {
        @Override
        public void request(Request request) {
          kept.add(request);
          System.out.println("taken");
        }
      };
      final ServiceNode node = ServiceNode.open();
      try (ServiceKey key = ServiceKey.load(Path.of(arguments[0]))) {
        node.service(key, arguments[1].equals("echo") ? Pair.ECHO : silent).open();
      }
      System.out.println("there");
      System.in.read();  // until it is killed
    }
  }
}
