# SPDX-License-Identifier: BSD-2-Clause
"""The counterparts of Figures 3 to 12 of the UNH-EXS paper, on the providers iwarp and shm.

Both ends sleep, but for the latencies. Eight messages are under way, of a stream 64: TCP with Nagle, beside which it stands, has as
many as fit its buffers.
"""
from comparison.charts import RECEIVER_CPU, SENDER_CPU, VALUE, Chart, series
from comparison.curves import IMMEDIATE_MAX
from comparison.goals import ASLEEP, KIB, MIB, POLLING, TCP_TLS, blast
from comparison.questions import RATE, SHM_TLS, ping
from comparison.sides import Program
from comparison.ucx import Ucx

SIZES = tuple(4 ** power for power in range(3, 12))  # 64 B to 4 MiB
FEW_SIZES = (64, 4 * KIB, 64 * KIB, MIB)
MBIT = 1e6 / 8
KINDS = ("normal", "immediate", "persistent")
DEPTHS = (1, 2, 4, 8)
# One-way us of 64 bytes in the paper's text, over 10 Gb/s iWARP and InfiniBand.
PAPER_US = {"normal": (33, 33), "immediate": (17, 19), "persistent": (10, 15)}


def exs_line(provider, kind, sizes, name=None, depth=8, shows=VALUE):
    limit = IMMEDIATE_MAX if kind == "immediate" else max(sizes)
    depth = {"transaction": 2, "stream": 64}.get(kind, depth)
    return series(name or (f"exs {kind}, depth 64" if kind == "stream" else f"exs {kind}"), "exs", lambda size: blast(provider, kind, size, depth, *ASLEEP),
                  [size for size in sizes if size <= limit], shows)


def ucx_line(provider, sizes, shows=VALUE):
    tls = TCP_TLS if provider == "iwarp" else SHM_TLS
    return series("UCX tag_bw (polls)", "peer", lambda size: Ucx(f"UCX {provider}", "tag_bw", size, tls), sizes, shows)


def tcp_lines(sizes, shows=VALUE):
    def at(name, *more):
        return lambda size: Program(name, ("tcp-baseline", "--mode", "blast", "--size", str(size), *more), RATE)
    return [series("TCP", "limit", at("TCP"), sizes, shows),
            series("TCP with Nagle", "limit", at("TCP with Nagle", "--nagle"), sizes, shows)]


def throughput(key, title, *lines):
    return Chart(key, title, "size", "Mb/s", MBIT, lines)


def processor(key, title, *lines):
    return Chart(key, title, "size", "% of a core", 1, lines)


def figures(is_quick):
    sizes = FEW_SIZES if is_quick else SIZES
    pair = [throughput(f"figure-{number}", f"Figure {number}: {kind}, iwarp and shm", exs_line("iwarp", kind, sizes, "iwarp"),
                       exs_line("shm", kind, sizes, "shm"), *([ucx_line("shm", sizes)] if kind == "normal" else []))
            for number, kind in ((6, "normal"), (7, "immediate"), (8, "persistent"))]
    beside_tcp = ("normal", "immediate", "stream")
    return [
        throughput("figure-3", "Figure 3: throughput by kind, iwarp", *(exs_line("iwarp", kind, sizes) for kind in KINDS),
                   ucx_line("iwarp", sizes)),
        processor("figure-4", "Figure 4: processor time of the receiver by kind, iwarp",
                  *(exs_line("iwarp", kind, sizes, shows=RECEIVER_CPU) for kind in KINDS), ucx_line("iwarp", sizes, RECEIVER_CPU)),
        throughput("figure-5", "Figure 5: normal, by depth, shm",
                   *(exs_line("shm", "normal", sizes, f"depth {depth}", depth) for depth in DEPTHS), ucx_line("shm", sizes)),
        *pair,
        throughput("figure-9", "Figure 9: persistent against transaction (two buffers), iwarp", exs_line("iwarp", "persistent", sizes),
                   exs_line("iwarp", "transaction", sizes)),
        throughput("figure-11", "Figure 11: exs beside TCP, iwarp", *(exs_line("iwarp", kind, sizes) for kind in beside_tcp),
                   *tcp_lines(sizes)),
        processor("figure-12-sender", "Figure 12: processor time of the sender, iwarp",
                  *(exs_line("iwarp", kind, sizes, shows=SENDER_CPU) for kind in beside_tcp), *tcp_lines(sizes, SENDER_CPU)),
        processor("figure-12-receiver", "Figure 12: processor time of the receiver, iwarp",
                  *(exs_line("iwarp", kind, sizes, shows=RECEIVER_CPU) for kind in beside_tcp), *tcp_lines(sizes, RECEIVER_CPU)),
    ]


def latencies():
    """Figure 10: sides by the names of kind and provider."""
    sides = {(kind, provider): ping(kind, "--size", "64", *POLLING, provider=provider) for kind in KINDS for provider in ("iwarp", "shm")}
    sides["UCX tag_lat", "iwarp"] = Ucx("UCX tcp tag_lat", "tag_lat", 64, TCP_TLS)
    sides["UCX tag_lat", "shm"] = Ucx("UCX shm tag_lat", "tag_lat", 64, SHM_TLS)
    return sides
