# SPDX-License-Identifier: BSD-2-Clause
"""perf/sockets/run reads what others print, judges, and reports what it has and what it lacks."""
import json
import os
import pathlib
import select
import subprocess
import sys
import tempfile
import unittest

PERF = pathlib.Path(__file__).resolve().parents[2] / "perf"
sys.path.insert(0, str(PERF))

from comparison import processes
from sockets import markdown, own, place, programs, sovia, table

BINARIES = pathlib.Path(os.environ["EXS_TOOLS"])
LIBRARY = BINARIES.parent / "lib/libexs_sockets.so"
LIMIT_S = 200


class Output(unittest.TestCase):
    def test_redis(self):
        self.assertEqual(programs.redis_rate('"test","rps","avg_latency_ms"\n"GET","169491.53","0.005"\n'), 169491.53)

    def test_wrk(self):
        self.assertEqual(programs.wrk_rate("  5 requests in 1s\nRequests/sec:  99123.40\n"), 99123.4)

    def test_no_figure_is_a_failed_run(self):
        for read, text in ((programs.redis_rate, "Could not connect\n"), (programs.wrk_rate, ""),
                           (programs.wrk_rate, "  Socket errors: connect 0, read 1, write 0, timeout 0\nRequests/sec: 10.0\n")):
            with self.assertRaises(processes.Failed):
                read(text)


class Judgement(unittest.TestCase):
    def test_goals(self):
        self.assertTrue(table.at_least(2.0).is_met(40, 20))
        self.assertFalse(table.at_least(2.0).is_met(39, 20))
        self.assertTrue(table.adds_at_most(3, "").is_met(103, 100))
        self.assertFalse(table.adds_at_most(3, "").is_met(104, 100))
        self.assertFalse(table.Goal(at_most=0.9).is_met(1.0, 20))
        self.assertFalse(table.Goal(ratio_at_most=1.1).is_met(12, 10))

    def test_what_the_layer_alone_lacks_is_a_failure(self):
        absent, broken = "there is no wrk (Debian: wrk)", "wrk: Socket errors"
        self.assertEqual(table.failures_of([("nginx, TCP", absent), ("nginx, exs", absent)]), [])
        self.assertEqual(table.failures_of([("nginx, exs", broken)]), [("nginx, exs", broken)])
        self.assertEqual(table.failures_of([("echo, exs, spin=0", broken)]), [("echo, exs, spin=0", broken)])
        self.assertEqual(table.failures_of([("nginx, TCP", broken)]), [])


class Servers(unittest.TestCase):
    def test_what_a_server_started_ends_with_it(self):
        with place.temporary_folder() as folder:
            here = place.Place(BINARIES, LIBRARY, folder, folder)
            with here.server(["sh", "-c", "sleep 1000 & echo $!; wait"], place.TCP) as server:
                exit_of = os.pidfd_open(int(server.stdout.readline()))
                self.assertEqual(select.select([exit_of], [], [], 0)[0], [])
            self.assertEqual(select.select([exit_of], [], [], LIMIT_S)[0], [exit_of])
            os.close(exit_of)

    def test_a_server_that_cannot_listen_is_a_failed_run(self):
        with place.temporary_folder() as folder, self.assertRaises(processes.Failed):
            here = place.Place(BINARIES, LIBRARY, folder, folder)
            own.served(here, place.TCP, [here.load, "echo", "--size", "0", "--serve", "--at"], [here.load, "echo", "--at"])


class Report(unittest.TestCase):
    def run_it(self, *words, folder):
        return subprocess.run([PERF / "sockets/run", "--out", folder, *words], capture_output=True, text=True, timeout=LIMIT_S, check=False)

    def test_echo_is_measured_every_way_and_drawn_again(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_it("--bin", BINARIES, "--only", "64 B echo", "--time", "0.02", "--runs", "1", folder=folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(pathlib.Path(folder, "report.json").read_text())
            self.assertEqual([item["row"] for item in report["rows"]], ["64 B echo, blocking, one way"])
            self.assertEqual(list(report["rows"][0]["runs"]), ["TCP", "Unix", "exs"])
            self.assertEqual(report["charts"], [])
            again = self.run_it("--from", pathlib.Path(folder, "report.json"), folder=pathlib.Path(folder, "again"))
            self.assertEqual(again.stdout, done.stdout)

    def test_points_of_the_paper_are_lines_and_no_argument_is_not_drawn(self):
        measured = [{"key": "sovia-9a", "title": "", "x": "size", "y": "us",
                     "series": [{"name": "exs", "kind": "exs", "points": [[0, 1, 1, 1], [4, 2, 2, 2]]}]}]
        drawn = sovia.with_paper(measured)[0]["series"]
        self.assertEqual(drawn[0]["points"], [[4, 2, 2, 2]])
        self.assertIn({"name": "paper: SOVIA", "kind": "paper", "points": [[4, 10.5, 10.5, 10.5]]}, drawn)

    def test_a_row_that_was_not_measured_says_so(self):
        row = table.ROWS[0]
        text = markdown.row_text(table.item_of(row, {"TCP": [20.0]}))
        self.assertIn("not measured", text)
        self.assertIn("**missed**", markdown.row_text(table.item_of(row, {"TCP": [20.0], "exs": [1.0]})))

    def test_a_disturbed_report_says_so(self):
        self.assertIn("disturbed", markdown.others_text(50))
        self.assertNotIn("disturbed", markdown.others_text(2))


if __name__ == "__main__":
    unittest.main()
