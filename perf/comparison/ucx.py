# SPDX-License-Identifier: BSD-2-Clause
"""UCX, by its ucx_perftest."""
import dataclasses

from comparison.processes import Failed, find, free_port, run_pair
from comparison.sides import Run

MIB = 1 << 20  # its MB
# A run ends by count, so that is guessed from what a message takes: us, and bytes a us.
FIRST_BYTE_US = {"shm": 0.15, "tcp": 5}
BYTES_A_US = {"shm": 12_000, "tcp": 4_000}
COUNT_MIN = 200


@dataclasses.dataclass(frozen=True)
class Ucx:
    """One of its tests, the two ends pinned to a core each, over the transports `tls`. Both ends poll."""

    name: str
    test: str
    size_bytes: int
    tls: str
    depth: int = 0  # sends under way; 0: as many as it likes
    counts_messages: bool = False  # of a _bw test: messages a second, not bytes

    def run(self, _binaries, seconds, _address=None):
        program = find("ucx_perftest", "ucx-utils")
        port, count = free_port(), self.count(seconds)
        common = [program, "-p", port, "-f", "-v"]
        test = ["-t", self.test, "-s", self.size_bytes, "-n", count, "-w", max(count // 10, 10), "-O", self.depth]
        output = run_pair(common, [*common, "127.0.0.1", *test], port, 20 + 20 * seconds,
                          {"UCX_TLS": self.tls, "UCX_WARN_UNUSED_ENV_VARS": "n"})
        return run_of(self, output)

    @property
    def is_latency(self):
        return not self.test.endswith("_bw")

    def count(self, seconds):
        way = "tcp" if "tcp" in self.tls else "shm"
        message_us = FIRST_BYTE_US[way] + self.size_bytes / BYTES_A_US[way]
        return max(COUNT_MIN, int(seconds * 1e6 / message_us / (2 if self.is_latency else 1)))


def run_of(side, output):
    """Of the last line of CSV; its column names are in the line before."""
    lines = [line.split(",") for line in output.splitlines() if line.count(",") >= 7]
    if len(lines) < 2:
        raise Failed(f"ucx_perftest -t {side.test}: {output}")
    row = dict(zip(lines[-2], lines[-1]))
    if side.is_latency:
        return Run(float(row["50.0_percentile_lat"]))
    bytes_per_second = float(row["overall_bw"]) * MIB
    value = float(row["overall_mr"]) if side.counts_messages else bytes_per_second
    return Run(value, 2 / (bytes_per_second / 1e9), 100, 100)
