// SPDX-License-Identifier: BSD-2-Clause
package xdev.exsdev;

import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;

/** Requests that have ended and that no thread has waited for: peek returns each once. Thread: any. */
final class Ended {
  private final Set<ExsRequest> requests = new LinkedHashSet<>();

  synchronized void add(ExsRequest request) {
    requests.add(request);
  }

  synchronized void forget(ExsRequest request) {
    requests.remove(request);
  }

  /** Removes the one that ended first; null: there is none. */
  synchronized ExsRequest take() {
    final Iterator<ExsRequest> first = requests.iterator();
    if (!first.hasNext()) return null;
    final ExsRequest request = first.next();
    first.remove();
    return request;
  }
}
