# SPDX-License-Identifier: BSD-2-Clause
"""Charts: what they show, measuring that, and what of it a report keeps."""
import dataclasses
import statistics

from comparison.asking import measure_in_turn

VALUE, CPU, RECEIVER_CPU, SENDER_CPU = "value", "cpu_seconds_per_gb", "receiver_cpu_percent", "sender_cpu_percent"


@dataclasses.dataclass(frozen=True)
class Series:
    """A line: a side for each x. `kind` is exs, peer, limit or paper, and chooses the look."""

    name: str
    kind: str
    sides: tuple  # of pairs: x, side
    shows: str = VALUE  # of a Run


@dataclasses.dataclass(frozen=True)
class Chart:
    key: str  # and the file's name
    title: str
    x: str  # size or depth
    y: str  # the axis, with its unit
    unit: float  # values are divided by it
    series: tuple


def series(name, kind, side_at, xs, shows=VALUE):
    return Series(name, kind, tuple((x, side_at(x)) for x in xs), shows)


def rounds_of(charts):
    """The sides of all charts by x: those of one x meet the same machine, and one that is in several charts runs once."""
    rounds = {}
    for chart in charts:
        for line in chart.series:
            for x, side in line.sides:
                rounds.setdefault((chart.x, x), {})[side] = None
    return {key: list(sides) for key, sides in sorted(rounds.items())}


def measure_charts(charts, runs, run_side, progress):
    """What a report keeps: each chart with points [x, median, least, most] of its series; and what is missing, by side."""
    found, missing = {}, {}
    for (what, x), sides in rounds_of(charts).items():
        runs_of, why = measure_in_turn(sides, runs, run_side, progress, f"charts, {what} {x}")
        found.update(runs_of)
        missing.update(why)
    return [kept(chart, found) for chart in charts], missing


def kept(chart, found):
    lines = [{"name": line.name, "kind": line.kind, "points": points_of(line, chart.unit, found)} for line in chart.series]
    return {"key": chart.key, "title": chart.title, "x": chart.x, "y": chart.y, "series": [line for line in lines if line["points"]]}


def points_of(line, unit, found):
    points = []
    for x, side in line.sides:
        values = [getattr(run, line.shows) for run in found.get(side, ())]
        values = [value / unit for value in values if value is not None]
        if values:
            points.append(point_of(x, values))
    return points


def point_of(x, values):
    return [x, *(float(f"{value:.4g}") for value in (statistics.median(values), min(values), max(values)))]
