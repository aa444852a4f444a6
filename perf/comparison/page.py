# SPDX-License-Identifier: BSD-2-Clause
"""The report of perf/report as one HTML page, beside its charts in one folder; it needs nothing from elsewhere."""
import html
import subprocess
import sys

from comparison.machine import machine_text
from comparison.paper import PAPER_US

STYLE = ("body { font: 15px/1.5 sans-serif; max-width: 960px; margin: 2em auto; padding: 0 1em; color: #222; background: #fff } "
         "table { border-collapse: collapse } td, th { padding: 2px 12px; text-align: right; border-bottom: 1px solid #ddd } "
         "td:first-child, th:first-child { text-align: left } figure { margin: 2em 0 } img { width: 100%; height: auto }")
LIMITS = ("Both ends are processes of one machine, a core each, so nothing here is limited by a link: iwarp by the kernel's loopback "
          "TCP, shm by memory and caches. Eight messages are under way unless a line says more. Immediate messages end at 32 KiB. "
          "Of the paper only numbers of its text are shown; its machines and networks (10 Gb/s iWARP, InfiniBand) were others.")


def page(report):
    lines = sorted({f"{name}: {why.splitlines()[0]}" for name, why in report["skipped"]})
    skipped = "".join(f"<li>{html.escape(line)}</li>\n" for line in lines)
    return (f"<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>exs: the figures of the UNH-EXS paper</title>"
            f"<style>{STYLE}</style></head><body>\n<h1>The figures of the UNH-EXS paper, here</h1>\n"
            f"<p>{html.escape(machine_text(report))}.</p>\n<p>{LIMITS}</p>\n<p>Medians of {report['runs']} runs of "
            f"{report['run_seconds']:g} s, all lines of a point in turn; bars from the least to the most. Both ends sleep, but in "
            f"Figure 10, where they poll; UCX always polls. <code>{html.escape(report['command'])}</code></p>\n{pictures(report)}"
            f"{'<h2>Not measured</h2><ul>' + skipped + '</ul>' if skipped else ''}</body></html>\n")


def pictures(report):
    """In the order of the paper, then what it does not have."""
    parts = {chart["key"]: picture(chart["key"], chart["title"]) for chart in report["charts"] if chart["series"]}
    parts["figure-10"] = picture("figure-10", "Figure 10: one-way time of 64 bytes by kind") + latency_table(report["latencies"])
    return "".join(parts[key] for key in sorted(parts, key=place_of))


def place_of(key):
    return (int(key.split("-")[1]) if key.startswith("figure-") else sys.maxsize, key)


def picture(key, title):
    return f"<figure><img src='{key}.svg' alt='{html.escape(title)}'></figure>\n"


def latency_table(latencies):
    """Figure 10."""
    found = {(item["kind"], item["provider"]): item for item in latencies}
    rows = []
    for kind in dict.fromkeys(item["kind"] for item in latencies):
        cells = [cell(found.get((kind, provider))) for provider in ("iwarp", "shm")]
        cells += [f"{us} us" for us in PAPER_US.get(kind, ())] or ["", ""]
        rows.append(f"<tr><td>{kind}</td>{''.join(f'<td>{text}</td>' for text in cells)}</tr>")
    return ("<table><tr><th></th><th>iwarp</th><th>shm</th><th>paper, iWARP</th>"
            f"<th>paper, InfiniBand</th></tr>\n{''.join(rows)}</table>\n")


def cell(item):
    return f"{item['median']:.3g} us ({item['least']:.3g} to {item['most']:.3g})" if item else ""


def draw_bars(latencies, path):
    """Figure 10 as bars: each kind here and in the paper, on a logarithmic axis."""
    found = {(item["kind"], item["provider"]): item["median"] for item in latencies}
    names = (("iwarp", "#0b5fa5"), ("shm", "#17a2b8"), ("paper, iWARP", "#999999"), ("paper, InfiniBand", "#cccccc"))
    bars = ", ".join(f"$d using {column}:xtic(1) title '{name}' linecolor rgb '{colour}'" for column, (name, colour) in enumerate(names, 2))
    rows = [[kind, found.get((kind, "iwarp"), "?"), found.get((kind, "shm"), "?"), *PAPER_US[kind]] for kind in PAPER_US]
    script = "\n".join(["set terminal svg size 920,420 font 'sans,13' noenhanced background '#ffffff'",
                        f"set output '{path}'",
                        "set title 'Figure 10: one-way time of 64 bytes by kind, both ends polling'; set ylabel 'us'",
                        "set style data histograms; set style fill solid 0.8 border -1",
                        "set logscale y; set yrange [0.1:*]; set format y '%g'; set datafile missing '?'",
                        "set key outside right top; set grid ytics linetype 1 linecolor rgb '#dddddd'",
                        "$d << END", *(" ".join(map(str, row)) for row in rows), "END",
                        f"plot {bars}", ""])
    subprocess.run(["gnuplot"], input=script, text=True, check=True)
