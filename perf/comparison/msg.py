# SPDX-License-Identifier: BSD-2-Clause
"""Messages with tags beside UCX and Open MPI: what they are held to, and how each side is measured."""
import dataclasses
import json
import os
import subprocess

from comparison.goals import KIB, MESSAGES, MIB, MPI_ONE_WAY, TCP_TLS, mpi
from comparison.peers import OpenMpi
from comparison.processes import Failed, Missing, text_of
from comparison.questions import RATE, RING_TLS
from comparison.sides import Run
from comparison.ucx import Ucx

WINDOW = 64
OPERATION = "operation_us.mean"


@dataclasses.dataclass(frozen=True)
class ExsMessages:
    """exs-msg-ping: half of the median round trip, or, with a window, messages or bytes a second."""

    name: str
    provider: str
    size_bytes: int
    figure: str = ""  # of a window; "": of one message to and fro
    count_a_second: int = 100_000  # about as many as there are

    def run(self, binaries, seconds, _address=None):
        count = max(200, int(seconds * self.count_a_second))
        window = ["--window", WINDOW, "--one-buffer"] if self.figure else []  # as the others have one
        line = [binaries / "exs-msg-ping", "--self", "--json", "--provider", self.provider, "--size", self.size_bytes, "--messages", count, *window]
        try:
            done = subprocess.run([str(word) for word in line], capture_output=True, text=True, timeout=60 + 20 * seconds, check=False)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{text_of(line)}: hung for {late.timeout:.0f} s") from late
        if done.returncode != 0:
            raise Failed(f"{text_of(line)}: exit {done.returncode}\n{done.stderr}")
        found = json.loads(done.stdout)["sizes"][0]
        return Run(found[self.figure] if self.figure else found["round_trip_us"]["p50"] / 2)


@dataclasses.dataclass(frozen=True)
class MpiOverExs(OpenMpi):
    """The same program by the provider of libfabric; `btl` is exs's provider."""

    def run(self, binaries, seconds, _address=None):
        folder = binaries.parent / "lib/libfabric"
        if not (folder / "libexs-fi.so").exists():
            raise Missing("there is no libexs-fi.so: libfabric-dev was not there when exs was built")
        words = {"FI_PROVIDER_PATH": folder, "FI_PROVIDER": "exs", "EXM_ADDRESS": "127.0.0.1", "EXS_PROVIDER": self.btl}
        os.environ.update({name: str(value) for name, value in words.items()})
        try:
            return self.run_over(["--mca", "pml", "cm", "--mca", "mtl", "ofi", "--mca", "mtl_ofi_provider_include", "exs"], binaries, seconds)
        finally:
            for name in words:
                os.environ.pop(name, None)


@dataclasses.dataclass(frozen=True)
class Row:
    """A question; each other side with the ratio that it is held to, exs's figure to that of the side, or None."""

    what: str
    unit: str
    ours: object
    others: tuple  # of (side, ratio)
    more_is_better: bool = False


def over_exs(mode, size, provider, figure, ranks=2):
    return MpiOverExs(f"Open MPI over exs ({provider})", mode, size, provider, figure, ranks)


def vader(mode, size, figure, ranks=2):
    return OpenMpi("Open MPI vader", mode, size, "vader", figure, ranks)


