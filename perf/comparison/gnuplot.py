# SPDX-License-Identifier: BSD-2-Clause
"""Charts of a report as SVG, by gnuplot."""
import shutil
import subprocess

from comparison.words import size_text

COLOURS = {"exs": ("#0b5fa5", "#2e8b57", "#6a3d9a", "#17a2b8", "#1f3a5f"),
           "peer": ("#e07b00", "#c0392b", "#b8860b", "#d6618f", "#8c564b", "#808000"),
           "limit": ("#444444", "#999999", "#bbbbbb"),
           "paper": ("#999999", "#444444", "#bbbbbb")}
LOOK = {"exs": "linewidth 2.5 pointtype 7 pointsize 0.6", "peer": "linewidth 1.3 pointtype 5 pointsize 0.5",
        "limit": "linewidth 1.3 dashtype 2 pointtype 1 pointsize 0.3", "paper": "linewidth 1.3 dashtype 2 pointtype 9 pointsize 1.2"}


def is_there():
    return shutil.which("gnuplot") is not None


def draw(charts, folder):
    """KEY.svg of each chart that has a line."""
    for chart in charts:
        if chart["series"]:
            subprocess.run(["gnuplot"], input=script_of(chart, folder / f"{chart['key']}.svg"), text=True, check=True)


def script_of(chart, path):
    blocks = [f"$d{number} << END\n{rows_of(line)}\nEND" for number, line in enumerate(chart["series"])]
    xs = xs_of(chart)
    return "\n".join([f"set terminal svg size 920,520 font 'sans,13' noenhanced background '#ffffff'; set output '{quoted(str(path))}'",
                      f"set title '{quoted(chart['title'])}'; set ylabel '{quoted(chart['y'])}'; set xlabel '{chart['x']}'",
                      f"set logscale x 2; set xrange [{0.9 * xs[0]}:{1.1 * xs[-1]}]; set xtics ({tics_of(chart)}) rotate by -35",
                      y_axis_of(chart),
                      "set key outside right top; set bars 0.4; set grid linetype 1 linecolor rgb '#dddddd'",
                      *blocks, "plot " + ", \\\n  ".join(plots_of(chart)), ""])


def rows_of(line):
    return "\n".join(" ".join(map(str, point)) for point in line["points"])


def xs_of(chart):
    return sorted({point[0] for line in chart["series"] for point in line["points"]})


def tics_of(chart):
    label = size_text if chart["x"] == "size" else str
    return ", ".join(f"'{label(x)}' {x}" for x in xs_of(chart))


def y_axis_of(chart):
    """Percent, of a core at each end, begin at 0."""
    return "set yrange [0:*]" if "%" in chart["y"] else "set logscale y 10; set format y '%g'"


def plots_of(chart):
    taken = dict.fromkeys(COLOURS, 0)
    for number, line in enumerate(chart["series"]):
        kind = line["kind"]
        colour = COLOURS[kind][taken[kind] % len(COLOURS[kind])]
        taken[kind] += 1
        title = f"title '{quoted(line['name'])}'"
        yield f"$d{number} using 1:2:3:4 with yerrorlines {title} linecolor rgb '{colour}' {LOOK[kind]}"


def quoted(text):
    return text.replace("'", "''")
