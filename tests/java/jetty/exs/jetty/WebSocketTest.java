// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.eclipse.jetty.servlet.ServletHolder;
import org.eclipse.jetty.websocket.api.Session;
import org.eclipse.jetty.websocket.api.WebSocketAdapter;
import org.eclipse.jetty.websocket.servlet.WebSocketServlet;
import org.eclipse.jetty.websocket.servlet.WebSocketServletFactory;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(120)
class WebSocketTest {
  private static final int TEXT = 1;
  private static final int BINARY = 2;
  private static final int CLOSE = 8;
  private static final int MASK = 0x5a5a5a5a;

  @TempDir
  static Path files;

  @ParameterizedTest
  @ValueSource(strings = {"shm", "iwarp"})
  void messages_come_back(String provider) throws Exception {
    try (Web web = new Web(files, provider)) {
      web.context.addServlet(new ServletHolder(new Servlet()), "/talk");
      web.start();
      try (Http http = web.overExs()) {
        http.send("GET", "/talk", -1, "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==");
        final Http.Answer answer = http.answer(false);
        assertEquals(101, answer.status());
        assertEquals("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", answer.fields().get("sec-websocket-accept"));  // as RFC 6455 has it
        for (final int size : new int[] {0, 5, 125, 126, 70_000, 1_000_000}) {
          final byte[] bytes = Web.bytes(size);
          send(http, BINARY, bytes);
          assertEquals(Web.sum(bytes), Web.sum(receive(http, BINARY)));
        }
        final byte[] text = "d\u00e9j\u00e0 vu".getBytes(StandardCharsets.UTF_8);
        send(http, TEXT, text);
        assertEquals(Web.sum(text), Web.sum(receive(http, TEXT)));
        send(http, CLOSE, new byte[] {0x03, (byte) 0xe8});
        assertEquals(1000, ByteBuffer.wrap(receive(http, CLOSE)).getShort());
        assertEquals(-1, http.in.read());
      }
      web.awaitNobody();
    }
  }

  private static void send(Http http, int type, byte[] bytes) throws IOException {
    final DataOutputStream out = new DataOutputStream(http.out);
    out.writeByte(0x80 | type);
    if (bytes.length < 126) {
      out.writeByte(0x80 | bytes.length);
    } else {
      out.writeByte(0x80 | 127);
      out.writeLong(bytes.length);
    }
    out.writeInt(MASK);
    final byte[] masked = bytes.clone();
    for (int i = 0; i < masked.length; ++i) masked[i] ^= (byte) MASK;
    out.write(masked);
  }

  /** One message, in one frame or several. */
  private static byte[] receive(Http http, int type) throws IOException {
    final DataInputStream in = new DataInputStream(http.in);
    final java.io.ByteArrayOutputStream all = new java.io.ByteArrayOutputStream();
    for (int expected = type; true; expected = 0) {
      final int first = in.readUnsignedByte();
      assertEquals(expected, first & 0xf);
      int length = in.readUnsignedByte();
      if (length == 126) length = in.readUnsignedShort();
      if (length == 127) length = (int) in.readLong();
      all.write(http.exactly(length));
      if ((first & 0x80) != 0) return all.toByteArray();
    }
  }

  private static final class Servlet extends WebSocketServlet {
    private static final long serialVersionUID = 1;

    @Override
    public void configure(WebSocketServletFactory factory) {
      factory.getPolicy().setMaxBinaryMessageSize(1 << 20);
      factory.setCreator((request, response) -> new Talker());
    }
  }

  /** Says what it hears. */
  private static final class Talker extends WebSocketAdapter {
    @Override
    public void onWebSocketBinary(byte[] bytes, int at, int length) {
      say(session -> session.getRemote().sendBytes(ByteBuffer.wrap(bytes, at, length)));
    }

    @Override
    public void onWebSocketText(String text) {
      say(session -> session.getRemote().sendString(text));
    }

    private void say(Saying saying) {
      try {
        saying.to(getSession());
      } catch (IOException e) {
        throw new java.io.UncheckedIOException(e);
      }
    }

    private interface Saying {
      void to(Session session) throws IOException;
    }
  }
}
