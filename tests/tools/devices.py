# SPDX-License-Identifier: BSD-2-Clause
"""The tools on an RDMA device: every kind, every byte checked. EXS_TOOLS is the folder of the programs, EXS_TEST_ADDRESS that
of the device."""
import os
import unittest

from tools import ToolsTest, run

ADDRESS = os.environ["EXS_TEST_ADDRESS"]
HERE = ("--self", "--bind", ADDRESS, "--provider", "verbs", "--verify")


class Devices(ToolsTest):
    def assert_measured(self, result, kind, count):
        self.assertEqual((result["provider"], result["kind"], result["messages"], result["verified"]), ("verbs", kind, count, True))

    def test_ping(self):
        for kind in ("normal", "immediate", "persistent"):
            for wait in ("notify", "adaptive"):
                with self.subTest(kind=kind, wait=wait):
                    result = self.measure("exs-ping", *HERE, "--kind", kind, "--wait", wait, "--count", "100")
                    self.assert_measured(result, kind, 100)

    def test_blast(self):
        for kind, size, depth in (
            ("normal", "1", 8), ("normal", "64K", 8), ("normal", "1M", 8), ("normal", "5000001", 2),
            ("immediate", "64", 8), ("immediate", "32K", 64),
            ("persistent", "64", 8), ("persistent", "1M", 3), ("persistent-receive", "64", 8), ("persistent-receive", "1M", 3),
            ("transaction", "8", 1), ("transaction", "300000", 5),
            ("stream", "64", 64), ("stream", "100000", 4),
        ):
            with self.subTest(kind=kind, size=size):
                result = self.measure("exs-blast", *HERE, "--kind", kind, "--size", size, "--depth", str(depth), "--wait", "notify",
                                      "--count", "40")
                self.assert_measured(result, kind, 40)

    def test_memory_of_the_library(self):
        result = self.measure("exs-blast", *HERE, "--memory", "alloc", "--size", "256K", "--count", "40", "--wait", "adaptive")
        self.assert_measured(result, "normal", 40)

    def test_a_flipped_bit_is_found(self):
        for kind in ("normal", "persistent", "persistent-receive"):
            with self.subTest(kind=kind):
                done = run("exs-blast", *HERE, "--kind", kind, "--count", "20", "--flip", "13")
                self.assertEqual(done.returncode, 1)
                self.assertIn("message 13,", done.stderr)

    def test_a_crowd(self):
        result = self.measure("exs-crowd", "--bind", ADDRESS, "--provider", "verbs", "--connections", "24", "--pairs", "3")
        self.assertEqual((result["provider"], result["errors"], result["nothing_left"]), ("verbs", 0, True))

    def test_the_baseline(self):
        ping, read = self.measure("verbs-baseline", "--bind", ADDRESS, "--time", "0.1")
        self.assertEqual((ping["mode"], read["mode"], ping["device"]), ("ping", "read", read["device"]))
        times = ping["one_way_us"]
        self.assertTrue(0 < times["min"] <= times["p50"] <= times["p99"] <= times["max"], times)
        self.assertGreater(read["bytes_per_second"], 0)


if __name__ == "__main__":
    unittest.main()
