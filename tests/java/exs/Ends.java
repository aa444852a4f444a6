// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.nio.ByteBuffer;
import java.util.Arrays;

/** A rank of a job in which some end before their time; ends.sh runs it. */
public final class Ends {
  private static final int KILLED = 9;

  private Ends() {}

  public static void main(String[] arguments) throws ExsException {
    final MessageChannel channel = MessageChannel.open();
    switch (arguments[0]) {
      case "die":
        die(channel);
        break;
      case "abort":
        if (channel.rank() == 1) channel.abort(7);
        channel.recv(Bytes.direct(1), 1, 1, 0);
        break;
      case "throw":
        if (channel.rank() == 1) throw new IllegalStateException("on purpose");
        channel.recv(Bytes.direct(1), 1, 1, 0);
        break;
      default:
        throw new IllegalArgumentException(arguments[0]);
    }
    channel.close();
  }

  /** Rank 1 dies; the others hear of it in every wait, and go on without it. */
  private static void die(MessageChannel channel) throws ExsException {
    final int rank = channel.rank();
    final ByteBuffer one = Bytes.direct(1);
    if (rank == 1) {
      channel.recv(one, 0, 1, 0);
      channel.recv(one, 2, 1, 0);
      Runtime.getRuntime().halt(KILLED);
    }
    final Request direct = channel.irecv(Bytes.direct(10), 1, 2, 0);
    final Request array = channel.irecv(new int[10], 0, 10, 1, 2, 0);
    final Request anybody = channel.irecv(Bytes.direct(10), MessageChannel.ANY_SOURCE, 2, 0);
    channel.send(one, 1, 1, 0);
    expectReset(direct::await);
    expectReset(array::await);
    expectReset(anybody::await);
    expectReset(() -> channel.recv(one, 1, 3, 0));
    expectReset(() -> channel.probe(1, 3, 0, -1));
    if (!Arrays.equals(channel.failed(), new int[] {1})) throw new AssertionError(Arrays.toString(channel.failed()));
    final int other = 2 - rank;
    final Request send = channel.isend(one, other, 4, 0);
    channel.recv(Bytes.direct(1), MessageChannel.ANY_SOURCE, 4, 0);
    send.await();
    System.out.println("rank " + rank + " went on");
  }

  private interface Call {
    Object go() throws ExsException;
  }

  private static void expectReset(Call call) {
    try {
      throw new AssertionError("not failed: " + call.go());
    } catch (ExsException e) {
      if (e.errno() != ExsException.ECONNRESET) throw new AssertionError(e);
    }
  }
}
