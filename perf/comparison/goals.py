# SPDX-License-Identifier: BSD-2-Clause
"""What exs is held to, beside the best peer or the limit of the machine: a row of the report of `perf/compare all` each."""
from comparison.peers import Fabric, Iperf3, OpenMpi, Qperf, Sockperf, ZeroMq
from comparison.questions import ONE_WAY, RATE, RING_TLS, SHM_TLS, Against, Question, bare, exs, ping, shm_ping
from comparison.sides import Program
from comparison.ucx import Ucx

MESSAGES = "messages_per_second"
TCP_TLS = "tcp,self"
KIB, MIB = 1 << 10, 1 << 20
POLLING, ASLEEP = ("--wait", "busy"), ("--wait", "notify")


def ucx(tests, size, tls, **more):
    way = "tcp" if tls == TCP_TLS else "shm"
    return tuple(Ucx(f"UCX {way} {test}", test, size, tls, **more) for test in tests)


def tcp_ping(wait, size=64):
    name = "TCP, polling" if wait is POLLING else "TCP, blocking"
    return Program(name, ("tcp-baseline", "--mode", "ping", "--size", str(size), *wait), ONE_WAY)


def tcp_blast(wait, size, buffers=1):
    name = "TCP, polling" if wait is POLLING else "TCP, blocking"
    many = () if buffers == 1 else ("--buffers", str(buffers))
    return Program(name + (f", {buffers} buffers" if many else ""), ("tcp-baseline", "--mode", "blast", "--size", str(size), *many, *wait),
                   RATE)


def blast(provider, kind, size, depth, *options, figure=RATE):
    return exs("exs-blast", figure, "--kind", kind, "--size", str(size), "--depth", str(depth), *options, provider=provider)


def mpi(mode, size, btl, figure):
    return OpenMpi(f"Open MPI {btl}", mode, size, btl, figure)


LATENCY_TESTS, RATE_TESTS = ("tag_lat", "ucp_am_lat", "stream_lat"), ("tag_bw", "ucp_am_bw", "stream_bw")
MPI_ONE_WAY = "one_way_us.mean"
LINE = bare("a cache line", ONE_WAY, "--mode", "line")
# The same memory as eight buffers at each end.
COPY = bare("plain copy", RATE, "--mode", "copy", "--size", "1M", "--buffers", "8")
READ_4K = ("--size", "4096", *POLLING, "--memory")
READ = {"kind": "persistent", "figure": "read_us.p50"}
READV = bare("process_vm_readv", "move_us.p50", "--mode", "read", "--size", "4096")
NAGLE = Program("TCP with Nagle", ("tcp-baseline", "--mode", "blast", "--size", "64", "--nagle"), MESSAGES)


