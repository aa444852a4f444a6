# SPDX-License-Identifier: BSD-2-Clause
"""Programs of others beside UCX: libfabric, sockperf, iperf3, qperf; and ZeroMQ, Open MPI, Cap'n Proto and gRPC through small programs of
ours."""
import dataclasses
import json
import pathlib
import re
import shutil
import subprocess

from comparison.processes import Failed, Missing, end, find, free_port, run_pair, text_of
from comparison.sides import RUN_LIMIT_S, Run, run_of

SOURCES = pathlib.Path(__file__).resolve().parents[1] / "peers"
HOST = "127.0.0.1"


def number_in(pattern, output, program):
    found = re.search(pattern, output)
    if found is None:
        raise Failed(f"{program}: no figure in\n{output}")
    return float(found[1])


@dataclasses.dataclass(frozen=True)
class Fabric:
    """libfabric's fi_pingpong, which polls: half a round trip, the mean of all."""

    name: str
    provider: str
    endpoint: str
    size_bytes: int

    ROUND_TRIPS = 2000  # it waits for its own control messages now and then, so a time does not become a count

    def run(self, _binaries, seconds, _address=None):
        program, port = find("fi_pingpong", "libfabric-bin"), free_port()
        common = [program, "-p", self.provider, "-e", self.endpoint, "-S", self.size_bytes, "-I", self.ROUND_TRIPS]
        return fabric_run(run_pair([*common, "-B", port], [*common, "-P", port, HOST], port, 10 + 10 * seconds))


def fabric_run(output):
    """The columns are bytes, #sent, #ack, total, time, MB/sec, usec/xfer, Mxfers/sec."""
    return Run(number_in(r"(?m)^\d\S*(?:\s+\S+){5}\s+([\d.]+)\s+[\d.]+\s*$", output, "fi_pingpong"))


@dataclasses.dataclass(frozen=True)
class Sockperf:
    """The median one-way time over TCP."""

    name: str
    size_bytes: int
    polls: bool

    def run(self, _binaries, seconds, _address=None):
        program, port = find("sockperf", "sockperf"), free_port()
        common = ["--tcp", "-i", HOST, "-p", port, *(["--nonblocked"] if self.polls else [])]
        # It counts whole seconds, and does not count the first and last of them.
        client = [program, "ping-pong", *common, "-m", self.size_bytes, "-t", max(1, round(seconds))]
        return sockperf_run(run_pair([program, "sr", *common], client, port, 10 + 10 * seconds))


def sockperf_run(output):
    return Run(number_in(r"percentile 50\.000 =\s+([\d.]+)", output, "sockperf"))


@dataclasses.dataclass(frozen=True)
class Iperf3:
    """Throughput over TCP as the receiver counts it; both ends sleep."""

    name: str
    size_bytes: int

    def run(self, _binaries, seconds, _address=None):
        program, port = find("iperf3", "iperf3"), free_port()
        client = [program, "-c", HOST, "-p", port, "-l", self.size_bytes, "-t", max(1, round(seconds)), "-J"]
        return iperf3_run(run_pair([program, "-s", "-1", "-p", port], client, port, 10 + 10 * seconds))


def iperf3_run(output):
    try:
        end = json.loads(output)["end"]
        rate, cpu = end["sum_received"]["bits_per_second"] / 8, end["cpu_utilization_percent"]
    except (ValueError, KeyError) as error:
        raise Failed(f"iperf3: no figure in\n{output}") from error
    sender, receiver = cpu["host_total"], cpu["remote_total"]
    return Run(rate, (sender + receiver) / 100 / (rate / 1e9), receiver, sender)


@dataclasses.dataclass(frozen=True)
class Qperf:
    """The mean one-way time over TCP, both ends asleep."""

    name: str
    size_bytes: int

    def run(self, _binaries, seconds, _address=None):
        program, port = find("qperf", "qperf"), free_port()
        client = [program, "-lp", port, "-t", max(1, round(seconds)), "-m", self.size_bytes, "-uu", HOST, "tcp_lat"]
        return qperf_run(run_pair([program, "-lp", port], client, port, 10 + 10 * seconds))


def qperf_run(output):
    return Run(number_in(r"latency\s+=\s+([\d.]+) ns", output, "qperf") / 1000)


@dataclasses.dataclass(frozen=True)
class ZeroMq:
    """PUSH to PULL over TCP by perf/peers/zeromq-blast.c, compiled when it is first asked for. Both ends sleep."""

    name: str
    size_bytes: int
    figure: str

    def run(self, binaries, seconds, _address=None):
        return run_of(json_of([compiled("zeromq-blast", "libzmq", "libzmq3-dev", binaries), self.size_bytes, seconds]), self.figure)


