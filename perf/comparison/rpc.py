# SPDX-License-Identifier: BSD-2-Clause
"""The counterparts of Figures 2 and 3 of the paper on vRPC: the time of a call by the size of its argument, which is its result as well,
by SunRPC's own libraries, and by stubs that need not be compatible."""
import dataclasses

from comparison.charts import Chart, Series, series
from comparison.peers import RpcPeer
from comparison.questions import PING_64, mapped, rpc, shm_ping, stubs, sunrpc, tirpc
from comparison.sides import Run

KIB, MIB = 1 << 10, 1 << 20
NOTHING = 4  # where a call of nothing stands on an axis of powers of two
SIZES = (NOTHING, 8, 64, 256, 1440, 3072, 16 * KIB, 64 * KIB, 256 * KIB, MIB)
FEW_SIZES = (NOTHING, 3072, MIB)
# Round trips of calls of nothing in the paper's text, on SHRIMP with processors of 60 MHz.
PAPER_US = {"vRPC (paper)": 33, "ShrimpRPC (paper)": 9.5}


@dataclasses.dataclass(frozen=True)
class Known:
    """Of the paper."""

    name: str
    value: float

    def run(self, _binaries, _seconds, _address=None):
        return Run(self.value)


@dataclasses.dataclass(frozen=True)
class Twice:
    """What a measurement gives, times two."""

    measured: object

    @property
    def name(self):
        return self.measured.name

    def run(self, binaries, seconds, address=None):
        done = self.measured.run(binaries, seconds, address)
        return dataclasses.replace(done, value=2 * done.value)


def figures(is_quick):
    sizes = FEW_SIZES if is_quick else SIZES

    def line(name, kind, side_at):
        return series(name, kind, lambda x: side_at(0 if x == NOTHING else x), sizes)

    direct = ("exs-run", "exs-rpc-ping", "--self", "--way", "tcp", "--size")
    lines = [
        line("exs-sunrpc, shm", "exs", lambda size: sunrpc(str(size))),
        line("exs-sunrpc no-copy, shm", "exs", lambda size: rpc("exs-sunrpc no-copy", "sunrpc-no-copy", str(size), "--provider", "shm")),
        line("exs-sunrpc reduced, shm", "exs", lambda size: rpc("exs-sunrpc reduced", "sunrpc-reduced", str(size), "--provider", "shm")),
        line("exs-sunrpc, iwarp", "exs", lambda size: sunrpc(str(size), "iwarp")),
        line("libtirpc by exs-run", "exs", lambda size: dataclasses.replace(rpc("libtirpc by exs-run", "tcp", str(size)),
                                                                           command=(*direct, str(size)))),
        line("libtirpc over TCP", "peer", lambda size: tirpc(str(size))),
        line("libtirpc over a local socket", "peer", lambda size: tirpc(str(size), "unix")),
        line("Cap'n Proto, local socket", "peer", lambda size: RpcPeer("Cap'n Proto", "capnp-ping", size)),
        line("gRPC, local socket", "peer", lambda size: RpcPeer("gRPC", "grpc-ping", size)),
        *(Series(name, "paper", ((NOTHING, Known(name, us)),)) for name, us in PAPER_US.items()),
    ]
    two_ways = dataclasses.replace(shm_ping(*PING_64), name="two one-way times of exs-ping, 64 B")
    more_lines = [
        line("exs-sunrpc, shm", "exs", lambda size: sunrpc(str(size))),
        line("exs-rpc mapped, shm", "exs", lambda size: mapped(str(size))),
        line("exs-rpc, shm", "exs", lambda size: stubs(str(size))),
        line("exs-rpc, iwarp", "exs", lambda size: stubs(str(size), provider="iwarp")),
        Series("two one-way times of exs-ping, 64 B", "limit", ((NOTHING, Twice(two_ways)),)),
        line("Cap'n Proto, local socket", "peer", lambda size: RpcPeer("Cap'n Proto", "capnp-ping", size)),
        Series("ShrimpRPC (paper)", "paper", ((NOTHING, Known("ShrimpRPC (paper)", PAPER_US["ShrimpRPC (paper)"])),)),
    ]
    return [Chart("figure-2", "Figure 2: a remote procedure call, there and back (leftmost: a call of nothing)", "size", "us", 1,
                  tuple(lines)),
            Chart("figure-3", "Figure 3: the same by stubs (leftmost: a call of nothing)", "size", "us", 1, tuple(more_lines))]
