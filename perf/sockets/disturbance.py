# SPDX-License-Identifier: BSD-2-Clause
"""How much processor time other programs took meanwhile: what spins is worth nothing where somebody else wants the core."""
import os
import pathlib
import resource
import time


class ProcessorTime:
    """From its making on."""

    def __init__(self):
        self.began, self.all_s, self.own_s = time.monotonic(), all_seconds(), own_seconds()

    def of_others_percent(self):
        """Of a core. What was started here and ended by force without being waited for counts as another's."""
        others_s = all_seconds() - self.all_s - (own_seconds() - self.own_s)
        return max(0, round(100 * others_s / (time.monotonic() - self.began), 1))


def all_seconds():
    """Of all processors: user, nice, system, irq, softirq."""
    words = pathlib.Path("/proc/stat").read_text().split("\n", maxsplit=1)[0].split()[1:]
    return sum(int(words[at]) for at in (0, 1, 2, 5, 6)) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
