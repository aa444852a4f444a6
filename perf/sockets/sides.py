# SPDX-License-Identifier: BSD-2-Clause
"""What stands beside each other: one load, with bytes going different ways."""
import dataclasses

from comparison.sides import Run
from sockets.place import Way


@dataclasses.dataclass(frozen=True)
class Side:
    """`name` begins with exs if the layer is loaded: a run of it that fails is no result."""

    load: object
    way: Way

    @property
    def name(self):
        return self.way.name

    def run(self, place, seconds):
        return Run(self.load.measure(place, self.way, seconds))
