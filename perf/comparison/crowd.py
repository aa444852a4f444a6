# SPDX-License-Identifier: BSD-2-Clause
"""Many connections to one server: exs beside a plain epoll server, by crowd-rate, and the memory of idle ones, by exs-crowd."""
import dataclasses
import json
import resource
import statistics
import subprocess

from comparison.asking import answer, measure_in_turn
from comparison.charts import point_of
from comparison.processes import Failed, text_of
from comparison.questions import Against, Question

CONNECTIONS, SPARE_DESCRIPTORS = 10_000, 200
ACTIVE = (1, 10, 100, 1000)
LIMIT_S = 120
IDLE_BOUND_BYTES = 8 << 10
MESSAGES, P99, SHARE = "messages_per_second", "round_trip_us.p99", "least_share"


@dataclasses.dataclass(frozen=True)
class Crowd:
    """A server with `threads`, and connections to it of which some are active: a run gives a load for each of their numbers."""

    name: str
    options: tuple
    threads: int = 1

    def run(self, binaries, seconds, connections, active):
        return run_json([binaries / "crowd-rate", *self.options, "--threads", self.threads, "--connections", connections,
                         "--active", ",".join(map(str, active)), "--time", seconds, "--json"])["loads"]


EXS, EPOLL = Crowd("exs iwarp", ("--by", "exs")), Crowd("epoll", ("--by", "epoll"))
SIDES = (EXS, EPOLL, Crowd("exs shm", ("--by", "exs", "--provider", "shm")))
TWO_THREADS = tuple(dataclasses.replace(side, name=f"{side.name}, two threads", threads=2) for side in SIDES)


@dataclasses.dataclass(frozen=True)
class Figure:
    """Stands for a side whose runs are already there, or for a constant."""

    name: str
    figure: str


def run_json(line):
    line = [str(word) for word in line]
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{text_of(line)}: hung for {LIMIT_S} s") from late
    try:
        return json.loads(done.stdout)
    except ValueError as error:  # exs-crowd says by its status that a bound of its own is missed
        raise Failed(f"{text_of(line)}: exit {done.returncode}\n{done.stderr}") from error


def connections_here(is_quick):
    """As many as there may be descriptors for."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    wanted = CONNECTIONS // 10 if is_quick else CONNECTIONS
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard - SPARE_DESCRIPTORS)


def measure_crowd(plan, options, progress, failures):
    """What a report keeps, and its goals."""
    connections = connections_here(options.quick)
    active = [number for number in ACTIVE if number <= connections]
    what = f"{connections} connections"

    def run_side(side):
        return side.run(options.bin, plan.crowd_seconds, connections, active if side.threads == 1 else active[-1:])
    found, missing = measure_in_turn((*SIDES, *TWO_THREADS), plan.runs, run_side, progress, what)
    failures += [(side.name, why) for side, why in missing.items()]
    kept = [{"name": side.name, "threads": side.threads, "connections": connections, "runs": runs} for side, runs in found.items()]
    goals = [*rate_goals(found, connections, active), *memory_goals(options, plan.runs, connections, progress, failures)]
    return kept, goals


def steps(plan):
    return plan.runs * (len(SIDES) + len(TWO_THREADS) + 2)


def value_of(load, figure):
    for key in figure.split("."):
        load = load[key]
    return load


def goal(name, figure, measured, *against):
    """`measured`: values; `against`: (name, values, bounds) of each."""
    exs = Figure("exs", figure)
    sides = [(Figure(other, figure), values, bounds) for other, values, bounds in against]
    figures = {exs: measured, **{side: values for side, values, _ in sides}}
    asked = Question("crowd", name, exs, tuple(Against((side,), **bounds) for side, _, bounds in sides))
    return [answer(asked, one, figures, {}) for one in asked.against]


def values(runs, figure, active):
    return [value_of(load, figure) for loads in runs for load in loads if load["active"] == active]


def rate_goals(found, connections, active):
    if EXS in found and EPOLL in found:
        for number in active:
            def both(figure, number=number):
                return [values(found[side], figure, number) for side in (EXS, EPOLL)]
            yield from goals_of(f"{number:,} of {connections:,} active, both asleep", both, number)
    for one, two in zip(SIDES, TWO_THREADS):
        if one in found and two in found:
            alone, together = (values(found[side], MESSAGES, active[-1]) for side in (one, two))
            yield from goal(f"{active[-1]:,} of {connections:,} active, {one.name}, a server of two threads: messages a second", MESSAGES,
                            together, ("one thread", alone, {}))


def goals_of(name, both, active):
    """`both`: a figure's values of exs and of epoll."""
    (exs, epoll), (exs_us, epoll_us), (exs_share, epoll_share) = (both(figure) for figure in (MESSAGES, P99, SHARE))
    yield from goal(f"{name}: messages a second", MESSAGES, exs, ("epoll", epoll, {"at_least": 0.9}))
    yield from goal(f"{name}: p99 of round trips", P99, exs_us, ("epoll", epoll_us, {}))
    if active > 1:
        yield from goal(f"{name}: share of the slowest", SHARE, exs_share, ("its fair share", [1.0], {"at_least": 0.5}),
                        ("epoll", epoll_share, {}))


def memory_goals(options, runs, connections, progress, failures):
    for provider in ("iwarp", "shm"):
        def run_side(_, provider=provider):
            line = [options.bin / "exs-crowd", "--provider", provider, "--connections", connections, "--pairs", 1, "--rounds", 1, "--json"]
            return run_json(line)["resident_bytes_per_connection"]
        side = Figure(f"exs, memory over {provider}", "resident_bytes")
        found, missing = measure_in_turn([side], runs, run_side, progress, f"memory of {connections} connections")
        failures += [(side.name, why) for why in missing.values()]
        if side in found:
            yield from goal(f"memory of an idle connection, {provider}", side.figure, found[side],
                            ("8 KiB", [IDLE_BOUND_BYTES], {"at_most": 1.0}))


def crowd_charts(kept):
    """Of the servers with one thread."""
    lines = [crowd for crowd in kept if crowd["threads"] == 1]
    if not lines:
        return []
    total = f"by active ones of {lines[0]['connections']:,} connections, both ends asleep"

    def chart(key, title, y, figure, unit):
        return {"key": key, "title": f"{title} {total}", "x": "active", "y": y,
                "series": [{"name": crowd["name"], "kind": "exs" if "exs" in crowd["name"] else "limit",
                            "points": points(crowd["runs"], figure, unit)} for crowd in lines]}
    return [chart("crowd-rate", "Messages there and back", "thousand messages a second", MESSAGES, 1e3),
            chart("crowd-p99", "p99 of round trips", "us", P99, 1)]


def points(runs, figure, unit):
    by_active = {}
    for loads in runs:
        for load in loads:
            by_active.setdefault(load["active"], []).append(value_of(load, figure) / unit)
    return [point_of(active, values) for active, values in sorted(by_active.items())]
