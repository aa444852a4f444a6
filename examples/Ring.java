/* Ring: each rank of a job adds 1 to a number and passes it on; the first one gets it back.
 *
 *     javac -cp exs.jar Ring.java
 *     exs-run -n 4 java -cp exs.jar:. Ring */
/* SPDX-License-Identifier: BSD-2-Clause */

import exs.ExsException;
import exs.MessageChannel;
import exs.Status;

final class Ring {
  private static final String HELP = """
      usage: exs-run -n RANKS java -cp exs.jar:. Ring
      Each rank adds 1 to a number and passes it on. The first rank prints where it came from.
      The exit status is 0, or 1 after an error.
      """;

  public static void main(String[] arguments) throws ExsException {
    if (arguments.length == 1 && "--help".equals(arguments[0])) {
      System.out.print(HELP);
      return;
    }
    try (MessageChannel channel = MessageChannel.open()) {
      final int rank = channel.rank();
      final int size = channel.size();
      final int[] number = {0};

      if (rank > 0) channel.recv(number, 0, 1, rank - 1, 0, 0);
      ++number[0];
      channel.isend(number, 0, 1, (rank + 1) % size, 0, 0);
      if (rank == 0) {
        final Status status = channel.recv(number, 0, 1, MessageChannel.ANY_SOURCE, MessageChannel.ANY_TAG, 0);
        System.out.println(number[0] + " ranks; the number came from rank " + status.source());
      }
    }
  }
}
