// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.lang.ref.WeakReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.platform.console.ConsoleLauncher;

/** Runs the tests that its arguments name, on the system property exs.storm while the collector works all the time. */
public final class Tests {
  private static final long PAUSE_NS = 3_000_000;

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
      LockSupport.parkNanos(PAUSE_NS);  // or nobody else would get anywhere
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
