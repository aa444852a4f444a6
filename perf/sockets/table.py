# SPDX-License-Identifier: BSD-2-Clause
"""The first table: what the layer is held to, a row each."""
import dataclasses
import statistics

from comparison.asking import measure_in_turn
from sockets.own import File, Served, Start
from sockets.place import ASLEEP, LAYER, TCP, UNIX, Way
from sockets.programs import Iperf3, Nginx, Pgbench, RedisGet
from sockets.sides import Side


@dataclasses.dataclass(frozen=True)
class Goal:
    """For the layer: the ratio to TCP, a figure, or how much it adds to the figure without it."""

    ratio_at_least: float = None
    ratio_at_most: float = None
    at_most: float = None
    adds_at_most: float = None
    text: str = ""

    def is_met(self, layer, plain):
        kept = [self.ratio_at_least is None or layer / plain >= self.ratio_at_least,
                self.ratio_at_most is None or layer / plain <= self.ratio_at_most,
                self.at_most is None or layer <= self.at_most,
                self.adds_at_most is None or layer - plain <= self.adds_at_most]
        return all(kept)


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    load: object
    goal: Goal
    layer: Way = LAYER
    has_unix: bool = False

    def sides(self):
        ways = [TCP, *([UNIX] if self.has_unix else []), self.layer]
        return {way.name: Side(self.load, way) for way in ways}


def at_least(ratio):
    return Goal(ratio_at_least=ratio, text=f"at least {ratio} times TCP")


def adds_at_most(value, text):
    return Goal(adds_at_most=value, text=f"at most {text} more")


ECHO = Served("echo", "one_way_us")
ROWS = (
    Row("64 B echo, blocking, one way", ECHO, Goal(at_most=0.9, text="at most 0.9 us"), has_unix=True),
    Row("the same, never looking before a sleep", ECHO, Goal(ratio_at_most=1.1, text="at most 1.1 times TCP"), ASLEEP, has_unix=True),
    Row("iperf3, writes of 128 KiB", Iperf3(128 << 10), at_least(2.0)),
    Row("redis GET, 1 client", RedisGet(1, 1, 30_000), at_least(2.5), has_unix=True),
    Row("redis GET, 50 clients", RedisGet(50, 1, 150_000), at_least(1.5), has_unix=True),
    Row("redis GET, 50 clients, 16 under way", RedisGet(50, 16, 2_000_000), at_least(1.2), has_unix=True),
    Row("nginx, 1 KiB, 16 connections kept", Nginx(16), at_least(1.3)),
    Row("nginx with sendfile, 64 KiB, 16 connections kept", Nginx(16, 64 << 10, True), at_least(1.2)),
    Row("nginx with sendfile, 1 MiB, 16 connections kept", Nginx(16, 1 << 20, True), at_least(1.2)),
    Row("pgbench -S, 1 client", Pgbench(), at_least(1.1), has_unix=True),
    Row("connect, one request, close", Served("requests", "messages_per_second"), at_least(0.97), has_unix=True),
    Row("start of true", Start(), adds_at_most(500, "0.5 ms")),
    Row("read or write of a file", File(), adds_at_most(3, "3 ns")),
)


def measure_rows(rows, runs, run_side, progress):
    """An item for each row, and why there is none for a side, by row and side."""
    items, skipped = [], []
    for row in rows:
        sides = row.sides()
        found, missing = measure_in_turn(sides.values(), runs, lambda side: run_side(side).value, progress, row.name)
        skipped += [(f"{row.name}, {side.name}", why) for side, why in missing.items()]
        values = {name: found[side] for name, side in sides.items() if side in found}
        items.append(item_of(row, values))
    return items, skipped


def item_of(row, values):
    item = {"row": row.name, "figure": row.load.figure, "layer": row.layer.name, "goal": row.goal.text, "runs": values,
            "medians": {name: statistics.median(found) for name, found in values.items()}}
    layer, plain = (item["medians"].get(way.name) for way in (row.layer, TCP))
    if layer is not None and plain is not None:
        item["ratio"] = round(layer / plain, 3)
        item["met"] = row.goal.is_met(layer, plain)
    return item


def failures_of(skipped):
    """Of the layer alone: what is not there is missing at the other sides, too."""
    elsewhere = {why for name, why in skipped if not is_of_layer(name)}
    return [(name, why) for name, why in skipped if is_of_layer(name) and why not in elsewhere]


def is_of_layer(name):
    return any(word.startswith("exs") for word in name.split(", ")[1:])
