// SPDX-License-Identifier: BSD-2-Clause
package xdev.exsdev;

import exs.MessageChannel;
import java.io.IOException;
import xdev.XDevException;

/**
 * The channel of this process to its job. A process joins a job once, but may start and finish MPI again, so the channel is closed when
 * the JVM ends. A process that ends between start and finish does not close it; so the others see that it has died.
 */
final class JobChannel {
  private static MessageChannel channel;
  private static boolean isInUse;

  private JobChannel() {}

  static synchronized MessageChannel get() {
    if (channel == null) {
      try {
        channel = MessageChannel.open();
      } catch (IOException failure) {
        throw new XDevException(failure);
      }
      Runtime.getRuntime().addShutdownHook(new Thread(JobChannel::leave));
    }
    return channel;
  }

  static synchronized void began() {
    isInUse = true;
  }

  static synchronized void finished() {
    isInUse = false;
  }

  private static synchronized void leave() {
    if (isInUse) return;
    try {
      channel.close();
    } catch (IOException failure) {
      System.err.println("exsdev: " + failure.getMessage());
    }
  }
}
