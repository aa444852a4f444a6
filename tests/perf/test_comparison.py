# SPDX-License-Identifier: BSD-2-Clause
"""perf/compare reads what others print, ends what hangs, and reports what it has and what it lacks."""
import dataclasses
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

PERF = pathlib.Path(__file__).resolve().parents[2] / "perf"
sys.path.insert(0, str(PERF))

from comparison import asking, charts, compare_all, crowd, curves, gnuplot, markdown, paper, peers, processes, sides, ucx
from comparison.goals import GOALS
from comparison.progress import Progress
from comparison.questions import QUESTIONS, Against, Question

LIMIT_S = 200


def printed(name):
    """What the peer has printed, on Debian 12."""
    return (pathlib.Path(__file__).with_name("peers") / f"{name}.txt").read_text()


class PeersOutput(unittest.TestCase):
    def test_ucx(self):
        latency, rate = ucx.Ucx("", "tag_lat", 64, ""), ucx.Ucx("", "tag_bw", 4096, "")
        self.assertEqual(ucx.run_of(latency, printed("ucx-latency")).value, 0.165)
        found = ucx.run_of(rate, printed("ucx-rate"))
        self.assertAlmostEqual(found.value / 1e9, 7.63, 2)
        self.assertAlmostEqual(found.cpu_seconds_per_gb, 0.262, 3)  # two cores, all the time
        messages = ucx.run_of(dataclasses.replace(rate, counts_messages=True), printed("ucx-rate"))
        self.assertAlmostEqual(messages.value * 4096 / found.value, 1, 2)

    def test_the_others(self):
        self.assertEqual(peers.fabric_run(printed("fi_pingpong")).value, 0.60)
        self.assertEqual(peers.sockperf_run(printed("sockperf")).value, 4.071)
        self.assertEqual(peers.qperf_run(printed("qperf")).value, 30.995)
        found = peers.iperf3_run(printed("iperf3"))
        self.assertAlmostEqual(found.value / 1e9, 5.123, 3)
        self.assertAlmostEqual(found.cpu_seconds_per_gb, 0.294, 3)

    def test_no_figure_is_a_failed_run(self):
        for read in (peers.fabric_run, peers.sockperf_run, peers.qperf_run, peers.iperf3_run,
                     lambda text: ucx.run_of(ucx.Ucx("", "tag_lat", 64, ""), text)):
            for text in ("", "connection refused\n", "{}"):
                with self.assertRaises(processes.Failed):
                    read(text)


class Compiled(unittest.TestCase):
    """Programs of ours on libraries of others, where those are."""

    def run_side(self, side):
        try:
            return side.run(pathlib.Path(os.environ["EXS_TOOLS"]), 0.05)
        except processes.Missing as why:
            return self.skipTest(str(why))

    def test_zeromq(self):
        found = self.run_side(peers.ZeroMq("", 64, "messages_per_second"))
        self.assertGreater(found.value, 0)
        self.assertGreater(found.cpu_seconds_per_gb, 0)

    @unittest.skipIf(len(processes.CORES) < 2, "a rank needs a core of its own")
    def test_open_mpi(self):
        self.assertGreater(self.run_side(peers.OpenMpi("", "ping", 64, "vader", "one_way_us.mean")).value, 0)
        self.assertGreater(self.run_side(peers.OpenMpi("", "blast", 4096, "tcp", "bytes_per_second")).value, 0)

    def test_what_fails_says_so(self):
        for program, limit_s, said in (("import sys; print('no address', file=sys.stderr); sys.exit(3)", LIMIT_S, "exit 3\nno address"),
                                       ("import time; time.sleep(1000)", 0.5, "hung for 0.5 s")):
            with self.assertRaisesRegex(processes.Failed, said):
                peers.json_of([sys.executable, "-c", program], limit_s)


