// SPDX-License-Identifier: BSD-2-Clause
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * Runs several programs of MPJ one after the other in one JVM: {@code Several RANK CONF DEVICE SECONDS CLASS...}. Every line of a
 * program's output begins with its name and a tab. At its end follows a line with its name, a tab, and {@code END} with milliseconds. A
 * program that takes longer than SECONDS ends the JVM with 3.
 */
public final class Several {
  private static final int HANGS = 3;

  private Several() {}

  public static void main(String[] args) throws Exception {
    final PrintStream out = System.out;
    final String[] first = {args[0], args[1], args[2]};
    for (int at = 4; at < args.length; ++at) {
      final Thread watch = watch(Long.parseLong(args[3]));
      final long start = System.nanoTime();
      try (PrintStream named = new PrintStream(new Named(out, args[at]), true)) {
        System.setOut(named);
        System.setErr(named);
        run(args[at], first);
        named.println();
      }
      watch.interrupt();
      print(out, args[at] + "\tEND " + (System.nanoTime() - start) / 1_000_000);
    }
  }

  private static void run(String program, String[] args) {
    try {
      Class.forName(program).getMethod("main", String[].class).invoke(null, (Object) args.clone());
    } catch (ReflectiveOperationException failure) {
      (failure.getCause() == null ? failure : failure.getCause()).printStackTrace();
    }
  }

  private static Thread watch(long seconds) {
    final Thread thread = new Thread(() -> {
      try {
        Thread.sleep(1000 * seconds);
      } catch (InterruptedException over) {
        return;
      }
      Runtime.getRuntime().halt(HANGS);
    });
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  /** Prints in one piece, because other ranks print to the same place. */
  private static void print(PrintStream out, String line) {
    final byte[] bytes = (line + '\n').getBytes(StandardCharsets.ISO_8859_1);
    out.write(bytes, 0, bytes.length);
    out.flush();
  }

  private static final class Named extends OutputStream {
    private final PrintStream out;
    private final String name;
    private final ByteArrayOutputStream line = new ByteArrayOutputStream();

    Named(PrintStream out, String name) {
      this.out = out;
      this.name = name;
    }

    @Override
    public synchronized void write(int character) {
      if (character != '\n') line.write(character);
      else if (line.size() > 0) print(out, name + '\t' + line.toString(StandardCharsets.ISO_8859_1));
      if (character == '\n') line.reset();
    }
  }
}
