# SPDX-License-Identifier: BSD-2-Clause
"""The report of perf/compare all as Markdown, from its JSON."""
from comparison.machine import machine_text
from comparison.words import shown, shown_spread

HEAD = "| | measured | spread | beside | | spread | ratio | goal | |\n|---|--:|--:|---|--:|--:|--:|---|---|\n"


def text_of(report):
    parts = [f"# exs beside its peers\n\n{machine_text(report)}.\n\n`{report['command']}`, {report['seconds'] / 60:.0f} minutes; "
             f"load before it {report['machine']['load_before']:.2f}. Figures are medians of {report['runs']} runs of "
             f"{report['run_seconds']:g} s, the sides of a row in turn, each end pinned to a core. Compare the sides of a row "
             "with each other: rows, and reports of other machines or days, differ by more than the machine's noise.\n"]
    parts.append(goals_text(report["goals"]))
    parts.append(charts_text(report))
    parts.append(skipped_text(report))
    return "\n".join(part for part in parts if part)


def goals_text(goals):
    judged = [item for item in goals if item.get("met") is not None]
    met = sum(item["met"] for item in judged)
    rows = [goal_row(item, goals[at - 1] if at > 0 else None) for at, item in enumerate(goals)]
    return f"## Goals: {met} of {len(judged)} met\n\n{HEAD}{''.join(rows)}"


def goal_row(item, before):
    """What is compared with several things is told once."""
    figure, told = item["figure"], before is not None and all(before[key] == item[key] for key in ("group", "question"))
    name = "" if told else f"{item['group']}: {item['question']}"
    measured = ("", "") if told else (shown(item["measured_median"], figure), shown_spread(item["measured"], figure))
    if "skipped" in item:
        return row(name, *measured, item["against_name"], "", "", "", item["goal"], "skipped")
    said = {True: "met", False: "**missed**", None: ""}[item["met"]]
    return row(name, *measured, item["against_name"], shown(item["against_median"], figure), shown_spread(best_values(item), figure),
               f"{item['ratio']:.2f}", "" if item["bound"] is None else item["goal"], said)


def row(*cells):
    return f"| {' | '.join(cells)} |\n"


def best_values(item):
    return next(values for name, values in item["against"].items() if item["against_name"].endswith(name))


def charts_text(report):
    pictures = [f"![{chart['title']}]({chart['key']}.svg)" for chart in report["charts"] if chart["series"]]
    if not pictures:
        return ""
    return (f"## Charts\n\nMedians of {report['chart_runs']} runs of {report['chart_seconds']:g} s, all lines of a point in turn; bars "
            "from the least to the most. Dashed: the limits of this machine.\n\n" + "\n\n".join(pictures) + "\n")


def skipped_text(report):
    """What was not measured, and why, each once."""
    lines = sorted({f"- {name}: {why.splitlines()[0]}" for name, why in report["skipped"]})
    if not lines:
        return ""
    return f"## Not measured: {len(lines)}\n\n" + "\n".join(lines) + "\n"
