package exs;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * Something that is called into by any thread until one closes it: who closes waits until nobody is inside.
 *
 * <p>A thread that enters says so in its {@link CallFrame} and then looks whether it is closed; who closes says that first and then
 * looks at all frames. One of the two sees the other. Nobody stays inside for longer than a slice of {@link #SLICE_NS}, or than a call
 * that does not wait.
 */
abstract class Guarded {
  /** How long a thread waits in the library before it looks whether it was interrupted. */
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

  /** Whether no call can be made any more. */
  final boolean isClosed() {
    return isClosed;
  }

  /** The frame of this thread, which must leave soon. */
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

  /** True for one thread alone, when nobody else is inside or will be. */
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

  /** For messages of errors. */
  abstract String name();
}
