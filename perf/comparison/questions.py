# SPDX-License-Identifier: BSD-2-Clause
"""What perf/compare asks: a program measured, and what it is compared with, with a bound or for information."""
import dataclasses

from comparison.peers import RpcPeer
from comparison.sides import DEVICE_ADDRESS, Program
from comparison.ucx import Ucx

ONE_WAY = "one_way_us.p50"
RATE = "bytes_per_second"


@dataclasses.dataclass(frozen=True)
class Against:
    """What a question compares with: several sides stand for the best of them, and `times` of it in a row. No bound: the ratio
    is just told."""

    sides: tuple
    at_least: float = None
    at_most: float = None
    times: float = 1

    @property
    def bound(self):
        return self.at_least if self.at_least is not None else self.at_most

    def is_met(self, ratio):
        return None if self.bound is None else ratio >= self.bound if self.at_least is not None else ratio <= self.bound

    def goal(self):
        return "none" if self.bound is None else f"{'at least' if self.at_least is not None else 'at most'} {self.bound}"

    def bound_text(self, ratio):
        return self.goal() if self.bound is None else f"{self.goal()}: {'met' if self.is_met(ratio) else 'missed'}"

    def name_of(self, side):
        return side.name if self.times == 1 else f"{self.times} times {side.name}"


@dataclasses.dataclass(frozen=True)
class Question:
    group: str
    name: str
    measured: Program
    against: tuple

    @property
    def more_is_better(self):
        return "per_second" in self.measured.figure or "share" in self.measured.figure

    def sides(self):
        return [self.measured, *(side for against in self.against for side in against.sides)]


def exs(program, figure, *options, provider="iwarp"):
    return Program("exs", (program, "--self", "--provider", provider, *options), figure)


def ping(kind, *options, figure=ONE_WAY, **more):
    return exs("exs-ping", figure, "--kind", kind, *options, **more)


def shm_ping(*options, kind="immediate", **more):
    return ping(kind, *options, provider="shm", **more)


def tcp(figure, *options):
    return Program("TCP", ("tcp-baseline", *options), figure)


def bare(name, figure, *options):
    return Program(name, ("shm-baseline", *options), figure)


def on_device(program, figure, *options):
    return exs(program, figure, "--bind", DEVICE_ADDRESS, "--wait", "notify", *options, provider="verbs")


def bare_device(name, figure, mode):
    return Program(name, ("verbs-baseline", "--bind", DEVICE_ADDRESS, "--mode", mode), figure)


def rpc(name, way, size, *options):
    return Program(name, ("exs-rpc-ping", "--self", "--way", way, "--size", size, *options), "round_trip_us.p50")


def sunrpc(size, provider="shm"):
    return rpc("exs-sunrpc", "sunrpc", size, "--provider", provider)


def stubs(size, *options, figure="round_trip_us.p50", provider="shm"):
    return dataclasses.replace(rpc("exs-rpc", "stubs", size, "--provider", provider, *options), figure=figure)


def mapped(size, *options, figure="round_trip_us.p50"):
    return dataclasses.replace(rpc("exs-rpc mapped", "mapped", size, "--provider", "shm", *options), figure=figure)


def tirpc(size, way="tcp"):
    return rpc({"tcp": "libtirpc over TCP", "unix": "libtirpc over a local socket"}[way], way, size)


def asleep(side):
    return dataclasses.replace(side, command=(*side.command, "--pause", "2000", "--warm-up", "20"))


def rpc_peers(size_bytes):
    return (Against((RpcPeer("Cap'n Proto, local socket", "capnp-ping", size_bytes),)),
            Against((RpcPeer("gRPC, local socket", "grpc-ping", size_bytes),)))


STREAM = ("--kind", "stream", "--size", "64", "--depth", "64")
BLAST_1M = ("exs-blast", RATE, "--kind", "normal", "--size", "1M", "--depth", "8")
SHM_BLAST_1M = (*BLAST_1M, "--memory")
PING_64 = ("--size", "64")
BUSY_64 = (*PING_64, "--wait", "busy")
READ_4K = ("--size", "4K", "--memory")
READ = {"kind": "persistent", "figure": "read_us.p50"}
SHM_TLS, RING_TLS = "posix,cma,self", "posix,self"
READV_4K = bare("process_vm_readv", "move_us.p50", "--mode", "read", "--size", "4K")

