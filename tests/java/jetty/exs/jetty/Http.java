// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** A client of HTTP/1.1 on a connection that stays. */
final class Http implements AutoCloseable {
  /** An answer; names of fields in lower case. */
  record Answer(int status, Map<String, String> fields, byte[] body) {
    String text() {
      return new String(body, StandardCharsets.UTF_8);
    }
  }

  final InputStream in;
  final OutputStream out;
  private final Socket socket;

  Http(Socket socket) throws IOException {
    this.socket = socket;
    in = new BufferedInputStream(socket.getInputStream(), 1 << 16);
    out = socket.getOutputStream();
  }

  Answer get(String path, String... fields) throws IOException {
    return ask("GET", path, null, fields);
  }

  /** A body of null is none; fields are whole lines. */
  Answer ask(String method, String path, byte[] body, String... fields) throws IOException {
    send(method, path, body == null ? -1 : body.length, fields);
    if (body != null) out.write(body);
    return answer(method.equals("HEAD"));
  }

  /** A request line and its fields; `length` of a body that follows, below 0: none is told. */
  void send(String method, String path, long length, String... fields) throws IOException {
    final StringBuilder head = new StringBuilder(method + ' ' + path + " HTTP/1.1\r\nHost: here\r\n");
    if (length >= 0) head.append("Content-Length: ").append(length).append("\r\n");
    for (final String field : fields) head.append(field).append("\r\n");
    out.write(head.append("\r\n").toString().getBytes(StandardCharsets.ISO_8859_1));
    out.flush();
  }

  Answer answer(boolean isHead) throws IOException {
    final String first = line();
    final int status = Integer.parseInt(first.split(" ")[1]);
    final Map<String, String> fields = new TreeMap<>();
    for (String line = line(); !line.isEmpty(); line = line()) {
      final int colon = line.indexOf(':');
      fields.put(line.substring(0, colon).toLowerCase(Locale.ROOT), line.substring(colon + 1).trim());
    }
    final boolean isEmpty = isHead || status == 204 || status == 304 || status < 200;
    return new Answer(status, fields, isEmpty ? new byte[0] : body(fields));
  }

  private byte[] body(Map<String, String> fields) throws IOException {
    if ("chunked".equals(fields.get("transfer-encoding"))) return chunks();
    final String length = fields.get("content-length");
    return length == null ? in.readAllBytes() : exactly(Integer.parseInt(length));
  }

  private byte[] chunks() throws IOException {
    final ByteArrayOutputStream all = new ByteArrayOutputStream();
    while (true) {
      final int length = Integer.parseInt(line(), 16);
      all.write(exactly(length));
      if (!line().isEmpty()) throw new IOException("no end of a chunk");
      if (length == 0) return all.toByteArray();
    }
  }

  byte[] exactly(int length) throws IOException {
    final byte[] bytes = in.readNBytes(length);
    if (bytes.length < length) throw new EOFException("the end after " + bytes.length + " of " + length + " bytes");
    return bytes;
  }

  String line() throws IOException {
    final StringBuilder line = new StringBuilder();
    while (true) {
      final int letter = in.read();
      if (letter < 0) throw new EOFException("the end within a line: " + line);
      if (letter == '\n') return line.toString();
      if (letter != '\r') line.append((char) letter);
    }
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
