# SPDX-License-Identifier: BSD-2-Clause
"""Answers questions: every side in turn, several times, so that all meet the same machine; then medians, and their ratio."""
import statistics

from comparison.processes import Failed, Missing


def measure_in_turn(sides, runs, run_side, progress, what):
    """Runs of every side that can be measured, by side; and why others can not, by side. One run of a peer that fails is left out;
    of exs it is not: what fails sometimes has no figure."""
    found, missing = {}, {}
    sides = list(dict.fromkeys(sides))
    for number in range(runs):
        for side in sides:
            progress.step(f"{what}: run {number + 1} of {runs}, {side.name}")
            if isinstance(missing.get(side), Missing):
                continue
            try:
                run = run_side(side)
                found.setdefault(side, []).append(run)
            except (Missing, Failed) as why:
                missing[side] = why
    found = {side: values for side, values in found.items() if side not in missing or not is_exs(side)}
    return found, {side: str(why) for side, why in missing.items() if side not in found}


def is_exs(side):
    return side.name.startswith("exs")


def answers(question, options, progress):
    """One item for each thing that the question compares with."""
    def run_side(side):
        return side.run(options.bin, options.time, options.address).value

    figures, missing = measure_in_turn(question.sides(), options.runs, run_side, progress, question.name)
    if question.measured in missing:
        raise Failed(missing[question.measured])
    for against in question.against:
        yield answer(question, against, figures, missing)


def answer(question, against, figures, missing):
    measured = figures[question.measured]
    median = statistics.median(measured)
    out = {"group": question.group, "question": question.name, "figure": question.measured.figure, "measured": measured,
           "measured_median": median, "bound": against.bound, "goal": against.goal(), "more_is_better": question.more_is_better}
    there = [side for side in against.sides if side in figures]
    if not there:
        return {**out, "against_name": against.sides[0].name, "skipped": missing[against.sides[0]]}
    choose = max if question.more_is_better else min
    best = choose(there, key=lambda side: statistics.median(figures[side]))
    beside = against.times * statistics.median(figures[best])
    if beside == 0:  # the slowest of a crowd on a machine with much else to do
        return {**out, "against_name": against.name_of(best), "skipped": f"its {question.measured.figure} is 0"}
    ratio = median / beside
    return {**out, "against_name": against.name_of(best), "against_median": beside,
            "against": {side.name: [against.times * value for value in figures[side]] for side in there},
            "lacking": {side.name: missing[side] for side in against.sides if side in missing},
            "ratio": float(f"{ratio:.3g}"), "met": against.is_met(ratio), "bound_text": against.bound_text(ratio)}