class Pairs(unittest.TestCase):
    """A pair of processes ends, whatever they do."""

    LISTEN = "import socket, time; s = socket.create_server(('127.0.0.1', {})); {}"
    IGNORE = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); "

    def pair(self, server, client, limit_s=LIMIT_S):
        port = processes.free_port()
        return processes.run_pair([sys.executable, "-c", server.format(port, "time.sleep(1000)")],
                                  [sys.executable, "-c", client.format(port)], port, limit_s)

    def test_the_output_is_the_clients(self):
        self.assertEqual(self.pair(self.LISTEN, "print('done')"), "done\n")

    def test_a_server_that_ignores_signals_ends(self):
        self.assertEqual(self.pair(self.IGNORE + self.LISTEN, "print('done')"), "done\n")

    def test_a_client_that_hangs_is_ended(self):
        with self.assertRaisesRegex(processes.Failed, "hung for 0.5 s"):
            self.pair(self.LISTEN, "import time; time.sleep(1000)", limit_s=0.5)

    def test_what_fails_says_so(self):
        with self.assertRaisesRegex(processes.Failed, "does not listen"):
            self.pair("raise SystemExit(3)", "")
        with self.assertRaisesRegex(processes.Failed, "exit 3"):
            self.pair(self.LISTEN, "raise SystemExit(3)")

    def test_a_program_that_is_not_there_is_missing(self):
        with self.assertRaisesRegex(processes.Missing, "Debian: some-package"):
            processes.find("no-such-program", "some-package")


@dataclasses.dataclass(frozen=True)
class Told:
    """A side with these runs: a figure, or an error."""

    name: str
    runs: tuple
    figure: str = "one_way_us.p50"

    def run(self, _binaries, number, _address=None):
        found = self.runs[min(number[0], len(self.runs) - 1)]
        if isinstance(found, Exception):
            raise found
        return sides.Run(found)


class Answers(unittest.TestCase):
    def answer(self, measured, *against):
        question = Question("group", "a question", measured, against)
        number = [0]
        options = type("Options", (), {"bin": None, "time": number, "address": None, "runs": 3})
        quiet = Progress(False)
        quiet.step = lambda text: number.__setitem__(0, int(text.split("run ")[1].split(" ")[0]) - 1)
        return list(asking.answers(question, options, quiet))

    def test_medians_and_the_best_of_several(self):
        slow, fast = Told("slow", (4.0,)), Told("fast", (2.0, 1.0, 9.0))
        found, legs = self.answer(Told("exs", (5.0, 3.0, 1.0)), Against((slow, fast), at_most=1.6), Against((fast,), times=3, at_most=0.4))
        self.assertEqual((found["measured_median"], found["against_name"], found["against_median"]), (3.0, "fast", 2.0))
        self.assertEqual((found["ratio"], found["met"], found["lacking"]), (1.5, True, {}))
        self.assertEqual((legs["against_name"], legs["ratio"], legs["met"]), ("3 times fast", 0.5, False))

    def test_more_is_better_of_rates(self):
        found, = self.answer(Told("exs", (4.0,), "bytes_per_second"), Against((Told("a", (5.0,)), Told("b", (8.0,))), at_least=0.5))
        self.assertEqual((found["against_name"], found["ratio"], found["met"]), ("b", 0.5, True))

    def test_what_is_missing_is_told(self):
        gone, hung = Told("gone", (processes.Missing("not there"),)), Told("hung", (processes.Failed("hung"),))
        some, none = self.answer(Told("exs", (1.0,)), Against((gone, Told("there", (1.0,)), hung)), Against((gone,), at_most=1))
        self.assertEqual((some["against_name"], some["lacking"]), ("there", {"gone": "not there", "hung": "hung"}))
        self.assertEqual((none["skipped"], none["goal"]), ("not there", "at most 1"))

    def test_one_failed_run_is_left_out(self):
        found, = self.answer(Told("exs", (1.0,)), Against((Told("flaky", (3.0, processes.Failed("once"), 5.0)),)))
        self.assertEqual((found["against"], found["lacking"]), ({"flaky": [3.0, 5.0]}, {}))

    def test_a_failure_of_what_is_measured_is_no_answer(self):
        for runs in ((processes.Failed("broken"),), (1.0, processes.Failed("broken"), 1.0)):
            with self.assertRaisesRegex(processes.Failed, "broken"):
                self.answer(Told("exs", runs), Against((Told("there", (1.0,)),)))


