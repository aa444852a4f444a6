# SPDX-License-Identifier: BSD-2-Clause
"""perf/compare all: installs the peers that are missing, measures exs beside each of them, and writes a report.

The folder gets report.json, with the machine, the commit and every run of the goals, report.md, the ratios and goals, and charts.
--from draws the report of such a file again. Ends with status 1 if a measurement of exs itself failed; a peer that cannot be measured is
skipped and counted, and a missed goal is a result.
"""
import argparse
import dataclasses
import json
import pathlib
import shlex
import subprocess
import sys
import time

from comparison import charts, crowd, gnuplot, markdown
from comparison.asking import answers, is_exs
from comparison.curves import curves
from comparison.goals import GOALS
from comparison.machine import ROOT, describe
from comparison.processes import Failed
from comparison.progress import Progress

DEFAULT_OUT = ROOT / "perf/results/compare"


@dataclasses.dataclass(frozen=True)
class Plan:
    """How long it is measured."""

    runs: int
    run_seconds: float
    chart_runs: int
    chart_seconds: float
    crowd_seconds: float


FULL, QUICK = Plan(5, 0.2, 3, 0.08, 0.5), Plan(3, 0.1, 1, 0.05, 0.3)


def parse(words):
    parser = argparse.ArgumentParser(prog="perf/compare all", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--quick", action="store_true", help="few and short runs: some three minutes, for a first look")
    parser.add_argument("--out", type=pathlib.Path, default=DEFAULT_OUT, metavar="FOLDER",
                        help="of the report (default perf/results/compare)")
    parser.add_argument("--from", type=pathlib.Path, dest="source", metavar="JSON", help="measure nothing, draw this report again")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", metavar="FOLDER", help="of the programs")
    parser.add_argument("--runs", type=int, help="of each side, in turn")
    parser.add_argument("--time", type=float, help="seconds a run")
    parser.add_argument("--no-install", action="store_true", help="leave the system's packages alone")
    options = parser.parse_args(words)
    if options.runs is not None and options.runs < 1:
        parser.error("--runs must be 1 or more")
    if not options.source and not (options.bin / "exs-ping").exists():
        raise SystemExit(f"compare: no exs-ping in {options.bin}: build first, or name the folder with --bin")
    return options


def plan_of(options):
    plan = QUICK if options.quick else FULL
    if options.runs:
        plan = dataclasses.replace(plan, runs=options.runs, chart_runs=options.runs)
    times = ("run_seconds", "chart_seconds", "crowd_seconds")
    return dataclasses.replace(plan, **dict.fromkeys(times, options.time)) if options.time else plan


def measure_goals(plan, options, progress, failures):
    asked = argparse.Namespace(bin=options.bin, time=plan.run_seconds, runs=plan.runs, address=None)
    for question in GOALS:
        try:
            yield from answers(question, asked, progress)
        except Failed as why:
            failures.append((f"{question.group}: {question.name}", str(why)))


def steps_of(plan, asked_charts):
    return (plan.runs * sum(len(set(question.sides())) for question in GOALS) +
            plan.chart_runs * sum(map(len, charts.rounds_of(asked_charts).values())) + crowd.steps(plan))


def measure(options, command):
    plan, failures, asked_charts = plan_of(options), [], curves(options.quick)
    report = {"tool": "compare all", "schema": 1, **describe(command), "runs": plan.runs, "run_seconds": plan.run_seconds,
              "chart_runs": plan.chart_runs, "chart_seconds": plan.chart_seconds, "crowd_seconds": plan.crowd_seconds}
    began = time.monotonic()
    progress = Progress(True, steps_of(plan, asked_charts))
    report["goals"] = list(measure_goals(plan, options, progress, failures))
    report["charts"], missing = charts.measure_charts(
        asked_charts, plan.chart_runs, lambda side: side.run(options.bin, plan.chart_seconds), progress)
    failures += [("a line of a chart", why) for side, why in missing.items() if is_exs(side)]
    report["crowd"], crowd_goals = crowd.measure_crowd(plan, options, progress, failures)
    report["goals"] += crowd_goals
    report["charts"] += crowd.crowd_charts(report["crowd"])
    progress.clear()
    report["failures"] = failures
    report["skipped"] = failures + skipped_of(report) + [(side.name, why) for side, why in missing.items() if not is_exs(side)]
    report["seconds"] = round(time.monotonic() - began)
    return report


def skipped_of(report):
    return [pair for item in report["goals"] for pair in
            ([(item["against_name"], item["skipped"])] if "skipped" in item else item["lacking"].items())]


def write(report, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    (folder / "report.md").write_text(markdown.text_of(report))
    if gnuplot.is_there():
        gnuplot.draw(report["charts"], folder)
    else:
        print("compare: there are no charts, as there is no gnuplot; scripts/setup --peers installs it (Debian: gnuplot-nox)",
              file=sys.stderr)


def main(words):
    options = parse(words)
    if options.source:
        report = json.loads(options.source.read_text())
    else:
        if not options.no_install:
            subprocess.run([ROOT / "scripts/setup", "--peers"], check=False)
        report = measure(options, shlex.join(["perf/compare", "all", *words]))
    write(report, options.out)
    print((options.out / "report.md").read_text())
    for name, why in report["failures"]:
        print(f"compare: {name} failed: {why}", file=sys.stderr)
    raise SystemExit(1 if report["failures"] else 0)
