# SPDX-License-Identifier: BSD-2-Clause
"""What can stand beside each other: programs of this tree here, those of others in peers.py.

A side has a name and is measured by run(binaries, seconds, address of a device), which returns a Run; it raises Missing if it
cannot be measured on this machine, and Failed if it did not end well.
"""
import dataclasses
import json
import subprocess

from comparison.processes import Failed, text_of

RUN_LIMIT_S = 60
ONE_CORE_MODES = ("copy", "read")  # of shm-baseline: one process moves the bytes and does nothing else
DEVICE_ADDRESS = "{address}"  # in a command: of the RDMA device that is measured


@dataclasses.dataclass(frozen=True)
class Run:
    value: float  # microseconds, or bytes or messages a second
    cpu_seconds_per_gb: float = None  # of both ends; None: not told
    receiver_cpu_percent: float = None
    sender_cpu_percent: float = None


@dataclasses.dataclass(frozen=True)
class Program:
    """A program of this tree. `figure` is the path of the figure in its JSON, with dots."""

    name: str
    command: tuple
    figure: str

    def run(self, binaries, seconds, address=None):
        options = [address if word == DEVICE_ADDRESS else word for word in self.command[1:]]
        line = [binaries / self.command[0], *options, "--json", "--time", str(seconds)]
        try:
            done = subprocess.run(line, capture_output=True, text=True, timeout=RUN_LIMIT_S + seconds, check=False)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{text_of(line)}: hung for {late.timeout:.0f} s") from late
        if done.returncode != 0:
            raise Failed(f"{text_of(line)}: exit {done.returncode}\n{done.stderr}")
        return run_of(json.loads(done.stdout), self.figure)


def run_of(result, figure):
    value = result
    for key in figure.split("."):
        value = value[key]
    sender, receiver = result.get("sender_cpu_percent"), result.get("receiver_cpu_percent")
    if result.get("mode") in ONE_CORE_MODES:
        sender, receiver = 100, 0
    rate, known = result.get("bytes_per_second"), None not in (sender, receiver)
    return Run(value, (sender + receiver) / 100 / (rate / 1e9) if known and rate else None, receiver, sender)