class Reports(unittest.TestCase):
    REPORT = {"machine": {"cpu": "a cpu", "cores": 2, "caches": ["L1 32K of 0"], "virtual": True, "kernel": "6.1", "load_before": 0.1},
              "commit": "abc", "date": "2026-01-01T00:00:00Z", "command": "perf/compare all", "runs": 3, "run_seconds": 0.4, "seconds": 90,
              "chart_runs": 3, "chart_seconds": 0.1, "charts": [],
              "skipped": [("gone", "not there\nmore"), ("gone", "not there")], "failures": []}

    def goal(self, name, **more):
        return {"group": "shm", "question": name, "figure": "one_way_us.p50", "measured": [1.0, 3.0], "measured_median": 2.0, "bound": 1,
                "goal": "at most 1", "against_name": "3 times a peer", "against_median": 4.0, "against": {"a peer": [4.0, 4.5]},
                "ratio": 0.5, "met": True, **more}

    def test_markdown(self):
        skipped = {key: value for key, value in self.goal("c", skipped="not there").items() if key not in ("met", "ratio", "against")}
        goals = [self.goal("a"), self.goal("a", group="iwarp"), self.goal("a", group="iwarp", met=False), skipped]
        text = markdown.text_of({**self.REPORT, "goals": goals})
        self.assertIn("Goals: 2 of 3 met", text)
        self.assertIn("| shm: a | 2 us | 1 to 3 us | 3 times a peer | 4 us | 4 to 4.5 us | 0.50 | at most 1 | met |", text)
        self.assertIn("| iwarp: a | 2 us |", text)
        self.assertRegex(text, r"(?m)^\|  \|  \|  \| 3 times a peer \|.*\| \*\*missed\*\* \|$")
        self.assertIn("| skipped |", text)
        self.assertIn("Not measured: 1\n\n- gone: not there\n", text)

    def test_a_report_is_drawn_again(self):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "source.json")
            source.write_text(json.dumps({**self.REPORT, "goals": [self.goal("a")]}))
            done = subprocess.run([PERF / "compare", "all", "--from", source, "--out", folder], capture_output=True, text=True, check=True)
            self.assertIn("shm: a", done.stdout)
            self.assertEqual(pathlib.Path(folder, "report.md").read_text(), done.stdout.removesuffix("\n"))

    def test_charts_are_drawn(self):
        if not gnuplot.is_there():
            self.skipTest("there is no gnuplot")
        line = {"name": "it's", "kind": "exs", "points": [[64, 1.0, 0.5, 2.0], [4096, 3.0, 3.0, 3.0]]}
        chart = {"key": "one", "title": "A chart's title", "x": "size", "y": "us", "series": [line]}
        with tempfile.TemporaryDirectory() as folder:
            gnuplot.draw([chart, {**chart, "key": "none", "series": []}], pathlib.Path(folder))
            self.assertEqual([path.name for path in pathlib.Path(folder).iterdir()], ["one.svg"])
            text = pathlib.Path(folder, "one.svg").read_text()
        xml.etree.ElementTree.fromstring(text)
        for part in ("it's", "A chart's title", "64 B", "4 KiB"):
            self.assertIn(part, text)
        self.assertNotIn("NaN", text)

    def test_plans(self):
        plan = compare_all.plan_of(compare_all.parse(["--quick", "--runs", "1", "--from", "x"]))
        self.assertEqual((plan.runs, plan.run_seconds), (1, compare_all.QUICK.run_seconds))


class Charts(unittest.TestCase):
    def test_a_side_runs_once_for_all_charts(self):
        side, other, gone = Told("a", (5e9,)), Told("b", (1.0,)), Told("gone", (processes.Missing("not there"),))
        chart = charts.Chart("one", "", "size", "GB/s", 1e9,
                             (charts.series("a", "exs", lambda _: side, (64, 128)), charts.series("gone", "peer", lambda _: gone, (64,)),
                              charts.series("cpu", "exs", lambda _: side, (64,), charts.CPU)))
        both = [chart, dataclasses.replace(chart, key="two", series=(*chart.series, charts.series("b", "exs", lambda _: other, (64,))))]
        runs = []

        def run_side(which):
            runs.append(which)
            return which.run(None, [0])
        found, missing = charts.measure_charts(both, 3, run_side, Progress(False))
        self.assertEqual((runs.count(side), runs.count(other), runs.count(gone)), (6, 3, 1))
        self.assertEqual(found[0]["series"], [{"name": "a", "kind": "exs", "points": [[64, 5.0, 5.0, 5.0], [128, 5.0, 5.0, 5.0]]}])
        self.assertEqual(missing, {gone: "not there"})

    def test_all_charts_can_be_asked_for(self):
        for is_quick in (True, False):
            for found in (curves.curves(is_quick), paper.figures(is_quick)):
                self.assertEqual(len(found), len({chart.key for chart in found}))
                for chart in found:
                    names = [line.name for line in chart.series]
                    self.assertEqual(len(names), len(set(names)), chart.key)
                    self.assertTrue(all(line.sides for line in chart.series), chart.key)


