# SPDX-License-Identifier: BSD-2-Clause
"""The counterpart of Figure 3 of the paper on libRIPC: the time in which a client fetches a file from Jetty, by its size, by TCP and by
exs, as a stream, as a service and as one that writes its replies, from the server's cache and read anew."""
import dataclasses
import json
import os
import pathlib
import subprocess

from comparison.charts import Chart, series
from comparison.machine import ROOT
from comparison.processes import Failed, Missing, end, start, text_of
from comparison.sides import RUN_LIMIT_S, Run

KIB, MIB = 1 << 10, 1 << 20
SIZES = (KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 8 * MIB, 10 * MIB, 12 * MIB, 16 * MIB, 64 * MIB)
FEW_SIZES = (4 * KIB, 256 * KIB, 4 * MIB, 16 * MIB)
TCP = "Jetty by TCP"
STREAM, SERVICE, RETURN = "exs stream", "exs service", "exs service with return buffers"
PROVIDERS = ("shm", "iwarp")
NAMES = (TCP, *(f"{how}, {provider}" for provider in PROVIDERS for how in (STREAM, SERVICE, RETURN)))
PLACES = {"cached": "files up to 10 MiB from the cache", "read": "each file read anew"}

CACHED_BYTES_MAX = 10 * MIB

FETCHES_MAX = 10_000  # of a run, as in the paper
BYTES_A_SECOND = 2e9  # what a run is meant to take, roughly
# Fetches after which Java has compiled what it will: of files that are copied, sent from where they lie, and sent in parts.
WARM_UP = {4 * KIB: 20_000, 64 * KIB: 20_000, 512 * KIB: 5_000}

JARS = ("jetty9-http", "jetty9-io", "jetty9-security", "jetty9-server", "jetty9-servlet", "jetty9-util", "jetty9-util-ajax", "servlet-api")
JAR_FOLDER = pathlib.Path("/usr/share/java")


@dataclasses.dataclass(frozen=True)
class Bound:
    """What a fetch may take of the time by TCP."""
    what: str
    place: str
    names: tuple
    most: float
    least_bytes: int = 0

    def holds_for(self, size):
        return self.least_bytes <= size and (self.place != "cached" or size <= CACHED_BYTES_MAX)


def _lines(provider, *ways):
    return tuple(f"{how}, {provider}" for how in ways)


BOUNDS = (
    Bound("from the cache by services, shm, 1 MiB and more: the paper's factor", "cached", _lines("shm", SERVICE, RETURN), 1 / 3, MIB),
    Bound("from the cache, shm, every size", "cached", _lines("shm", STREAM, SERVICE, RETURN), 1),
    Bound("read anew, shm, every size, where the paper lost below 6 MiB", "read", _lines("shm", STREAM, SERVICE, RETURN), 1),
    Bound("from the cache, iwarp, where both are TCP", "cached", _lines("iwarp", STREAM, SERVICE, RETURN), 1.15),
)


class FileServer:
    """Jetty in a process of its own, on a core of its own, which serves files of all sizes out of `folder`."""

    def __init__(self, binaries, folder, sizes):
        self.binaries = binaries
        files = folder / "files"
        files.mkdir()
        for size in {*sizes, *WARM_UP}:
            (files / str(size)).write_bytes(os.urandom(size))
        libraries = binaries.parent / "lib"
        jars = [libraries / "exs.jar", libraries / "exs-jetty.jar", *(JAR_FOLDER / f"{jar}.jar" for jar in JARS)]
        lacking = [jar.name for jar in jars if not jar.exists()]
        if lacking:
            raise Missing(f"there is no {lacking[0]}; scripts/setup java installs Jetty (Debian: libjetty9-java), and the build makes the rest")
        path = ":".join(map(str, [*jars, folder]))
        subprocess.run(["javac", "-nowarn", "-cp", path, "-d", folder, ROOT / "perf/fetch/FileServer.java"], check=True)
        self.process = start(["java", f"-Djava.library.path={libraries}", "-Dorg.eclipse.jetty.LEVEL=WARN",
                              "-Dorg.eclipse.jetty.util.log.announce=false", "-cp", path, "FileServer", files], None, None)
        ports = self.process.stdout.readline().split()
        if len(ports) != 3:
            raise Failed(f"the server does not start: {' '.join(ports)}")
        tcp, stream, service = ports
        self.places = {TCP: f"http://127.0.0.1:{tcp}", STREAM: f"http://127.0.0.1:{stream}", SERVICE: f"exs-svc://{service}",
                       RETURN: f"exs-svc://{service}"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end(self.process)

    def warm_up(self):
        for size, count in WARM_UP.items():
            for name in NAMES:
                for place in PLACES:
                    Fetch(name, place, size).fetch(self, 1, count)


@dataclasses.dataclass(frozen=True)
class Fetch:
    name: str
    place: str
    size: int

    def run(self, server, seconds):
        count = int(min(FETCHES_MAX, max(20, BYTES_A_SECOND * seconds / self.size)))
        return Run(self.fetch(server, count, max(3, count // 20))["p50_us"])

    def fetch(self, server, count, warm_up):
        how, _, provider = self.name.partition(", ")
        options = ["--provider", provider] if provider else ["--tcp"]
        if how == RETURN:
            options.append("--return")
        line = [server.binaries / "exs-fetch", *options, "--json", "--repeat", count, "--warm-up", warm_up,
                f"{server.places[how]}/{self.place}/{self.size}"]
        try:
            done = subprocess.run(list(map(str, line)), capture_output=True, text=True, timeout=RUN_LIMIT_S, check=False)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{text_of(line)}: hung for {late.timeout:.0f} s") from late
        if done.returncode != 0:
            raise Failed(f"{text_of(line)}: exit {done.returncode}\n{done.stderr}")
        file = json.loads(done.stdout)["files"][0]
        if file["size_bytes"] != self.size:
            raise Failed(f"{text_of(line)}: {file['size_bytes']} bytes instead of {self.size}")
        return file


def figures(sizes):
    def chart(place, what):
        lines = [series(name, "peer" if name == TCP else "exs", lambda size, name=name: Fetch(name, place, size), sizes) for name in NAMES]
        return Chart(f"figure-3-{place}", f"Figure 3: a file fetched from Jetty, {what}", "size", "us", 1, tuple(lines))

    return [chart(place, what) for place, what in PLACES.items()]
