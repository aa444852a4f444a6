// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import java.nio.BufferOverflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.eclipse.jetty.http.BadMessageException;
import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpGenerator;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpParser;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.http.HttpURI;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.http.MetaData;
import org.eclipse.jetty.util.BufferUtil;

/** Heads of requests and replies in the text form of HTTP/1.1, by Jetty's parser and generator. */
final class Heads {
  private static final int FIRST_ROOM = 1 << 10;
  private static final int MOST_ROOM = 1 << 20;
  private static final byte[] LINE_END = {'\r', '\n'};

  private Heads() {}

  // ---------------------------------------------------------------- requests

  /** Reads the head of a request whose body has that many bytes. The head must be complete, and nothing may follow. */
  static MetaData.Request parse(ByteBuffer head, int mostBytes, long bodyBytes) {
    final Parsed parsed = new Parsed();
    final HttpParser parser = new HttpParser(parsed, mostBytes);
    parser.parseNext(head);
    if (parsed.failure != null) throw parsed.failure;
    if (!parsed.isComplete || head.hasRemaining()) throw new BadMessageException(HttpStatus.BAD_REQUEST_400, "the head is not one head");
    final String told = parsed.fields.get(HttpHeader.CONTENT_LENGTH);
    if (parsed.fields.contains(HttpHeader.TRANSFER_ENCODING) || (told != null && parser.getContentLength() != bodyBytes)) {
      throw new BadMessageException(HttpStatus.BAD_REQUEST_400, "the head tells of another body");
    }
    final HttpURI uri = new HttpURI();
    try {
      uri.parseRequestTarget(parsed.method, parsed.target);
    } catch (RuntimeException e) {
      throw new BadMessageException(HttpStatus.BAD_REQUEST_400, "the target is none", e);
    }
    return new MetaData.Request(parsed.method, uri, parsed.version, parsed.fields, bodyBytes);
  }

  private static final class Parsed implements HttpParser.RequestHandler {
    final HttpFields fields = new HttpFields();
    String method;
    String target;
    HttpVersion version;
    boolean isComplete;
    BadMessageException failure;

    @Override
    public boolean startRequest(String hisMethod, String hisTarget, HttpVersion hisVersion) {
      method = hisMethod;
      target = hisTarget;
      version = hisVersion;
      return false;
    }

    @Override
    public void parsedHeader(HttpField field) {
      fields.add(field);
    }

    @Override
    public boolean headerComplete() {
      isComplete = true;
      return true;
    }

    @Override
    public boolean content(ByteBuffer bytes) {
      return true;
    }

    @Override
    public boolean contentComplete() {
      return false;
    }

    @Override
    public boolean messageComplete() {
      return true;
    }

    @Override
    public void earlyEOF() {}

    @Override
    public void badMessage(BadMessageException why) {
      failure = why;
    }

    @Override
    public int getHeaderCacheSize() {
      return 0;
    }
  }

  // ---------------------------------------------------------------- replies

  /** Writes the head of a reply with content of that many bytes; below 0: unknown. */
  static ByteBuffer write(MetaData.Response info, long contentBytes) {
    for (int room = FIRST_ROOM;; room *= 2) {
      try {
        return write(info, contentBytes, ByteBuffer.allocate(room));
      } catch (BufferOverflowException e) {
        if (room >= MOST_ROOM) throw new BadMessageException(HttpStatus.INTERNAL_SERVER_ERROR_500, "the head of a reply is too long", e);
      }
    }
  }

  private static ByteBuffer write(MetaData.Response info, long contentBytes, ByteBuffer head) {
    final String reason = info.getReason() != null ? info.getReason() : HttpStatus.getMessage(info.getStatus());
    final String line = "HTTP/1.1 " + info.getStatus() + ' ' + reason.replaceAll("[\\r\\n]", " ");
    head.put(line.getBytes(StandardCharsets.ISO_8859_1)).put(LINE_END);
    for (final HttpField field : info.getFields()) HttpGenerator.putTo(field, head);
    if (contentBytes >= 0 && !info.getFields().contains(HttpHeader.CONTENT_LENGTH) && hasContent(info.getStatus())) {
      HttpGenerator.putTo(new HttpField.LongValueHttpField(HttpHeader.CONTENT_LENGTH, contentBytes), head);
    }
    return head.put(LINE_END).flip();
  }

  private static boolean hasContent(int status) {
    return status != HttpStatus.NO_CONTENT_204 && status != HttpStatus.NOT_MODIFIED_304;
  }

  static ByteBuffer orEmpty(ByteBuffer buffer) {
    return buffer == null ? BufferUtil.EMPTY_BUFFER : buffer;
  }
}