class Crowds(unittest.TestCase):
    def load(self, active, rate, share):
        return {"active": active, "messages_per_second": rate, "least_share": share, "round_trip_us": {"p99": 10.0}}

    def test_goals_and_charts(self):
        found = {side: [[self.load(1, rate, 1.0), self.load(100, rate, 0.4)]] for side, rate in zip(crowd.SIDES, (90e3, 100e3, 2e6))}
        goals = list(crowd.rate_goals(found, 1000, (1, 100)))
        told = {(item["question"], item["against_name"]): (item["ratio"], item["met"]) for item in goals}
        self.assertEqual(told["1 of 1,000 active, both asleep: messages a second", "epoll"], (0.9, True))
        self.assertEqual(told["100 of 1,000 active, both asleep: share of the slowest", "its fair share"], (0.4, False))
        self.assertNotIn(("1 of 1,000 active, both asleep: share of the slowest", "its fair share"), told)
        kept = [{"name": side.name, "threads": 1, "connections": 1000, "runs": runs} for side, runs in found.items()]
        rate, p99 = crowd.crowd_charts(kept)
        self.assertEqual([line["points"] for line in rate["series"]][0], [[1, 90.0, 90.0, 90.0], [100, 90.0, 90.0, 90.0]])
        self.assertEqual([line["name"] for line in p99["series"]], ["exs iwarp", "epoll", "exs shm"])

    def test_without_what_is_measured_there_is_no_goal(self):
        self.assertEqual(list(crowd.rate_goals({crowd.EXS: [[self.load(1, 1.0, 1.0)]]}, 10, (1,))), [])
        self.assertEqual(crowd.crowd_charts([]), [])


class PaperFigures(unittest.TestCase):
    """One command makes all of them; what a peer adds may be missing."""

    def test_all_figures(self):
        if not gnuplot.is_there():
            self.skipTest("there is no gnuplot")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([PERF / "report", "--quick", "--runs", "1", "--time", "0.01", "--no-install", "--out", folder, "--bin",
                            os.environ["EXS_TOOLS"]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT_S, check=True)
            report = json.loads(pathlib.Path(folder, "report.json").read_text())
            page = pathlib.Path(folder, "index.html").read_text()
            pictures = re.findall(r"<img src='([^']+)'", page)
            for name in pictures:
                xml.etree.ElementTree.parse(pathlib.Path(folder, name))
        figures = [name for name in pictures if name.startswith("figure-")]
        self.assertEqual(list(dict.fromkeys(int(re.search(r"\d+", name)[0]) for name in figures)), [*range(3, 13)])
        self.assertEqual([name for name in pictures if name not in figures], ["distance.svg"])
        self.assertNotIn("://", page)
        self.assertEqual({(item["kind"], item["provider"]) for item in report["latencies"] if "UCX" not in item["kind"]},
                         {(kind, provider) for kind in paper.KINDS for provider in ("iwarp", "shm")})
        for chart in report["charts"][:-1]:  # the last one is of perf/distance
            for line in chart["series"]:
                if line["kind"] == "exs":
                    ends_early = "immediate" in line["name"] + chart["title"]
                    self.assertEqual(len(line["points"]), 2 if ends_early else 4, (chart["key"], line["name"]))


class Questions(unittest.TestCase):
    def test_sides_have_names_of_their_own(self):
        for question in [*QUESTIONS, *GOALS]:
            names = [side.name for side in dict.fromkeys(question.sides())]
            self.assertEqual(len(names), len(set(names)), question.name)

    def test_the_kinds_are_compared(self):
        done = subprocess.run([PERF / "compare", "kinds", "--runs", "1", "--time", "0.01", "--json", "--bin", os.environ["EXS_TOOLS"]],
                              capture_output=True, text=True, timeout=LIMIT_S, check=True)
        found = json.loads(done.stdout)["answers"]
        self.assertEqual([item["against_name"] for item in found], ["normal", "immediate"])
        self.assertTrue(all(item["ratio"] > 0 for item in found))


if __name__ == "__main__":
    unittest.main()