def rows():
    def allreduce(text, size, ratio):
        return Row(f"Allreduce of {text}, 4 ranks", "us", over_exs("allreduce", size, "shm", OPERATION, 4), ((vader("allreduce", size, OPERATION, 4), ratio),))

    return [
        Row("64 B one way, one host", "us", ExsMessages("exs", "shm", 64, count_a_second=1_000_000),
            ((Ucx("UCX tag_lat", "tag_lat", 64, RING_TLS), 1.2), (vader("ping", 64, MPI_ONE_WAY), 1.2))),
        Row("64 B one way by MPI, one host", "us", over_exs("ping", 64, "shm", MPI_ONE_WAY), ((vader("ping", 64, MPI_ONE_WAY), 1.3),)),
        Row("8 B, 64 under way, one host", "messages/s", ExsMessages("exs", "shm", 8, MESSAGES, 4_000_000),
            ((Ucx("UCX tag_bw", "tag_bw", 8, RING_TLS, counts_messages=True), 0.8), (vader("blast", 8, MESSAGES), None),
             (over_exs("blast", 8, "shm", MESSAGES), None)), True),
        Row("1 MiB, one host", "bytes/s", ExsMessages("exs", "shm", MIB, RATE, 5_000),
            ((Ucx("UCX tag_bw", "tag_bw", MIB, RING_TLS), 1.0), (vader("blast", MIB, RATE), None),
             (over_exs("blast", MIB, "shm", RATE), None)), True),
        Row("64 B one way, TCP", "us", ExsMessages("exs", "iwarp", 64),
            ((Ucx("UCX tag_lat", "tag_lat", 64, TCP_TLS), None), (mpi("ping", 64, "tcp", MPI_ONE_WAY), None),
             (over_exs("ping", 64, "iwarp", MPI_ONE_WAY), None))),
        Row("128 KiB one way, TCP", "us", ExsMessages("exs", "iwarp", 128 * KIB, count_a_second=5_000),
            ((mpi("ping", 128 * KIB, "tcp", MPI_ONE_WAY), 1.0), (over_exs("ping", 128 * KIB, "iwarp", MPI_ONE_WAY), None))),
        allreduce("8 B", 8, 1.3),
        allreduce("1 MiB", MIB, 1.3),
    ]


@dataclasses.dataclass(frozen=True)
class Table:
    """A figure of the paper: a line for each size, a column for each side."""

    title: str
    paper: str
    unit: str  # "us", or "Gb/s" of the times in us that are measured
    lines: tuple  # of (what, bytes that move in the measured time, sides)


SIZES = tuple(1 << bits for bits in range(0, 21, 2))
RANKS = 4


def tables():
    def one_way(provider, tls, btl):
        rate = 100_000 if provider == "iwarp" else 500_000
        return tuple((f"{size}", size, (ExsMessages("exs", provider, size, count_a_second=max(200, rate // (1 + size // 8192))),
                                        Ucx("UCX", "tag_lat", size, tls), mpi("ping", size, btl, MPI_ONE_WAY),
                                        over_exs("ping", size, provider, MPI_ONE_WAY))) for size in SIZES)

    def together():
        moved = {"bcast": RANKS - 1, "allgather": RANKS * (RANKS - 1), "reduce": RANKS - 1, "allreduce": 2 * (RANKS - 1)}
        return tuple((f"{what} {size}", times * size, (over_exs(what, size, "shm", OPERATION, RANKS), vader(what, size, OPERATION, RANKS)))
                     for what, times in moved.items() for size in (8, 512, 32 * KIB, 256 * KIB, MIB))

    by_memory = one_way("shm", RING_TLS, "vader")
    by_tcp = one_way("iwarp", TCP_TLS, "tcp")
    fig_10 = "the paper over InfiniBand of 16 Gb/s: one way MPJ's ibvdev 11 us, MVAPICH 13, Open MPI 10; 7.2 Gb/s, MVAPICH 7, Open MPI 9.2"
    fig_11 = "the paper within a host: ibvdev 6 us, MVAPICH 0.5, Open MPI 1; ibvdev 15.3 Gb/s"
    return [
        Table("Figure 10, over TCP: one way, us by bytes", fig_10, "us", by_tcp),
        Table("Figure 10, over TCP: Gb/s of a message to and fro", fig_10, "Gb/s", by_tcp),
        Table("Figure 11, one host: one way, us by bytes", fig_11, "us", by_memory),
        Table("Figure 11, one host: Gb/s of a message to and fro", fig_11, "Gb/s", by_memory),
        Table(f"Figure 12, {RANKS} ranks of one host: aggregate Gb/s", "the paper, 128 ranks on 8 hosts: MPJ over ibvdev is ahead of MPI up to "
              "16 to 256 KB, behind it above", "Gb/s", together()),
    ]
