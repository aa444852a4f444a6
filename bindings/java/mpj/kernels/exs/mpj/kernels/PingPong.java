// SPDX-License-Identifier: BSD-2-Clause
package exs.mpj.kernels;

import java.util.ArrayList;
import java.util.List;
import mpi.MPI;

/** Ranks 0 and 1 send each other messages of bytes in turn; the others wait. Reports half a round trip, and the resulting rate. */
final class PingPong implements Kernel {
  private static final int TAG = 6;

  private final char size;
  private final Ranks ranks;
  private final int longest;
  private final byte[] message;
  private boolean right = true;

  PingPong(char size, Ranks ranks) {
    this.size = size;
    this.ranks = ranks;
    if (ranks.count < 2) throw new IllegalArgumentException("pingpong runs on two ranks at least");
    longest = size == 'S' ? 1 << 16 : size == 'W' ? 1 << 20 : 1 << 22;
    message = new byte[longest];
  }

  @Override
  public Report run() {
    List<Report> rows = new ArrayList<>();
    for (int length = 1; length <= longest; length *= 4) rows.add(measure(length));
    return Report.of("pingpong", size, ranks, ranks.sum(right ? 0 : 1) == 0)
        .put("lengths", rows);
  }

  private Report measure(int length) {
    int rounds = Math.max(20, Math.min(5000, (1 << 25) / (length + 4096)));
    exchange(length, rounds);
    long start = ranks.start();
    exchange(length, rounds);
    double seconds = ranks.secondsSince(start) / rounds / 2;
    return new Report()
        .put("length_bytes", length)
        .put("rounds", rounds)
        .put("one_way_us", seconds * 1e6)
        .put("bandwidth_gbit_per_s", 8 * length / seconds / 1e9);
  }

  /** The last byte counts the messages. */
  private void exchange(int length, int rounds) {
    for (int round = 0; round < rounds && ranks.rank < 2; ++round) {
      if (ranks.rank == 0) {
        message[length - 1] = (byte) round;
        ranks.all.Send(message, 0, length, MPI.BYTE, 1, TAG);
        ranks.all.Recv(message, 0, length, MPI.BYTE, 1, TAG);
        right &= message[length - 1] == (byte) (round + 1);
      } else {
        ranks.all.Recv(message, 0, length, MPI.BYTE, 0, TAG);
        right &= message[length - 1] == (byte) round;
        ++message[length - 1];
        ranks.all.Send(message, 0, length, MPI.BYTE, 0, TAG);
      }
    }
  }
}
