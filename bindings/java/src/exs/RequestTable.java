package exs;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * The requests of a channel that have not been given up, by their number: it holds them, and they their memory, so that nothing happens to
 * memory that the library still uses, whatever the program forgets.
 *
 * <p>Requests are started and entered under the lock of this object. So who finds none under a number that the library has named
 * ({@link MessageChannel#peek}) knows that it is nobody's. Thread: any.
 */
final class RequestTable {
  private static final int SLOTS_AT_FIRST = 64;
  private static final int LOOKS = 8;

  /** By the low bits of their numbers, which the library gives one after the other; chained by Request.next. */
  private Request[] slots = new Request[SLOTS_AT_FIRST];
  private int count;
  /** Those that nobody will ask for any more. */
  private final ArrayDeque<Request> released = new ArrayDeque<>();
  private volatile boolean hasReleased;

  /** So that the next add() needs no memory. */
  synchronized void reserve() {
    if (count == slots.length) grow();
  }

  synchronized void add(Request request) {
    insert(slots, request);
    ++count;
  }

  synchronized void remove(Request request) {
    final int slot = slotOf(slots, request.handle());
    Request before = null;
    for (Request one = slots[slot]; one != null; before = one, one = one.next) {
      if (one != request) continue;
      if (before == null) {
        slots[slot] = one.next;
      } else {
        before.next = one.next;
      }
      one.next = null;
      --count;
      return;
    }
  }

  /** Null: it is none of them. */
  synchronized Request find(long handle) {
    Request one = slots[slotOf(slots, handle)];
    while (one != null && one.handle() != handle) one = one.next;
    return one;
  }

  synchronized int count() {
    return count;
  }

  synchronized void release(Request request) {
    released.add(request);
    hasReleased = true;
  }

  /** Some of the released ones, to see whether they have ended; who has not is to be released again. */
  List<Request> someReleased() {
    return hasReleased ? takeReleased() : List.of();
  }

  private synchronized List<Request> takeReleased() {
    final List<Request> some = new ArrayList<>(LOOKS);
    for (int i = Math.min(LOOKS, released.size()); i > 0; --i) some.add(released.poll());
    hasReleased = !released.isEmpty();
    return some;
  }

  /** All of them, which are forgotten. */
  synchronized List<Request> clear() {
    final List<Request> all = new ArrayList<>(count);
    for (Request first : slots) {
      for (Request one = first; one != null; one = one.next) all.add(one);
    }
    slots = new Request[SLOTS_AT_FIRST];
    count = 0;
    released.clear();
    hasReleased = false;
    return all;
  }

  private static int slotOf(Request[] slots, long handle) {
    return (int) handle & (slots.length - 1);
  }

  private static void insert(Request[] slots, Request request) {
    final int slot = slotOf(slots, request.handle());
    request.next = slots[slot];
    slots[slot] = request;
  }

  private void grow() {
    final Request[] larger = new Request[2 * slots.length];
    for (final Request first : slots) {
      Request one = first;
      while (one != null) {
        final Request next = one.next;
        insert(larger, one);
        one = next;
      }
    }
    slots = larger;
  }
}
