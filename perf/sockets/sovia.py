# SPDX-License-Identifier: BSD-2-Clause
"""The counterparts of the experiments of SOVIA: "Sockets layer over VIA", Concurrency and Computation: Practice and Experience, 2003.

Its hosts were Pentium III of 500 MHz with a network (Giganet cLAN); here both ends are on one host. Its figures are here as far as its
text tells them.
"""
from comparison.asking import measure_in_turn
from comparison.charts import Chart, series
from sockets.own import EmptyCall, Served
from sockets.place import LAYER, TCP, UNIX
from sockets.programs import Copy, Ftp
from sockets.sides import Side

KIB = 1 << 10
MBIT = 1e6
SIZES = (1, 4, 16, 64, 256, KIB, 4 * KIB, 16 * KIB, 32 * KIB, 64 * KIB)
FEW_SIZES = (4, KIB, 32 * KIB)
CALL_SIZES, FEW_CALL_SIZES = (0, 4, 16, 64, 256, KIB, 4 * KIB), (0, 64, 4 * KIB)
FILES = (19_090_223, 145_864_380)  # Table I

# Chart, name of the line, x, y; and where the paper says so.
PAPER_POINTS = (
    ("sovia-9a", "paper: TCP on cLAN", 4, 55, "section 5.2"),
    ("sovia-9a", "paper: SOVIA", 4, 10.5, "section 5.2"),
    ("sovia-9a", "paper: SOVIA, blocking", 4, 19.4, "section 5.2"),
    ("sovia-9b", "paper: TCP on cLAN", 32 * KIB, 450, "section 5.2"),
    ("sovia-9b", "paper: SOVIA", 32 * KIB, 814, "section 6, the peak"),
    ("sovia-9b", "paper: SOVIA, blocking", 32 * KIB, 780, "section 5.2, the peak"),
)
# Mbit/s of the two files, Table I.
PAPER_FTP = {"TCP on Fast Ethernet": (90, 90), "TCP on cLAN": (262, 254), "SOVIA on cLAN": (573, 532), "local copy": (611, 538)}
# us of a call without an argument, section 5.4 (Figure 10).
PAPER_CALL_US = {"TCP on Fast Ethernet": 200, "TCP on cLAN": 149, "SOVIA on cLAN": 35}


def lines(load_of, sizes):
    """Combining is TCP's own (Nagle), which is on unless a program sets TCP_NODELAY; Unix sockets have none."""
    return (series("exs", "exs", lambda size: Side(load_of(size, False), LAYER), sizes),
            series("exs, combining", "exs", lambda size: Side(load_of(size, True), LAYER), sizes),
            series("TCP", "peer", lambda size: Side(load_of(size, False), TCP), sizes),
            series("TCP, combining", "peer", lambda size: Side(load_of(size, True), TCP), sizes),
            series("Unix", "limit", lambda size: Side(load_of(size, False), UNIX), sizes))


def charts(is_quick):
    sizes, call_sizes = (FEW_SIZES, FEW_CALL_SIZES) if is_quick else (SIZES, CALL_SIZES)
    return (
        Chart("sovia-9a", "SOVIA's Figure 9(a): one-way time of a message", "size", "us", 1,
              lines(lambda size, combines: Served("echo", "one_way_us", size, combines), sizes)),
        Chart("sovia-9b", "SOVIA's Figure 9(b): throughput of messages one way", "size", "Mbit/s", MBIT,
              lines(lambda size, combines: Served("stream", "bits_per_second", size, combines), sizes)),
        Chart("sovia-10", "SOVIA's Figure 10: a call of an empty remote procedure", "size", "us", 1,
              tuple(series(way.name, kind, lambda size, way=way: Side(EmptyCall(size), way), call_sizes)
                    for way, kind in ((LAYER, "exs"), (TCP, "peer"), (UNIX, "limit")))),
    )


def with_paper(measured):
    """The charts with the paper's points as lines, and without a size of 0, which has no place on a logarithmic axis."""
    drawn = []
    for chart in measured:
        found = [{**line, "points": [point for point in line["points"] if point[0] > 0]} for line in chart["series"]]
        papers = [{"name": name, "kind": "paper", "points": [[x, y, y, y]]} for key, name, x, y, _ in PAPER_POINTS if key == chart["key"]]
        drawn.append({**chart, "series": [line for line in found + papers if line["points"]]})
    return drawn


def ftp_sides(size_bytes):
    return {"exs": Side(Ftp(size_bytes), LAYER), "TCP": Side(Ftp(size_bytes), TCP), "local copy": Side(Copy(size_bytes), TCP)}


def measure_files(sizes, runs, run_side, progress):
    """Runs in bit/s by the names of ftp_sides, for each file; and why others have none."""
    items, skipped = [], []
    for size_bytes in sizes:
        sides = ftp_sides(size_bytes)
        found, missing = measure_in_turn(sides.values(), runs, lambda side: run_side(side).value, progress, f"file of {size_bytes} bytes")
        items.append({"size_bytes": size_bytes, "runs": {name: found[side] for name, side in sides.items() if side in found}})
        skipped += [(f"file of {size_bytes} bytes, {side.name}", why) for side, why in missing.items()]
    return items, skipped
