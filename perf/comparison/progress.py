# SPDX-License-Identifier: BSD-2-Clause
"""How far a measurement is, on standard error: a line that changes on a terminal, elsewhere a line now and then."""
import sys
import time

QUIET_S = 15  # between lines where there is no terminal


class Progress:
    """Of `total` steps; without one, only what is done is told, and on a terminal alone."""

    def __init__(self, shown, total=None, stream=sys.stderr):
        self.stream, self.total = stream, total
        self.on_terminal = shown and stream.isatty()
        self.in_lines = shown and not self.on_terminal and total is not None
        self.done, self.began, self.told = 0, time.monotonic(), 0

    def step(self, text):
        self.done += 1
        if self.on_terminal:
            print(f"\r{self.head()}{text}\033[K", end="", file=self.stream, flush=True)
        elif self.in_lines and time.monotonic() - self.told > QUIET_S:
            self.told = time.monotonic()
            print(f"{self.head()}{text}", file=self.stream, flush=True)

    def head(self):
        if self.total is None:
            return ""
        share = min(1, (self.done - 1) / self.total)
        spent = time.monotonic() - self.began
        left = f", {spent / share - spent:.0f} s left" if self.done > 20 else ""
        return f"{share:4.0%}{left}: "

    def clear(self):
        if self.on_terminal:
            print("\r\033[K", end="", file=self.stream, flush=True)
