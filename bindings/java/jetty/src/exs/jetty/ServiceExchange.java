// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import exs.ExsException;
import exs.service.Request;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.eclipse.jetty.http.BadMessageException;
import org.eclipse.jetty.http.HttpFields;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.http.MetaData;
import org.eclipse.jetty.server.HttpChannel;
import org.eclipse.jetty.server.HttpInput;
import org.eclipse.jetty.server.HttpTransport;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.log.Log;
import org.eclipse.jetty.util.log.Logger;

/**
 * A request that arrived as a message, and its reply: the counterpart of an HTTP/1.1 connection, for one request.
 *
 * <p>A reply has a part for each send of Jetty, or several for a large heap buffer. Jetty sends one at a time, so a part is sent only
 * when the one before has arrived. Thread: any.
 */
final class ServiceExchange implements HttpTransport, Runnable {
  private static final Logger LOG = Log.getLogger(ServiceExchange.class);

  private final ServiceConnector connector;
  private final Request request;
  private final HttpChannel channel;

  // These belong to the current send.
  private int status;
  private int parts;

  ServiceExchange(ServiceConnector connector, Request request) {
    this.connector = connector;
    this.request = request;
    final ServiceEndPoint endPoint = new ServiceEndPoint(connector.getServiceId(), request.from(), connector.getIdleTimeout());
    channel = new HttpChannel(connector, connector.configuration(), endPoint, this) {
      @Override
      public boolean useDirectBuffers() {
        return true;
      }
    };
  }

  // ---------------------------------------------------------------- the request

  @Override
  public void run() {
    final List<ByteBuffer> body = new ArrayList<>();
    final MetaData.Request head;
    try {
      head = read(body);
    } catch (BadMessageException e) {
      refuse(e);
      return;
    } catch (ExsException e) {
      refuse(new BadMessageException(HttpStatus.PAYLOAD_TOO_LARGE_413, e.getMessage(), e));
      return;
    }
    channel.onRequest(head);
    for (final ByteBuffer piece : body) channel.onContent(new HttpInput.Content(piece));
    channel.onContentComplete();
    channel.onRequestComplete();
    channel.handle();
  }

  /** FORMAT: the head is the short item, or the first long one; the other long ones are the body. */
  private MetaData.Request read(List<ByteBuffer> body) throws ExsException {
    for (int i = 0; i < request.longItems(); ++i) body.add(request.longItem(i));
    if (request.items().isEmpty() && body.isEmpty()) throw new BadMessageException(HttpStatus.BAD_REQUEST_400, "no head");
    final ByteBuffer head = request.items().isEmpty() ? body.remove(0) : request.items().get(0).duplicate();
    long bytes = 0;
    for (final ByteBuffer piece : body) bytes += piece.remaining();
    body.removeIf(piece -> !piece.hasRemaining());
    return Heads.parse(head, connector.configuration().getRequestHeaderSize(), bytes);
  }

  private void refuse(BadMessageException why) {
    LOG.debug(why);
    final MetaData.Response head = new MetaData.Response(HttpVersion.HTTP_1_1, why.getCode(), why.getReason(), new HttpFields(), 0);
    send(head, false, null, true, Callback.NOOP);
    end();
  }

  // ---------------------------------------------------------------- the reply

  @Override
  public void send(MetaData.Response info, boolean isHead, ByteBuffer content, boolean isLast, Callback callback) {
    final ByteBuffer body = isHead || content == null ? Heads.orEmpty(null) : content;
    if (info != null && HttpStatus.isInformational(info.getStatus()) || (info == null && !body.hasRemaining() && !isLast)) {
      callback.succeeded();  // clients do not wait for informational responses, and there is nothing to flush
      return;
    }
    if (info != null) status = info.getStatus();
    final ServiceReply reply = new ServiceReply(this, body, isLast, callback);
    if (info == null) {
      reply.send(null);
      return;
    }
    final long known = info.getContentLength() >= 0 ? info.getContentLength() : isLast && !isHead ? body.remaining() : -1;
    try {
      reply.send(Heads.write(info, known));
    } catch (BadMessageException e) {
      callback.failed(e);
    }
  }

  ServiceConnector connector() {
    return connector;
  }

  Request request() {
    return request;
  }

  int status() {
    return status;
  }

  /** The number of the next part; it counts when the part has been accepted. */
  int nextPart() {
    return parts;
  }

  void countPart() {
    ++parts;
  }

  // ---------------------------------------------------------------- its end

  @Override
  public void onCompleted() {
    end();
  }

  /** Tells the client that no reply, or no further part, follows. Memory that is being read stays until the read ends. */
  @Override
  public void abort(Throwable failure) {
    LOG.debug(failure);
    end();
  }

  void end() {
    request.release();
    connector.ended(this);
  }

  @Override
  public boolean isPushSupported() {
    return false;
  }

  @Override
  public void push(MetaData.Request pushed) {
    throw new UnsupportedOperationException();
  }

  @Override
  public boolean isOptimizedForDirectBuffers() {
    return true;
  }
}
