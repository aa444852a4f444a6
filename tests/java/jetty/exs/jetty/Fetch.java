// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import exs.ExsException;
import exs.service.Call;
import exs.service.Peer;
import exs.service.Reply;
import exs.service.RequestOptions;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/** A client of a ServiceConnector: one request, and the parts of its reply. */
final class Fetch {
  private static final int EAGAIN = 11;

  final Call call;
  private final boolean isHead;
  private final ByteArrayOutputStream body = new ByteArrayOutputStream();
  private int parts;
  private int status;
  private Map<String, String> fields;
  private IllegalStateException wrong;

  /** A body of null is none; fields are whole lines. */
  Fetch(Peer peer, String method, String path, ByteBuffer body, String... fields) throws ExsException {
    final StringBuilder head = new StringBuilder(method + ' ' + path + " HTTP/1.1\r\nHost: here\r\n");
    for (final String field : fields) head.append(field).append("\r\n");
    final ByteBuffer text = ByteBuffer.wrap(head.append("\r\n").toString().getBytes(StandardCharsets.ISO_8859_1));
    isHead = method.equals("HEAD");
    final boolean isIdempotent = isHead || method.equals("GET");
    final RequestOptions options = RequestOptions.NONE.parts(this::take);
    call = peer.request(List.of(text), body == null ? List.of() : List.of(body), isIdempotent ? options.idempotent() : options);
  }

  static Http.Answer get(Peer peer, String path, String... fields) throws Exception {
    return new Fetch(peer, "GET", path, null, fields).answer().get();
  }

  CompletableFuture<Http.Answer> answer() {
    return call.reply().thenApply(last -> {
      if (wrong != null) throw wrong;
      return new Http.Answer(status, fields, body.toByteArray());
    });
  }

  int parts() {
    return parts;
  }

  private void take(Reply reply) {
    try (reply) {
      add(reply);
    } catch (ExsException e) {
      wrong = new IllegalStateException(e);
    } catch (IllegalStateException e) {
      wrong = e;
    }
  }

  private void add(Reply reply) throws ExsException {
    final List<ByteBuffer> items = reply.items();
    int longs = 0;
    if (items.get(0).duplicate().getInt() == 0) {
      body.reset();
      parts = 0;
      status = reply.status();
      final ByteBuffer head = items.get(1).hasRemaining() ? items.get(1) : reply.longItem(longs++);
      fields = read(StandardCharsets.ISO_8859_1.decode(head.duplicate()).toString());
    }
    final int number = items.get(0).duplicate().getInt();
    if (number != parts || reply.status() != status) throw new IllegalStateException("part " + number + " is not " + parts);
    ++parts;
    if (items.size() > 2) add(items.get(2));
    while (longs < reply.longItems()) add(reply.longItem(longs++));
    if (isHead && body.size() > 0) throw new IllegalStateException("the answer to HEAD has a body");
  }

  private void add(ByteBuffer some) {
    final byte[] bytes = new byte[some.remaining()];
    some.duplicate().get(bytes);
    body.writeBytes(bytes);
  }

  private Map<String, String> read(String head) {
    final String[] lines = head.split("\r\n", -1);
    if (!lines[0].startsWith("HTTP/1.1 " + status) || !head.endsWith("\r\n\r\n")) throw new IllegalStateException(head);
    final Map<String, String> read = new TreeMap<>();
    for (int i = 1; i < lines.length - 2; ++i) {
      final int colon = lines[i].indexOf(':');
      read.put(lines[i].substring(0, colon).toLowerCase(Locale.ROOT), lines[i].substring(colon + 1).trim());
    }
    return read;
  }

  /** Waits while as many are under way as there can be. */
  static Fetch whenThereIsRoom(Peer peer, String path) throws Exception {
    while (true) {
      try {
        return new Fetch(peer, "GET", path, null);
      } catch (ExsException e) {
        if (e.errno() != EAGAIN) throw e;
        Thread.onSpinWait();
      }
    }
  }

  static int errnoOf(CompletableFuture<?> future) throws InterruptedException {
    try {
      future.get();
      return 0;
    } catch (ExecutionException e) {
      return ((ExsException) e.getCause()).errno();
    }
  }
}
