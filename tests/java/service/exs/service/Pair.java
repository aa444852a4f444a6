// SPDX-License-Identifier: BSD-2-Clause
package exs.service;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import exs.ExsException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;

/** A service and who asks it, in two nodes. */
final class Pair implements AutoCloseable {
  final ServiceKey key;
  final ServiceNode there;
  final ServiceNode here;
  final Service service;
  final Peer peer;

  interface Change {
    void to(Service.Builder builder) throws ExsException;
  }

  Pair(Service.Handler handler) throws ExsException {
    this(handler, builder -> {});
  }

  Pair(Service.Handler handler, Change change) throws ExsException {
    key = ServiceKey.create();
    there = ServiceNode.open();
    here = ServiceNode.open();
    final Service.Builder builder = there.service(key, handler);
    change.to(builder);
    service = builder.open();
    peer = here.peer(service.id()).open();
  }

  Reply ask(String text) throws Exception {
    return peer.request(List.of(text(text)), List.of(), RequestOptions.NONE).reply().get();
  }

  /** Answers each request with what it has. */
  static final Service.Handler ECHO = new Service.Handler() {
    @Override
    public void request(Request request) throws ExsException {
      final List<ByteBuffer> longs = request.longItems() == 0 ? List.of() : List.of(request.longItem(0));
      request.reply(7, request.items(), longs, false).whenComplete((nothing, failure) -> request.release());
    }
  };

  static ByteBuffer text(String text) {
    return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
  }

  static String text(ByteBuffer buffer) {
    return StandardCharsets.UTF_8.decode(buffer.duplicate()).toString();
  }

  static ByteBuffer direct(int seed, int bytes) {
    final byte[] random = new byte[bytes];
    new Random(seed).nextBytes(random);
    return ByteBuffer.allocateDirect(bytes).put(random).flip();
  }

  static ByteBuffer held(int seed, int bytes) throws ExsException {
    return exs.Memory.allocate(bytes).buffer().put(direct(seed, bytes)).flip();
  }

  static void assertErrno(int errno, Future<?> future) {
    final Throwable why = assertThrows(ExecutionException.class, future::get).getCause();
    assertEquals(errno, ((ExsException) why).errno(), why.toString());
  }

  @Override
  public void close() throws ExsException {
    final Thread other = new Thread(() -> assertDoesNotThrow(here::close));
    other.start();
    there.close();
    here.close();
    assertEquals(0, here.pendingCount());
    assertEquals(0, there.pendingCount());
    key.close();
  }
}
