// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import exs.service.ServiceId;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.io.EndPoint;
import org.eclipse.jetty.util.Callback;

/**
 * The end point that Jetty sees for a client of a service: it has no bytes to read or write, and its addresses are names of services.
 * Thread: any.
 */
final class ServiceEndPoint implements EndPoint {
  private static final String NOBODY = "nobody";

  private final InetSocketAddress local;
  private final InetSocketAddress remote;
  private final long created = System.currentTimeMillis();
  private volatile long idleTimeout;

  ServiceEndPoint(ServiceId local, ServiceId remote, long idleTimeout) {
    this.local = nameOf(local);
    this.remote = nameOf(remote);
    this.idleTimeout = idleTimeout;
  }

  private static InetSocketAddress nameOf(ServiceId id) {
    return InetSocketAddress.createUnresolved(id == null ? NOBODY : id.toString(), 0);
  }

  @Override
  public InetSocketAddress getLocalAddress() {
    return local;
  }

  @Override
  public InetSocketAddress getRemoteAddress() {
    return remote;
  }

  @Override
  public boolean isOpen() {
    return true;
  }

  @Override
  public long getCreatedTimeStamp() {
    return created;
  }

  @Override
  public void shutdownOutput() {}

  @Override
  public boolean isOutputShutdown() {
    return false;
  }

  @Override
  public boolean isInputShutdown() {
    return false;
  }

  @Override
  public void close() {}

  @Override
  public int fill(ByteBuffer buffer) {
    throw new UnsupportedOperationException();
  }

  @Override
  public boolean flush(ByteBuffer... buffers) {
    throw new UnsupportedOperationException();
  }

  @Override
  public Object getTransport() {
    return null;
  }

  @Override
  public long getIdleTimeout() {
    return idleTimeout;
  }

  @Override
  public void setIdleTimeout(long idleTimeout) {
    this.idleTimeout = idleTimeout;
  }

  @Override
  public void fillInterested(Callback callback) {
    throw new UnsupportedOperationException();
  }

  @Override
  public boolean tryFillInterested(Callback callback) {
    throw new UnsupportedOperationException();
  }

  @Override
  public boolean isFillInterested() {
    return false;
  }

  @Override
  public void write(Callback callback, ByteBuffer... buffers) {
    throw new UnsupportedOperationException();
  }

  @Override
  public Connection getConnection() {
    return null;
  }

  @Override
  public void setConnection(Connection connection) {
    throw new UnsupportedOperationException();
  }

  @Override
  public void onOpen() {}

  @Override
  public void onClose() {}

  @Override
  public boolean isOptimizedForDirectBuffers() {
    return true;
  }

  @Override
  public void upgrade(Connection connection) {
    throw new UnsupportedOperationException();
  }
}
