# SPDX-License-Identifier: BSD-2-Clause
"""crowd-rate: every connection is served, over exs and over epoll, and figures are there."""
import resource
import subprocess
import unittest

from tools import BIN, LIMIT_S, ToolsTest, run


class CrowdRate(ToolsTest):
    def test_the_active_ones_of_many(self):
        for by in (("--by", "epoll"), ("--by", "exs"), ("--by", "exs", "--provider", "shm")):
            for threads in ("1", "3"):
                with self.subTest(by=by, threads=threads):
                    result = self.measure("crowd-rate", *by, "--connections", "200", "--active", "1,7,200", "--threads", threads,
                                          "--time", "0.1")
                    self.assertEqual((result["tool"], result["connections"], result["threads"]), ("crowd-rate", 200, int(threads)))
                    self.assertEqual(result["provider"], {"epoll": "tcp"}.get(by[1], by[-1] if len(by) > 2 else "iwarp"))
                    self.assertEqual([load["active"] for load in result["loads"]], [1, 7, 200])
                    for load in result["loads"]:
                        self.assertGreater(load["messages"], 0)
                        self.assertLessEqual(load["round_trip_us"]["p50"], load["round_trip_us"]["p99"])
                        self.assertTrue(0 <= load["least_share"] <= 1)
                    self.assertEqual(result["loads"][0]["least_share"], 1)

    def test_sizes_and_waits(self):
        for by in ("epoll", "exs"):
            for size in ("4", "3000", "65536"):
                with self.subTest(by=by, size=size):
                    result = self.measure("crowd-rate", "--by", by, "--connections", "5", "--active", "5", "--size", size, "--time", "0.05",
                                          "--wait", "busy", "--no-pin")
                    self.assertGreater(result["loads"][0]["messages"], 0)

    def test_table(self):
        table = self.succeed("crowd-rate", "--connections", "3", "--active", "1,3", "--time", "0.02")
        for part in ("iwarp, 3 connections", "wait notify", "p99 us", "least share"):
            self.assertIn(part, table)

    def test_what_makes_no_sense_is_refused(self):
        for options in (("--active", "11", "--connections", "10"), ("--active", "0"), ("--active", ""), ("--active", "x"), ("--size", "3")):
            with self.subTest(options=options):
                done = run("crowd-rate", *options)
                self.assertNotEqual(done.returncode, 0)
                self.assertEqual(done.stdout, "")

    def test_a_limit_of_descriptors_is_told(self):
        done = subprocess.run([BIN / "crowd-rate", "--connections", "1000"], capture_output=True, text=True, timeout=LIMIT_S, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)))
        self.assertEqual(done.returncode, 1)
        self.assert_one_line(done.stderr, "crowd-rate: ", "256")


if __name__ == "__main__":
    unittest.main()
