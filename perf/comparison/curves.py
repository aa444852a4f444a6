# SPDX-License-Identifier: BSD-2-Clause
"""The charts of perf/compare all: latency, throughput and processor time against size, rate against depth, for shared memory and
for TCP, beside the peers, with the limits of the machine drawn in."""
from comparison.charts import CPU, Chart, series
from comparison.goals import ASLEEP, KIB, LINE, MESSAGES, MIB, MPI_ONE_WAY, NAGLE, POLLING, TCP_TLS, blast, mpi, tcp_blast, tcp_ping
from comparison.peers import Fabric, ZeroMq
from comparison.questions import RATE, SHM_TLS, bare, ping
from comparison.sides import Program
from comparison.ucx import Ucx

SIZES = tuple(4 ** power for power in range(3, 12))  # 64 B to 4 MiB
FEW_SIZES = (64, 4 * KIB, 64 * KIB, MIB)
DEPTHS, FEW_DEPTHS = (1, 2, 4, 8, 16, 32, 64), (1, 8, 64)
IMMEDIATE_MAX = 32 * KIB
CPU_FROM = 4 * KIB  # below, a gigabyte is more messages than bytes


def at(size, provider, kind, wait, *options, **more):
    return ping(kind, "--size", str(size), *wait, *options, provider=provider, **more)


def immediate(sizes):
    return [size for size in sizes if size <= IMMEDIATE_MAX]


def ucx_lines(tests, tls, sizes, **more):
    way = "tcp" if tls == TCP_TLS else "shm"
    return [series(f"UCX {test}", "peer", lambda size, test=test: Ucx(f"UCX {way} {test}", test, size, tls), sizes, **more)
            for test in tests]


def copy_at(size, figure=RATE):
    return bare("plain copy", figure, "--mode", "copy", "--size", str(size), "--buffers", "8")


def latency(provider, sizes):
    lines = [series("exs immediate", "exs", lambda size: at(size, provider, "immediate", POLLING), immediate(sizes)),
             series("exs normal", "exs", lambda size: at(size, provider, "normal", POLLING), sizes)]
    if provider == "shm":
        def read(memory):
            return series(f"exs read, {memory}", "exs",
                          lambda size: at(size, provider, "persistent", POLLING, "--memory", memory, figure="read_us.p50"), sizes)
        lines += [read("plain"), read("alloc"), *ucx_lines(("tag_lat", "ucp_am_lat", "stream_lat", "ucp_get"), SHM_TLS, sizes),
                  series("libfabric", "peer", lambda size: Fabric("libfabric shm", "shm", "rdm", size), sizes),
                  series("Open MPI", "peer", lambda size: mpi("ping", size, "vader", MPI_ONE_WAY), sizes),
                  series("a cache line", "limit", lambda _: LINE, sizes),
                  series("plain copy", "limit", lambda size: copy_at(size, "move_us.p50"), sizes)]
    else:
        lines += [series("exs persistent", "exs", lambda size: at(size, provider, "persistent", POLLING), sizes),
                  *ucx_lines(("tag_lat", "ucp_am_lat", "stream_lat"), TCP_TLS, sizes),
                  series("libfabric", "peer", lambda size: Fabric("libfabric tcp", "tcp", "msg", size), sizes),
                  series("Open MPI", "peer", lambda size: mpi("ping", size, "tcp", MPI_ONE_WAY), sizes),
                  series("plain TCP", "limit", lambda size: tcp_ping(POLLING, size), sizes)]
    return Chart(f"{provider}-latency", f"One way, both ends polling: {provider}", "size", "us", 1, tuple(lines))


def throughput(provider, sizes):
    def line(name, kind, *options, at_sizes=sizes):
        return series(name, "exs", lambda size: blast(provider, kind, size, 8, *options, *POLLING), at_sizes)
    lines = [line("exs immediate", "immediate", at_sizes=immediate(sizes)), line("exs normal, plain", "normal"),
             line("exs stream", "stream")]
    if provider == "shm":
        lines += [line("exs normal, alloc", "normal", "--memory", "alloc"), line("exs read, alloc", "persistent", "--memory", "alloc"),
                  *ucx_lines(("tag_bw", "ucp_am_bw", "stream_bw"), SHM_TLS, sizes),
                  series("Open MPI", "peer", lambda size: mpi("blast", size, "vader", RATE), sizes),
                  series("plain copy", "limit", copy_at, sizes)]
    else:
        lines += [line("exs persistent", "persistent"), *ucx_lines(("tag_bw", "ucp_am_bw", "stream_bw"), TCP_TLS, sizes),
                  series("Open MPI", "peer", lambda size: mpi("blast", size, "tcp", RATE), sizes),
                  series("ZeroMQ, asleep", "peer", lambda size: ZeroMq("ZeroMQ", size, RATE), sizes),
                  series("plain TCP", "limit", lambda size: tcp_blast(POLLING, size), sizes)]
    return Chart(f"{provider}-throughput", f"Throughput, depth 8, both ends polling: {provider}", "size", "GB/s", 1e9, tuple(lines))


def rate(provider, depths):
    tls, way = (SHM_TLS, "shm") if provider == "shm" else (TCP_TLS, "tcp")

    def exs_at(kind):
        return lambda depth: blast(provider, kind, 64, depth, *POLLING, figure=MESSAGES)

    def ucx_at(test):
        return lambda depth: Ucx(f"UCX {way} {test}", test, 64, tls, depth, True)
    lines = [series(f"exs {kind}", "exs", exs_at(kind), depths) for kind in ("immediate", "stream", "normal")]
    lines += [series(f"UCX {test}", "peer", ucx_at(test), depths) for test in ("tag_bw", "ucp_am_bw")]
    if provider != "shm":
        plain = Program("TCP", NAGLE.command[:-1], MESSAGES)
        lines += [series(f"{side.name}, blocking", "limit", lambda _, side=side: side, depths) for side in (NAGLE, plain)]
    return Chart(f"{provider}-rate", f"Messages of 64 bytes against depth, both ends polling: {provider}", "depth",
                 "million messages a second", 1e6, tuple(lines))


def processor_time(provider, sizes):
    sizes = [size for size in sizes if size >= CPU_FROM]

    def line(name, kind, *options):
        return series(name, "exs", lambda size: blast(provider, kind, size, 8, *options, *ASLEEP), sizes, CPU)
    lines = [line("exs normal", "normal"), line("exs stream", "stream")]
    if provider == "shm":
        lines += [line("exs normal, alloc", "normal", "--memory", "alloc"), line("exs read, alloc", "persistent", "--memory", "alloc"),
                  *ucx_lines(("tag_bw", "stream_bw"), SHM_TLS, sizes, shows=CPU), series("plain copy", "limit", copy_at, sizes, CPU)]
    else:
        lines += [line("exs persistent", "persistent"), *ucx_lines(("tag_bw",), TCP_TLS, sizes, shows=CPU),
                  series("ZeroMQ", "peer", lambda size: ZeroMq("ZeroMQ", size, RATE), sizes, CPU),
                  series("plain TCP", "limit", lambda size: tcp_blast(ASLEEP, size), sizes, CPU)]
    return Chart(f"{provider}-cpu", f"Processor time of both ends, asleep where they can (UCX polls): {provider}", "size",
                 "core seconds a gigabyte", 1, tuple(lines))


def curves(is_quick):
    sizes, depths = (FEW_SIZES, FEW_DEPTHS) if is_quick else (SIZES, DEPTHS)
    return [chart for provider in ("shm", "iwarp")
            for chart in (latency(provider, sizes), throughput(provider, sizes), rate(provider, depths), processor_time(provider, sizes))]