def shm_goals():
    def large(size, memory):
        return blast("shm", "normal", size, 8, "--memory", memory, *POLLING)
    yield Question("shm", "64 B one way, immediate, polling", shm_ping("--size", "64", *POLLING),
                   (Against(ucx(LATENCY_TESTS, 64, SHM_TLS), at_most=0.8), Against((LINE,), at_most=4.5),
                    Against((Fabric("libfabric shm", "shm", "rdm", 64),)), Against((mpi("ping", 64, "vader", MPI_ONE_WAY),))))
    yield Question("shm", "64 B messages a second, depth 64, polling",
                   blast("shm", "immediate", 64, 64, *POLLING, figure=MESSAGES),
                   (Against(ucx(RATE_TESTS, 64, SHM_TLS, counts_messages=True), at_least=1.2),
                    Against((Ucx("UCX shm tag_bw, 64 under way", "tag_bw", 64, SHM_TLS, 64, True),)),
                    Against((mpi("blast", 64, "vader", MESSAGES),))))
    yield Question("shm", "4 KiB one way, immediate, polling", shm_ping("--size", "4096", *POLLING),
                   # The others leave the bytes where they came.
                   (Against(ucx(LATENCY_TESTS, 4 * KIB, SHM_TLS), at_most=1.0),
                    Against((Ucx("UCX shm tag_lat, into a buffer", "tag_lat", 4 * KIB, SHM_TLS),))))
    for memory, bound in (("plain", 1.2), ("alloc", 2.0)):
        yield Question("shm", f"64 KiB, depth 8, {memory}, polling", large(64 * KIB, memory),
                       (Against(ucx(RATE_TESTS, 64 * KIB, SHM_TLS), at_least=bound),))
    yield Question("shm", "1 MiB, depth 8, plain, polling", large(MIB, "plain"),
                   (Against(ucx(("tag_bw",), MIB, SHM_TLS), at_least=1.0),
                    Against((Ucx("UCX shm tag_bw, copied twice", "tag_bw", MIB, RING_TLS),)),
                    Against((mpi("blast", MIB, "vader", RATE),)), Against((COPY,))))
    yield Question("shm", "1 MiB, depth 8, alloc, polling", large(MIB, "alloc"), (Against((COPY,), at_least=0.97),))
    yield Question("shm", "read of 4 KiB, persistent, plain, polling", shm_ping(*READ_4K, "plain", **READ),
                   (Against((READV,), at_most=1.1),))
    yield Question("shm", "read of 4 KiB, persistent, alloc, polling", shm_ping(*READ_4K, "alloc", **READ),
                   (Against(ucx(("ucp_get",), 4 * KIB, SHM_TLS), at_most=2.0),))
    yield Question("shm", "64 B one way, immediate, both asleep", shm_ping("--size", "64", *ASLEEP),
                   (Against((tcp_ping(ASLEEP),), at_most=0.8), Against((bare("a futex wake-up", ONE_WAY, "--mode", "futex"),))))


def tcp_goals():
    yield Question("iwarp", "64 B one way, immediate, both asleep", ping("immediate", "--size", "64", *ASLEEP),
                   (Against((tcp_ping(ASLEEP),), at_most=1.05), Against((Sockperf("sockperf, blocking", 64, False),)),
                    Against((Qperf("qperf tcp_lat", 64),))))
    yield Question("iwarp", "64 B one way, immediate, polling", ping("immediate", "--size", "64", *POLLING),
                   (Against((tcp_ping(POLLING),), at_most=1.1), Against(ucx(LATENCY_TESTS, 64, TCP_TLS), at_most=1.0),
                    Against((Sockperf("sockperf, polling", 64, True),)), Against((Fabric("libfabric tcp", "tcp", "msg", 64),)),
                    Against((mpi("ping", 64, "tcp", MPI_ONE_WAY),))))
    yield Question("iwarp", "64 B one way, normal, polling", ping("normal", "--size", "64", *POLLING),
                   (Against((tcp_ping(POLLING),), at_most=1.15, times=3),))
    for size, name in ((MIB, "1 MiB"), (4 * MIB, "4 MiB")):
        for depth in (1, 8, 32):
            yield Question("iwarp", f"{name}, depth {depth}, polling", blast("iwarp", "normal", size, depth, *POLLING),
                           (Against((tcp_blast(POLLING, size),), at_least=1.0),
                            *((Against((tcp_blast(POLLING, size, depth),)),) if depth > 1 else ()),
                            Against(ucx(("tag_bw", "ucp_am_bw"), size, TCP_TLS), at_least=1.0)))
        yield Question("iwarp", f"{name}, depth 8, both asleep", blast("iwarp", "normal", size, 8, *ASLEEP),
                       (Against((tcp_blast(ASLEEP, size),), at_least=1.0), Against((Iperf3("iperf3, 1 MiB", MIB),))))
    # With Nagle a receiver that sleeps is faster than one that polls, and ZeroMQ's threads sleep. So exs is as it is by default.
    yield Question("iwarp", "64 B stream, depth 64, adaptive", blast("iwarp", "stream", 64, 64, figure=MESSAGES),
                   (Against((NAGLE,), at_least=2.0),
                    Against((ZeroMq("ZeroMQ", 64, MESSAGES),), at_least=1.0)))


GOALS = [*shm_goals(), *tcp_goals()]
