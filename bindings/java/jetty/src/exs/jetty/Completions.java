// SPDX-License-Identifier: BSD-2-Clause
package exs.jetty;

import exs.ExsException;
import exs.Loop;
import java.util.concurrent.Executor;

/** A loop of exs that threads of Jetty drive. */
final class Completions extends Driver {
  private final Loop loop;

  Completions(int depth, Executor executor) throws ExsException {
    this(Loop.create(depth), executor);
  }

  private Completions(Loop loop, Executor executor) {
    super(loop::complete, loop::close, executor);
    this.loop = loop;
  }

  Loop loop() {
    return loop;
  }
}
