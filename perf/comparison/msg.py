"""Messages with tags beside UCX and Open MPI: what they are held to, and how each side is measured."""
import dataclasses
import json
import os
import subprocess

from comparison.goals import KIB, MESSAGES, MIB, MPI_ONE_WAY, TCP_TLS, mpi
from comparison.peers import OpenMpi, compiled, json_of
from comparison.processes import Failed, Missing, find, text_of
from comparison.questions import RATE, RING_TLS
from comparison.sides import Run, run_of
from comparison.ucx import Ucx

WINDOW = 64


@dataclasses.dataclass(frozen=True)
class ExsMessages:
    """exs-msg-ping: half of the median round trip, or, with a window, messages or bytes a second."""

    name: str
    provider: str
    size_bytes: int
    figure: str = ""  # of a window; "": of one message to and fro

    def run(self, binaries, seconds, _address=None):
        count = max(200, int(seconds * (100_000 if self.size_bytes < KIB else 5_000 if self.size_bytes < MIB else 500)))
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
        mpirun = find("mpirun", "openmpi-bin")
        program = compiled("mpi-pair", "ompi-c", "libopenmpi-dev", binaries)
        folder = binaries.parent / "lib/libfabric"
        if not (folder / "libexs-fi.so").exists():
            raise Missing("there is no libexs-fi.so: libfabric-dev was not there when exs was built")
        words = {"FI_PROVIDER_PATH": folder, "FI_PROVIDER": "exs", "EXM_ADDRESS": "127.0.0.1", "EXS_PROVIDER": self.btl}
        os.environ.update({name: str(value) for name, value in words.items()})
        try:
            line = [mpirun, "--allow-run-as-root", "-n", 2, "--bind-to", "core", "--mca", "pml", "cm", "--mca", "mtl", "ofi",
                    "--mca", "mtl_ofi_provider_include", "exs", program, self.mode, self.size_bytes, seconds]
            return run_of(json_of(line), self.figure)
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


def rows():
    def over_exs(mode, size, provider, figure):
        return MpiOverExs(f"Open MPI over exs ({provider})", mode, size, provider, figure)

    return [
        Row("64 B one way, one host", "us", ExsMessages("exs", "shm", 64),
            ((Ucx("UCX tag_lat", "tag_lat", 64, RING_TLS), 1.2), (mpi("ping", 64, "vader", MPI_ONE_WAY), 1.2),
             (over_exs("ping", 64, "shm", MPI_ONE_WAY), None))),
        Row("8 B, 64 under way, one host", "messages/s", ExsMessages("exs", "shm", 8, MESSAGES),
            ((Ucx("UCX tag_bw", "tag_bw", 8, RING_TLS, counts_messages=True), 0.8), (mpi("blast", 8, "vader", MESSAGES), None),
             (over_exs("blast", 8, "shm", MESSAGES), None)), True),
        Row("1 MiB, one host", "bytes/s", ExsMessages("exs", "shm", MIB, RATE),
            ((Ucx("UCX tag_bw", "tag_bw", MIB, RING_TLS), 1.0), (mpi("blast", MIB, "vader", RATE), None),
             (over_exs("blast", MIB, "shm", RATE), None)), True),
        Row("64 B one way, TCP", "us", ExsMessages("exs", "iwarp", 64),
            ((Ucx("UCX tag_lat", "tag_lat", 64, TCP_TLS), None), (mpi("ping", 64, "tcp", MPI_ONE_WAY), None),
             (over_exs("ping", 64, "iwarp", MPI_ONE_WAY), None))),
        Row("128 KiB one way, TCP", "us", ExsMessages("exs", "iwarp", 128 * KIB),
            ((mpi("ping", 128 * KIB, "tcp", MPI_ONE_WAY), 1.0), (over_exs("ping", 128 * KIB, "iwarp", MPI_ONE_WAY), None))),
    ]
