# SPDX-License-Identifier: BSD-2-Clause
"""What the measurements tell beside their table: intervals, histograms, values for programs; and the modes that they have."""
import csv
import io
import re
import unittest

from tools import LIMIT_S, ToolsTest

HEAD = {"tool": str, "version": str, "schema": int, "host": str, "kernel": str, "date": str}


class Reports(ToolsTest):
    def assert_head(self, found):
        for key, kind in HEAD.items():
            self.assertIsInstance(found[key], kind, key)
        self.assertRegex(found["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertIn("Linux", found["kernel"])

    def test_ping_shows_all_kinds(self):
        for size, kinds, default in (("64", ["normal", "immediate", "persistent"], "immediate"),
                                     ("1K", ["normal", "immediate", "persistent"], "immediate"),
                                     ("1025", ["normal", "immediate", "persistent"], "normal"),
                                     ("64K", ["normal", "persistent"], "normal")):
            with self.subTest(size=size):
                result = self.measure("exs-ping", "--self", "--count", "20", "--size", size)
                self.assert_head(result)
                self.assertEqual([one["kind"] for one in result["kinds"]], kinds)
                self.assertEqual([one["kind"] for one in result["kinds"] if one["sent_by_default"]], [default])
                table = self.succeed("exs-ping", "--self", "--count", "20", "--size", size)
                self.assertEqual(re.findall(r"(?m)^(\S+) \* ", table), [default])
                self.assertIn("\n* what exs_send does", table)

    def test_ping_sweeps_all_kinds(self):
        sweep = self.measure("exs-ping", "--self", "--count", "2", "--sweep")["sweep"]
        self.assertEqual({one["kind"] for one in sweep}, {"normal", "immediate", "persistent"})
        self.assertEqual(max(one["size_bytes"] for one in sweep if one["kind"] == "immediate"), 32768)

    def test_blast_can_do_all_kinds(self):
        result = self.measure("exs-blast", "--self", "--kind", "all", "--count", "20", "--verify")
        self.assertEqual([one["kind"] for one in result["kinds"]],
                         ["normal", "persistent", "persistent-receive", "transaction", "stream"])  # 64K is not immediate
        self.assertTrue(all(one["verified"] for one in result["kinds"]))

    def test_every_result_says_where_and_when(self):
        for command in (("exs-ping", "--self", "--kind", "normal", "--count", "5"), ("exs-blast", "--self", "--count", "5"),
                        ("exs-crowd", "--connections", "4", "--rounds", "1"), ("tcp-baseline", "--count", "5")):
            with self.subTest(command=command):
                result = self.measure(*command)
                self.assert_head(result)
                self.assertEqual(result["tool"], command[0])

    def test_intervals(self):
        for tool in ("exs-ping", "exs-blast"):
            with self.subTest(tool=tool):
                command = (tool, "--self", "--kind", "normal", "--time", "0.5", "-i", "0.1")
                result = self.measure(*command)
                intervals = result["intervals"]
                self.assertGreater(len(intervals), 0)
                self.assertEqual(intervals[0]["begin_seconds"], 0)
                for earlier, later in zip(intervals, intervals[1:]):
                    self.assertEqual(earlier["end_seconds"], later["begin_seconds"])
                self.assertLessEqual(sum(one["messages"] for one in intervals), result["messages"])
                self.assertEqual("one_way_us" in intervals[0], tool == "exs-ping")
                self.assertRegex(self.succeed(*command), r"(?m)^ +0\.00 to +\d+\.\d\d s, normal: .* messages, .*/s")

    def test_histogram(self):
        bars = self.measure("exs-ping", "--self", "--kind", "immediate", "--count", "500", "--histogram")["one_way_us_histogram"]
        self.assertEqual(sum(count for _, _, count in bars), 500)
        self.assertTrue(all(begin < end for begin, end, _ in bars))
        table = self.succeed("exs-ping", "--self", "--kind", "immediate", "--count", "500", "--histogram")
        self.assertEqual(sum(int(count) for count in re.findall(r"(?m)^ +[\d.]+ to +[\d.]+ +(\d+) #*$", table)), 500)
        self.assertIn(50 * "#", table)

    def test_comma_separated_values(self):
        rows = list(csv.DictReader(io.StringIO(self.succeed("exs-ping", "--self", "--count", "20", "--csv"))))
        self.assertEqual([row["kind"] for row in rows], ["normal", "immediate", "persistent"])
        for row in rows:
            self.assertEqual((row["tool"], row["messages"], row["size_bytes"]), ("exs-ping", "20", "64"))
            self.assertGreater(float(row["one_way_us_p50"]), 0)
            self.assertEqual(row["read_us_p50"] != "", row["kind"] == "persistent")
            self.assertNotIn(None, row)  # no more cells than names

    def test_a_rate_tells_both_times(self):
        command = ("exs-ping", "--self", "--kind", "immediate", "--rate", "2000", "--count", "100")
        result = self.measure(*command)
        self.assertEqual((result["messages"], result["wanted_per_second"]), (100, 2000))
        # A hundred messages, one every half millisecond, and none is sent before it is due.
        self.assertGreaterEqual(result["seconds"], 0.0495)
        for key in ("p50", "p99", "max"):
            self.assertGreaterEqual(result["due_round_trip_us"][key], result["one_way_us"][key])
        self.assertIn("from when each was due", self.succeed(*command))

    def test_parallel_connections(self):
        for tool, *options in (("exs-ping", "--kind", "immediate"), ("exs-blast",), ("exs-blast", "--reverse"),
                               ("exs-blast", "--kind", "transaction")):
            with self.subTest(tool=tool, options=options):
                result = self.measure(tool, "--self", *options, "-P", "3", "--count", "50", "--verify")
                self.assertEqual((result["messages"], result["connections"], result["verified"]), (150, 3, True))

    def test_the_server_sends(self):
        for kind in ("normal", "immediate", "stream"):
            with self.subTest(kind=kind):
                result = self.measure("exs-blast", "--self", "--reverse", "--kind", kind, "--size", "4K", "--count", "300", "--verify")
                self.assertEqual((result["messages"], result["reverse"], result["verified"]), (300, True, True))
                self.assertIsNone(result["sender_cpu_percent"])
        self.assertGreater(self.measure("exs-blast", "--self", "--reverse", "--time", "0.1")["messages"], 0)

    def test_a_server_for_one_client(self):
        for tool, *options in (("exs-ping",), ("exs-blast", "--sweep", "-P", "2"), ("exs-blast", "--reverse")):
            with self.subTest(tool=tool, options=options):
                server = self.start_server(tool, "-1")
                self.succeed(tool, "127.0.0.1", "--port", server.port, "--count", "3", *options)
                output = server.process.communicate(timeout=LIMIT_S)[0]
                self.assertEqual(server.process.returncode, 0, output)
                self.assertIn(" 0 failed", output)


if __name__ == "__main__":
    unittest.main()
