// SPDX-License-Identifier: BSD-2-Clause
package exs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.function.Executable;

/** Two ends of a connection in one process. */
final class Sockets implements AutoCloseable {
  final ServerChannel server;
  final StreamChannel client;
  final StreamChannel accepted;

  Sockets(SocketType type, String provider) throws Exception {
    server = ServerChannel.listen(type, new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 4);
    final FutureTask<StreamChannel> accepting = start(server::accept);
    client = StreamChannel.connect(type, server.localAddress(), provider);
    accepted = accepting.get();
  }

  @Override
  public void close() throws ExsException {
    final FutureTask<Void> other = start(() -> {
      accepted.close();
      return null;
    });
    client.close();
    try {
      other.get();
    } catch (InterruptedException | ExecutionException e) {
      throw new AssertionError(e);
    }
    server.close();
  }

  static <T> FutureTask<T> start(Callable<T> body) {
    final FutureTask<T> task = new FutureTask<>(body);
    new Thread(task).start();
    return task;
  }

  /** For bodies that declare no exception. */
  static <T> T call(Callable<T> body) {
    try {
      return body.call();
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  static void assertErrno(int errno, Executable call) {
    final ExsException failure = assertThrows(ExsException.class, call);
    assertEquals(errno, failure.errno(), failure.getMessage());
  }

  static ExsException failure(java.util.concurrent.Future<?> future) {
    return (ExsException) assertThrows(ExecutionException.class, future::get).getCause();
  }
}