@dataclasses.dataclass(frozen=True)
class OpenMpi:
    """Ranks of perf/peers/mpi-pair.c over the transport `btl`: vader (shared memory) or tcp. Two are bound to a core each and poll; more
    share what there is."""

    name: str
    mode: str  # ping: half of the mean round trip; blast; bcast and its like: a mean
    size_bytes: int
    btl: str
    figure: str
    ranks: int = 2

    def run(self, binaries, seconds, _address=None):
        return self.run_over(["--mca", "pml", "ob1", "--mca", "btl", f"self,{self.btl}", "--mca", "btl_tcp_if_include", "lo"], binaries, seconds)

    def run_over(self, transport, binaries, seconds):
        mpirun = find("mpirun", "openmpi-bin")
        program = compiled("mpi-pair", "ompi-c", "libopenmpi-dev", binaries)
        places = ["--bind-to", "core"] if self.ranks == 2 else ["--oversubscribe", "--bind-to", "none"]
        line = [mpirun, "--allow-run-as-root", "-n", self.ranks, *places, *transport, program, self.mode, self.size_bytes, seconds]
        return run_of(json_of(line), self.figure)


@dataclasses.dataclass(frozen=True)
class RpcPeer:
    """Calls by perf/peers/PROGRAM.cc over a local socket, compiled with what its interface is compiled to. Both ends sleep."""

    name: str
    program: str
    size_bytes: int

    def run(self, binaries, seconds, _address=None):
        program = compiled_with_interface(self.program, binaries.resolve().parent / "peers")
        return run_of(json_of([program, self.size_bytes, seconds]), "round_trip_us.p50")


@dataclasses.dataclass(frozen=True)
class Interface:
    """How an interface becomes C++."""

    file: str
    compiler: tuple  # {file}, {sources}, {out}
    makes: tuple
    libraries: tuple
    packages: str


INTERFACES = {
    "capnp-ping": Interface("capnp-ping.capnp", ("capnp", "compile", "-oc++:{out}", "--src-prefix={sources}", "{file}"),
                            ("capnp-ping.capnp.c++",), ("capnp-rpc",), "capnproto, libcapnp-dev"),
    "grpc-ping": Interface("grpc-ping.proto", ("protoc", "-I{sources}", "--cpp_out={out}", "--grpc_out={out}",
                                               "--plugin=protoc-gen-grpc={plugin}", "{file}"),
                           ("grpc-ping.pb.cc", "grpc-ping.grpc.pb.cc"), ("grpc++", "protobuf"),
                           "libgrpc++-dev, protobuf-compiler-grpc"),
}


def compiled_with_interface(name, out):
    """The program of SOURCES/NAME.cc, newer than its sources."""
    interface, source, program = INTERFACES[name], SOURCES / f"{name}.cc", out / name
    sources = (source, SOURCES / interface.file, SOURCES / "rpc_pair.h")
    if program.exists() and all(program.stat().st_mtime >= path.stat().st_mtime for path in sources):
        return program
    compiler, plugin = shutil.which("c++") or shutil.which("g++"), shutil.which("grpc_cpp_plugin")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", *interface.libraries], capture_output=True, text=True, check=False)
    is_there = compiler and flags.returncode == 0 and shutil.which(interface.compiler[0])
    if not is_there or (plugin is None and "{plugin}" in " ".join(interface.compiler)):
        raise Missing(f"there is no {interface.libraries[0]}; scripts/setup --peers installs it (Debian: {interface.packages})")
    out.mkdir(exist_ok=True)
    words = {"file": SOURCES / interface.file, "sources": SOURCES, "out": out, "plugin": plugin}
    compile_or_fail([word.format(**words) for word in interface.compiler], interface.file)
    compile_or_fail([compiler, "-O2", "-std=c++17", "-I", out, "-I", SOURCES.parents[1], "-o", program, source,
                     *(out / made for made in interface.makes), *flags.stdout.split()], source.name)
    return program


def compile_or_fail(line, what):
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{what} does not compile\n{done.stderr}")


def json_of(line, limit_s=RUN_LIMIT_S):
    """What a program of ours prints."""
    line = [str(word) for word in line]
    with subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            output, errors = process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired as late:
            end(process)  # mpirun takes its ranks along
            raise Failed(f"{text_of(line)}: hung for {limit_s:g} s") from late
    if process.returncode != 0:
        raise Failed(f"{text_of(line)}: exit {process.returncode}\n{errors}")
    return json.loads(output)


def compiled(name, library, package, binaries, sources=SOURCES):
    """The program of SOURCES/NAME.c, newer than its source."""
    source, program = sources / f"{name}.c", binaries.resolve().parent / "peers" / name
    if program.exists() and program.stat().st_mtime >= source.stat().st_mtime:
        return program
    compiler = shutil.which("cc") or shutil.which("gcc")
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", library], capture_output=True, text=True, check=False)
    if compiler is None or flags.returncode != 0:
        raise Missing(f"there is no {library}; scripts/setup --peers installs it (Debian: {package})")
    program.parent.mkdir(exist_ok=True)
    compile_or_fail([compiler, "-O2", "-Wall", "-Wextra", "-o", program, source, *flags.stdout.split()], source.name)
    return program
