// SPDX-License-Identifier: BSD-2-Clause
package exs.tools;

import exs.ExsException;
import exs.Memory;
import exs.MessageChannel;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Measures the time of messages between two Java processes, there and back, by their size: from and into direct buffers and byte arrays.
 * The counterpart of exs-msg-ping.
 *
 * <pre>exs-run -n 2 java -cp exs.jar exs.tools.Ping [--size 0,64,1024] [--messages N] [--warm-up N] [--kind direct|array|both] [--json]</pre>
 */
public final class Ping {
  private static final int TAG = 1;
  private static final long BYTES_AT_MOST = 8L << 30;
  private static final int LEAST = 20;
  private static final String USAGE = """
      usage: exs-run -n 2 java -cp exs.jar exs.tools.Ping [OPTIONS]
      Measures the time of messages between two Java processes, there and back, by their size.
        --size 0,64,1024            bytes of a message
        --messages N                messages to measure, of each size; fewer long ones
        --warm-up N                 messages before them
        --kind direct|array|both    memory of the messages
        --json                      print one JSON object in place of a table
      The exit status is 0, 1 after an error, or 2 if the arguments are invalid.
      """;

  private final MessageChannel channel;
  private final boolean isFirst;
  private final int other;

  private Ping(MessageChannel channel) {
    this.channel = channel;
    isFirst = channel.rank() == 0;
    other = 1 - channel.rank();
  }

  /** The options. */
  private static final class Settings {
    private int[] sizes = {0, 8, 64, 1024, 8192, 65_536, 1 << 20};
    private int messages = 10_000;
    private int warmUp = 30_000;
    private List<String> kinds = List.of("direct", "array");
    private boolean isJson;

    private static Settings parse(String[] arguments) {
      final Settings settings = new Settings();
      for (int i = 0; i < arguments.length; ++i) {
        final String name = arguments[i];
        if ("--json".equals(name)) {
          settings.isJson = true;
        } else if (i + 1 == arguments.length) {
          throw new IllegalArgumentException(name);
        } else {
          settings.set(name, arguments[++i]);
        }
      }
      return settings;
    }

    private void set(String name, String value) {
      switch (name) {
        case "--size":
          sizes = Arrays.stream(value.split(",")).mapToInt(Integer::parseUnsignedInt).toArray();
          break;
        case "--messages":
          messages = Integer.parseUnsignedInt(value);
          break;
        case "--warm-up":
          warmUp = Integer.parseUnsignedInt(value);
          break;
        case "--kind":
          kinds = "both".equals(value) ? kinds : List.of(value);
          if (!List.of("direct", "array").containsAll(kinds)) throw new IllegalArgumentException(value);
          break;
        default:
          throw new IllegalArgumentException(name);
      }
    }
  }

  /** The times of round trips. */
  private record Result(String kind, int bytes, long elapsedNs, long[] sortedNs) {
    private double oneWayUs() {
      return elapsedNs / 2e3 / sortedNs.length;
    }

    private double percentileUs(double share) {
      return sortedNs[(int) Math.min(sortedNs.length - 1, Math.round(share * sortedNs.length))] / 2e3;
    }
  }

  /** One message there, and one back. */
  private interface RoundTrip {
    void go() throws ExsException;
  }

  private RoundTrip tripOf(String kind, int bytes) throws ExsException {
    if ("direct".equals(kind)) {
      final ByteBuffer from = Memory.allocate(bytes + 1).buffer().limit(bytes);
      final ByteBuffer into = Memory.allocate(bytes + 1).buffer().limit(bytes);
      return () -> {
        if (isFirst) channel.send(from, other, TAG, 0);
        channel.recv(into, other, TAG, 0);
        if (!isFirst) channel.send(from, other, TAG, 0);
      };
    }
    final byte[] from = new byte[bytes];
    final byte[] into = new byte[bytes];
    return () -> {
      if (isFirst) channel.send(from, 0, bytes, other, TAG, 0);
      channel.recv(into, 0, bytes, other, TAG, 0);
      if (!isFirst) channel.send(from, 0, bytes, other, TAG, 0);
    };
  }

  private Result measure(String kind, int bytes, Settings settings) throws ExsException {
    final RoundTrip trip = tripOf(kind, bytes);
    final int most = bytes == 0 ? Integer.MAX_VALUE : (int) Math.min(Integer.MAX_VALUE, Math.max(LEAST, BYTES_AT_MOST / bytes));
    final int warmUp = Math.min(settings.warmUp, most);
    for (int i = 0; i < warmUp; ++i) trip.go();
    final long[] times = new long[Math.max(1, Math.min(settings.messages, most))];
    final long begun = System.nanoTime();
    long before = begun;
    for (int i = 0; i < times.length; ++i) {
      trip.go();
      final long now = System.nanoTime();
      times[i] = now - before;
      before = now;
    }
    Arrays.sort(times);
    return new Result(kind, bytes, before - begun, times);
  }

  private List<Result> run(Settings settings) throws ExsException {
    final List<Result> results = new ArrayList<>();
    for (final String kind : settings.kinds) {
      for (final int bytes : settings.sizes) results.add(measure(kind, bytes, settings));
    }
    return results;
  }

  private static void print(PrintStream out, List<Result> results) {
    out.printf(Locale.ROOT, "exs.tools.Ping: messages to and fro, one way%n%8s %10s %10s %10s %10s %10s%n", "memory", "bytes", "mean us",
        "p50 us", "p99 us", "min us");
    for (final Result one : results) {
      out.printf(Locale.ROOT, "%8s %10d %10.3f %10.3f %10.3f %10.3f%n", one.kind, one.bytes, one.oneWayUs(), one.percentileUs(0.5),
          one.percentileUs(0.99), one.percentileUs(0));
    }
  }

  private static void printJson(PrintStream out, List<Result> results) {
    final List<String> lines = new ArrayList<>();
    for (final Result one : results) {
      lines.add(String.format(Locale.ROOT,
          "{\"memory\": \"%s\", \"size_bytes\": %d, \"messages\": %d, \"one_way_us\": %.3f, \"p50_us\": %.3f, \"p99_us\": %.3f, \"min_us\": %.3f}",
          one.kind, one.bytes, one.sortedNs.length, one.oneWayUs(), one.percentileUs(0.5), one.percentileUs(0.99), one.percentileUs(0)));
    }
    out.printf("{\"schema\": 1, \"tool\": \"exs.tools.Ping\", \"java\": \"%s\", \"sizes\": [%s]}%n", Runtime.version(), String.join(", ", lines));
  }

  /**
   * Measures, and prints on rank 0.
   *
   * @param arguments as the class says
   * @throws ExsException a call failed
   */
  public static void main(String[] arguments) throws ExsException {
    if (arguments.length == 1 && "--help".equals(arguments[0])) {
      System.out.print(USAGE);
      return;
    }
    final Settings settings;
    try {
      settings = Settings.parse(arguments);
    } catch (IllegalArgumentException e) {
      System.err.print("Ping: not understood: " + e.getMessage() + "\n" + USAGE);
      System.exit(2);
      return;
    }
    boolean isPair;
    try (MessageChannel channel = MessageChannel.open()) {
      isPair = channel.size() == 2;
      if (isPair) {
        final Ping ping = new Ping(channel);
        final List<Result> results = ping.run(settings);
        if (ping.isFirst && settings.isJson) printJson(System.out, results);
        if (ping.isFirst && !settings.isJson) print(System.out, results);
      }
    }
    if (!isPair) {
      System.err.print("Ping: there are to be two ranks\n" + USAGE);
      System.exit(2);
    }
  }
}
