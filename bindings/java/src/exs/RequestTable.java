// SPDX-License-Identifier: BSD-2-Clause
package exs;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * The requests of a channel that have not been given up, by their numbers. It holds them, and they hold their memory. So memory that the
 * library uses stays, whatever the program forgets.
 *
 * <p>Requests are started and entered under the lock of this object. So a number that the library returns ({@link MessageChannel#peek})
 * and that is not here belongs to no request. Thread: any.
 */
final class RequestTable {
  private static final int SLOTS_AT_FIRST = 64;
  private static final int LOOKS = 8;

  /** Indexed by the low bits of their numbers, which the library assigns one after the other; chained by Request.next. */
  private Request[] slots = new Request[SLOTS_AT_FIRST];
  private int count;
  /** Requests that the program has given up. */
  private final ArrayDeque<Request> released = new ArrayDeque<>();
  private volatile boolean hasReleased;

  /** Reserves memory, so that the next add() needs none. */
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

  /** Returns null if there is no such request. */
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

  /** Removes some of the released ones, to check whether they have ended; release those that have not again. */
  List<Request> someReleased() {
    return hasReleased ? takeReleased() : List.of();
  }

  private synchronized List<Request> takeReleased() {
    final List<Request> some = new ArrayList<>(LOOKS);
    for (int i = Math.min(LOOKS, released.size()); i > 0; --i) some.add(released.poll());
    hasReleased = !released.isEmpty();
    return some;
  }

  /** Removes and returns all. */
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
