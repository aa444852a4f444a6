# SPDX-License-Identifier: BSD-2-Clause
"""The report as Markdown, from its JSON."""
import statistics

from comparison.machine import machine_text
from comparison.words import shown, shown_spread, size_text
from sockets import sovia

METHOD = """Medians, and from the least to the most, of runs with the sides of a row in turn: the same command over TCP, over Unix sockets,
and over TCP with the layer preloaded into both ends (exs). No process is bound to a core. Compare the sides of a row with each other:
rows, and reports of other machines or days, differ by more than the machine's noise."""

DISTURBED_PERCENT = 10


def text_of(report):
    judged = [item for item in report["rows"] if "met" in item]
    parts = [f"# Unmodified programs with the sockets layer, and without it\n\n{machine_text(report)}.\n\n`{report['command']}`, "
             f"{report['seconds'] / 60:.1f} minutes; load before it {report['machine']['load_before']:.2f}; "
             f"{others_text(report['others_percent'])}.\n\n{METHOD}\n",
             f"## Goals: {sum(item['met'] for item in judged)} of {len(judged)} met\n\n{rows_text(report)}", sovia_text(report),
             skipped_text(report)]
    return "\n".join(part for part in parts if part)


def others_text(percent):
    disturbed = ": **disturbed, not for comparison**" if percent > DISTURBED_PERCENT else ""
    return f"other programs took {percent:.0f} % of a core meanwhile{disturbed}"


def row(*cells):
    return f"| {' | '.join(cells)} |\n"


def rows_text(report):
    head = row("", "TCP", "Unix", "exs", "exs to TCP", "goal", "") + "|---|--:|--:|--:|--:|---|---|\n"
    about = f"\n{report['runs']} runs of {report['run_seconds']:g} s; what counts whole seconds runs for one.\n"
    return head + "".join(row_text(item) for item in report["rows"]) + about


def row_text(item):
    cells = [spread_text(item["runs"].get(name), item["figure"]) for name in ("TCP", "Unix", item["layer"])]
    said = {True: "met", False: "**missed**", None: "not measured"}[item.get("met")]
    return row(item["row"], *cells, f"{item['ratio']:.3g}" if "ratio" in item else "", item["goal"], said)


def spread_text(values, figure):
    return f"{shown(statistics.median(values), figure)} ({shown_spread(values, figure)})" if values else ""


def sovia_text(report):
    if not report["charts"] and not report["files"]:
        return ""
    about = (f"## The experiments of SOVIA\n\nMedians of {report['chart_runs']} runs of {report['chart_seconds']:g} s. Combining is TCP's "
             "own (Nagle); without it TCP_NODELAY is set at both ends. The paper's hosts were of 2003 and joined by a network, so its figures "
             "tell a relation, SOVIA to TCP, and no speed.\n\n")
    return about + "\n".join([*(chart_text(chart) for chart in report["charts"] if chart["series"]), files_text(report)])


def chart_text(chart):
    lines = chart["series"]
    sizes = sorted({point[0] for line in lines for point in line["points"]})
    median_at = [{point[0]: point[1] for point in line["points"]} for line in lines]
    rows = [row("no argument" if size == 0 else size_text(size), *(f"{found[size]:.4g}" if size in found else "" for found in median_at))
            for size in sizes]
    head = row(chart["y"], *(line["name"] for line in lines)) + "|--:|" + "--:|" * len(lines) + "\n"
    return f"### {chart['title']}\n\n![{chart['title']}]({chart['key']}.svg)\n\n{head}{''.join(rows)}\n{paper_text(chart['key'])}"


def paper_text(key):
    if key == "sovia-10":
        told = ", ".join(f"{name} {value} us" for name, value in sovia.PAPER_CALL_US.items())
        return f"The paper, without an argument (section 5.4, Figure 10): {told}.\n"
    unit = "us" if key == "sovia-9a" else "Mbit/s"
    points = [f"{name.removeprefix('paper: ')} {value:g} {unit} at {size_text(x)} ({source})"
              for chart, name, x, value, source in sovia.PAPER_POINTS if chart == key]
    return f"The paper: {'; '.join(points)}.\n"


def files_text(report):
    if not report["files"]:
        return ""
    sizes = [item["size_bytes"] for item in report["files"]]
    names = list(dict.fromkeys(name for item in report["files"] for name in item["runs"]))
    head = row("Mbit/s", *(f"{size_bytes:,} bytes" for size_bytes in sizes)) + "|---|" + "--:|" * len(sizes) + "\n"
    here = "".join(row(name, *(file_text(item["runs"].get(name)) for item in report["files"])) for name in names)
    paper = "".join(row(f"paper: {name}", *(str(values[sovia.FILES.index(size_bytes)]) for size_bytes in sizes))
                    for name, values in sovia.PAPER_FTP.items())
    return f"### SOVIA's Table I: a file by FTP, from memory to memory\n\n{head}{here}{paper}"


def file_text(values):
    if not values:
        return ""
    least, median, most = (f"{value / sovia.MBIT:.0f}" for value in (min(values), statistics.median(values), max(values)))
    return f"{median} ({least} to {most})"


def skipped_text(report):
    lines = sorted({f"- {name}: {why.splitlines()[0]}" for name, why in report["skipped"]})
    return f"## Not measured: {len(lines)}\n\n" + "\n".join(lines) + "\n" if lines else ""
