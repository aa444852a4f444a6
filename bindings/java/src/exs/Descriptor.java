// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;

/** An exs socket that is closed once, when no thread is about to post on it. Thread: any. */
final class Descriptor extends Guarded {
  private final String name;
  private final int socket;

  Descriptor(String name, int socket) {
    this.name = name;
    this.socket = socket;
  }

  /** Opens a socket. A null provider lets the library choose; null limits are the library's. */
  static Descriptor open(String name, InetSocketAddress address, SocketType type, String provider, SocketLimits limits) throws ExsException {
    final int socket = Native.socket(Addresses.familyOf(address), type == SocketType.STREAM ? 0 : 1);
    if (socket < 0) throw ExsException.of(socket);
    final Descriptor made = new Descriptor(name, socket);
    boolean isComplete = false;
    try {
      if (provider != null) made.check(frame -> Native.setProvider(socket, provider.getBytes(StandardCharsets.UTF_8)));
      if (limits != null) made.check(frame -> Native.setLimits(socket, limits.smallBytes(), limits.credits()));
      isComplete = true;
      return made;
    } finally {
      if (!isComplete) made.closeQuietly();
    }
  }

  int number() {
    return socket;
  }

  @Override
  String name() {
    return name;
  }

  /** A use of the socket that does not wait. */
  interface Use {
    int of(CallFrame frame) throws ExsException;
  }

  int use(Use use) throws ExsException {
    final CallFrame frame = enter();
    try {
      return use.of(frame);
    } finally {
      leave(frame);
    }
  }

  int check(Use use) throws ExsException {
    final int outcome = use(use);
    if (outcome < 0) throw ExsException.of(outcome);
    return outcome;
  }

  InetSocketAddress address(Addresses.Ask ask) throws ExsException {
    final CallFrame frame = enter();
    try {
      return Addresses.read(frame, socket, ask);
    } finally {
      leave(frame);
    }
  }

  String text(int option) throws ExsException {
    final CallFrame frame = enter();
    try {
      return SocketText.of(socket, option);
    } finally {
      leave(frame);
    }
  }

  /** Returns false if it was closed before. Throws on a negative errno value. */
  boolean close() throws ExsException {
    if (!shut()) return false;
    final int outcome = Native.closeSocket(socket);
    if (outcome < 0) throw ExsException.of(outcome);
    return true;
  }

  void closeQuietly() {
    if (shut()) Native.closeSocket(socket);
  }
}
