package exs;

import java.lang.ref.WeakReference;
import org.junit.platform.console.ConsoleLauncher;

/** Runs the tests that its arguments name, on the system property exs.storm while the collector works all the time. */
public final class Tests {
  private Tests() {}

  public static void main(String[] arguments) {
    if (Boolean.getBoolean("exs.storm")) {
      final Thread storm = new Thread(Tests::collect, "storm");
      storm.setDaemon(true);
      storm.start();
    }
    ConsoleLauncher.main(arguments);
  }

  private static void collect() {
    while (true) {
      collectOnce();
      Thread.yield();
    }
  }

  /** Returns when the collector has taken what was there to be taken. */
  static void collectOnce() {
    final WeakReference<Object> gone = new WeakReference<>(new Object());
    do {
      System.gc();
    } while (gone.get() != null);
  }
}