QUESTIONS = [
    Question("tcp", "throughput, normal, 1 MiB, depth 8", exs(*BLAST_1M),
             (Against((tcp(RATE, "--mode", "blast", "--size", "1M"),), at_least=0.85),)),
    Question("tcp", "one way, immediate, 64 B, both polling", ping("immediate", *BUSY_64),
             (Against((tcp(ONE_WAY, "--mode", "ping", *BUSY_64),), at_most=1.3),)),
    Question("tcp", "one way, immediate, 64 B, both sleeping", ping("immediate", *PING_64, "--wait", "notify"),
             (Against((tcp(ONE_WAY, "--mode", "ping", *PING_64, "--wait", "notify"),), at_most=1.3),)),
    Question("kinds", "one way, 64 B, immediate", ping("immediate", *PING_64),
             (Against((dataclasses.replace(ping("normal", *PING_64), name="normal"),), at_most=0.6),)),
    Question("kinds", "one way, 64 B, persistent", ping("persistent", *PING_64),
             (Against((dataclasses.replace(ping("immediate", *PING_64), name="immediate"),), at_most=1.0),)),
    Question("tcp", "stream of 64 B sends, depth 64", exs("exs-blast", "messages_per_second", *STREAM),
             (Against((Program("TCP with Nagle", ("tcp-baseline", "--mode", "blast", "--size", "64", "--nagle"),
                               "messages_per_second"),), at_least=1.5),
              Against((dataclasses.replace(exs("exs-blast", "messages_per_second", *STREAM, "--nodelay"), name="--nodelay"),),
                      at_least=5))),
    Question("shm", "one way, immediate, 64 B, both polling", shm_ping(*BUSY_64),
             (Against(tuple(Ucx(f"UCX {test}", test, 64, SHM_TLS) for test in ("tag_lat", "ucp_am_lat", "stream_lat")),
                      at_most=2.0),
              Against((bare("a cache line", ONE_WAY, "--mode", "line"),)))),
    Question("shm", "throughput, normal, 1 MiB, depth 8, plain", exs(*SHM_BLAST_1M, "plain", provider="shm"),
             (Against((Ucx("UCX tag_bw", "tag_bw", 1 << 20, SHM_TLS),), at_least=1.0),
              Against((Ucx("UCX tag_bw, copied twice", "tag_bw", 1 << 20, RING_TLS),)))),
    Question("shm", "throughput, normal, 1 MiB, depth 8, alloc", exs(*SHM_BLAST_1M, "alloc", provider="shm"),
             (Against((Ucx("UCX stream_bw", "stream_bw", 1 << 20, SHM_TLS),), at_least=1.0),
              Against((bare("memcpy", RATE, "--mode", "copy", "--size", "1M", "--buffers", "8"),), at_least=0.9))),
    Question("shm", "read of 4 KiB, persistent, plain", shm_ping(*READ_4K, "plain", **READ),
             (Against((READV_4K,), at_most=1.3),)),
    Question("shm", "read of 4 KiB, persistent, alloc", shm_ping(*READ_4K, "alloc", **READ),
             (Against((READV_4K,), at_most=0.25),)),
    Question("shm", "one way, immediate, 64 B, both sleeping", shm_ping(*PING_64, "--wait", "notify"),
             (Against((bare("a futex wake-up", ONE_WAY, "--mode", "futex"),), at_most=1.2),)),
    Question("shm", "one way, immediate, 64 B, adaptive", shm_ping(*PING_64, "--wait", "adaptive"),
             (Against((dataclasses.replace(shm_ping(*BUSY_64), name="both polling"),), at_most=1.5),)),
    Question("verbs", "one way, immediate, 64 B, both sleeping", on_device("exs-ping", ONE_WAY, "--kind", "immediate", *PING_64),
             (Against((bare_device("SEND and RECV", ONE_WAY, "ping"),), at_most=1.2),)),
    Question("verbs", "throughput, normal, 1 MiB, depth 8, both sleeping", on_device(*BLAST_1M),
             (Against((bare_device("READs", RATE, "read"),), at_least=0.9),)),
    Question("rpc", "call of nothing, shm", sunrpc("0"),
             (Against((tirpc("0"),), at_most=0.125), Against((tirpc("0", "unix"),)),
              Against((dataclasses.replace(shm_ping(*PING_64), name="one-way times of exs-ping"),), times=2), *rpc_peers(0))),
    Question("rpc", "call with 3 KiB there and back, shm", sunrpc("3072"),
             (Against((tirpc("3072"),), at_most=0.167), Against((tirpc("3072", "unix"),)), *rpc_peers(3072))),
    Question("rpc", "call with 64 KiB there and back, shm", sunrpc("64K"),
             (Against((tirpc("64K"),)), Against((tirpc("64K", "unix"),)), *rpc_peers(64 << 10))),
    Question("rpc", "call with 1 MiB there and back, shm", sunrpc("1M"),
             (Against((tirpc("1M"),), at_most=0.5), Against((tirpc("1M", "unix"),)), *rpc_peers(1 << 20))),
    Question("rpc", "call of nothing, iwarp", sunrpc("0", "iwarp"), (Against((tirpc("0"),), at_most=0.5),)),
    Question("rpc", "call of nothing by a stub, shm", stubs("0"),
             (Against((dataclasses.replace(shm_ping(*PING_64), name="one-way times of exs-ping"),), at_most=1.1, times=2),
              Against((sunrpc("0"),)), *(dataclasses.replace(peer, at_most=bound)
                                         for peer, bound in zip(rpc_peers(0), (0.1, 0.02))))),
    Question("rpc", "call with 3 KiB there and back by a stub, shm", stubs("3072"), (Against((sunrpc("3072"),)),)),
    Question("rpc", "call with 1 MiB there and back by a stub, shm", stubs("1M"), (Against((sunrpc("1M"),)),)),
    Question("rpc", "call of nothing by a stub, iwarp", stubs("0", provider="iwarp"), (Against((sunrpc("0", "iwarp"),)),)),
    Question("rpc", "calls of nothing by stubs, 8 under way, shm", stubs("0", "--under-way", "8", figure="calls_per_second"),
             (Against((dataclasses.replace(stubs("0", figure="calls_per_second"), name="one at a time"),)),)),
    Question("rpc", "call of nothing by a window, shm", mapped("0"),
             (Against((dataclasses.replace(bare("a cache line", ONE_WAY, "--mode", "line"), name="hand-overs of a cache line"),), times=2),
              Against((stubs("0"),)), Against((sunrpc("0"),), at_most=0.34))),
    Question("rpc", "calls of nothing by a window, 8 under way, shm", mapped("0", "--under-way", "8", figure="calls_per_second"),
             (Against((dataclasses.replace(stubs("0", "--under-way", "8", figure="calls_per_second"), name="by messages"),)),)),
    Question("rpc", "call with 3 KiB there and back by a window, shm", mapped("3072"), (Against((stubs("3072"),)),)),
    Question("rpc", "call of nothing, shm, both asleep before", asleep(sunrpc("0")), (Against((asleep(tirpc("0")),), at_most=1.1),)),
]
GROUPS = list(dict.fromkeys(question.group for question in QUESTIONS))
