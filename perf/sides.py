"""What perf/compare can put side by side: the programs of this tree, and UCX through its ucx_perftest.

A side has a name and is measured by measure(binaries, seconds, address of a device); figures are microseconds, or bytes or
messages a second.
"""
import dataclasses
import json
import os
import pathlib
import shutil
import socket
import subprocess
import time

RUN_LIMIT_S = 60
DEVICE_ADDRESS = "{address}"  # in a command: of the RDMA device that is measured
CORES = sorted(os.sched_getaffinity(0))


class Missing(Exception):
    """The side cannot be measured here; the text says why."""


@dataclasses.dataclass(frozen=True)
class Program:
    """A program of this tree. `figure` is the path of the figure in its JSON, with dots."""

    name: str
    command: tuple
    figure: str

    def measure(self, binaries, seconds, address=None):
        options = [address if word == DEVICE_ADDRESS else word for word in self.command[1:]]
        line = [binaries / self.command[0], *options, "--json", "--time", str(seconds)]
        done = subprocess.run(line, capture_output=True, text=True, timeout=RUN_LIMIT_S + seconds, check=False)
        if done.returncode != 0:
            raise SystemExit(f"compare: {' '.join(map(str, line))}: exit {done.returncode}\n{done.stderr}")
        result = json.loads(done.stdout)
        for key in self.figure.split("."):
            result = result[key]
        return result


@dataclasses.dataclass(frozen=True)
class Ucx:
    """A test of ucx_perftest, its two ends pinned to a core each, over the transports `tls`."""

    name: str
    test: str
    size_bytes: int
    tls: str

    # Its tests end by count, so the count is guessed from what a message takes at least (us).
    FASTEST_US = {"lat": 0.2, "bw": 25}
    MIB = 1 << 20  # its MB

    def measure(self, _binaries, seconds, _address=None):
        program = shutil.which("ucx_perftest")
        if program is None:
            raise Missing("there is no ucx_perftest; scripts/setup installs it (Debian: ucx-utils)")
        kind = self.test.rsplit("_", maxsplit=1)[1]
        count = max(1000, int(seconds * 1e6 / self.FASTEST_US[kind]))
        port = free_port()
        common = [program, "-p", str(port), "-f", "-v"]
        test = ["-t", self.test, "-s", str(self.size_bytes), "-n", str(count), "-w", str(count // 10)]
        server = self.start(common, 1)
        try:
            wait_until_listening(port, server)
            client = self.start([*common, "127.0.0.1", *test], 0)
            try:
                output = client.communicate(timeout=RUN_LIMIT_S + 10 * seconds)[0]
            finally:
                client.kill()
            server.wait(timeout=RUN_LIMIT_S)
        finally:
            server.kill()
            server.communicate()
        return self.figure(kind, output, client.returncode)

    def start(self, line, core):
        return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env={**os.environ, "UCX_TLS": self.tls, "UCX_WARN_UNUSED_ENV_VARS": "n"},
                                preexec_fn=lambda: os.sched_setaffinity(0, {CORES[core % len(CORES)]}))

    def figure(self, kind, output, status):
        """The last line of CSV; its column names are in the line before."""
        lines = [line.split(",") for line in output.splitlines() if line.count(",") >= 7]
        if status != 0 or len(lines) < 2:
            raise SystemExit(f"compare: ucx_perftest -t {self.test}: exit {status}\n{output}")
        row = dict(zip(lines[-2], lines[-1]))
        return float(row["50.0_percentile_lat"]) if kind == "lat" else float(row["overall_bw"]) * self.MIB


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until_listening(port, server):
    limit = time.monotonic() + RUN_LIMIT_S
    wanted = f":{port:04X} 00000000:0000 0A"
    while wanted not in pathlib.Path("/proc/net/tcp").read_text():
        if server.poll() is not None or time.monotonic() > limit:
            raise SystemExit(f"compare: ucx_perftest does not listen\n{server.stdout.read()}")
        time.sleep(0.01)
