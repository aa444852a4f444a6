// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import exs.SocketType;
import exs.StreamChannel;
import exs.Transfer;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;

/** A connection of exs as a socket of Java, so that clients of such, TLS among them, run over it. */
final class ChannelSocket extends Socket {
  private static final int BUFFER_BYTES = 64 << 10;

  final StreamChannel channel;
  private final ByteBuffer received = ByteBuffer.allocateDirect(BUFFER_BYTES).limit(0);
  private final ByteBuffer sent = ByteBuffer.allocateDirect(BUFFER_BYTES);
  private boolean isEnded;

  ChannelSocket(int port, String provider) throws IOException {
    channel = StreamChannel.connect(SocketType.STREAM, new InetSocketAddress(InetAddress.getLoopbackAddress(), port), provider);
  }

  @Override
  public boolean isConnected() {
    return true;
  }

  @Override
  public InetAddress getInetAddress() {
    return InetAddress.getLoopbackAddress();
  }

  @Override
  public InputStream getInputStream() {
    return new InputStream() {
      @Override
      public int read() throws IOException {
        return fill() ? received.get() & 0xff : -1;
      }

      @Override
      public int read(byte[] into, int at, int length) throws IOException {
        if (length == 0) return 0;
        if (!fill()) return -1;
        final int count = Math.min(length, received.remaining());
        received.get(into, at, count);
        return count;
      }
    };
  }

  private boolean fill() throws IOException {
    if (received.hasRemaining()) return true;
    if (isEnded) return false;
    received.clear();
    final Transfer transfer = channel.recv(received);
    received.limit((int) transfer.length());
    isEnded = transfer.isEnd();
    return received.hasRemaining();
  }

  @Override
  public OutputStream getOutputStream() {
    return new OutputStream() {
      @Override
      public void write(int letter) throws IOException {
        write(new byte[] {(byte) letter}, 0, 1);
      }

      @Override
      public void write(byte[] from, int at, int length) throws IOException {
        for (int done = 0; done < length;) {
          final int count = Math.min(length - done, BUFFER_BYTES);
          channel.send(sent.clear().put(from, at + done, count).flip());
          done += count;
        }
      }
    };
  }

  @Override
  public void shutdownOutput() throws IOException {
    channel.shutdownOutput();
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
