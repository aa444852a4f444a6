// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * An object that any thread may call into until one closes it; the closing thread waits until no other is inside.
 *
 * <p>A thread that enters first notes this in its {@link CallFrame}, and then checks whether the object is closed. A closing thread first
 * marks it closed, and then checks all frames. One of the two sees the other. No thread stays inside for longer than a slice of {@link
 * #SLICE_NS}, or than a call that does not wait.
 */
abstract class Guarded {
  /** How long a thread waits in the library before it checks for an interrupt. */
  static final long SLICE_NS = 50_000_000;

  private static final long LOOK_AGAIN_NS = 20_000;
  private static final List<WeakReference<CallFrame>> FRAMES = new ArrayList<>();

  private volatile boolean isClosed;

  static void register(CallFrame frame) {
    synchronized (FRAMES) {
      FRAMES.removeIf(one -> one.get() == null);
      FRAMES.add(new WeakReference<>(frame));
    }
  }

  /** Returns whether no call can be made any more. */
  final boolean isClosed() {
    return isClosed;
  }

  /** Returns the frame of this thread, which must leave soon. */
  final CallFrame enter() throws ExsException {
    final CallFrame frame = CallFrame.ofThread();
    frame.inside = this;
    if (!isClosed) return frame;
    frame.inside = null;
    throw ExsException.closed(name());
  }

  static void leave(CallFrame frame) {
    frame.inside = null;
  }

  /** Returns true to one thread alone, when no other is inside or will be. */
  final boolean shut() {
    synchronized (this) {
      if (isClosed) return false;
      isClosed = true;
    }
    final List<WeakReference<CallFrame>> frames;
    synchronized (FRAMES) {
      frames = new ArrayList<>(FRAMES);
    }
    for (final WeakReference<CallFrame> one : frames) {
      final CallFrame frame = one.get();
      while (frame != null && frame.inside == this) LockSupport.parkNanos(LOOK_AGAIN_NS);
    }
    return true;
  }

  /** The name in error messages. */
  abstract String name();
}
