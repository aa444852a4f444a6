# SPDX-License-Identifier: BSD-2-Clause
"""Requests to a service: all keys are there, short and long, one and several at a time, with and without long items back."""
import unittest

from tools import ToolsTest, run


class ServicePing(ToolsTest):
    def test_requests_of_all_kinds_are_answered(self):
        for provider in "shm", "iwarp":
            for size, words in (0, ()), (64, ("--under-way", "8")), (4000, ()), (4001, ()), (300000, ("--under-way", "4", "--back")):
                with self.subTest(provider=provider, size=size):
                    result = self.measure("service-ping", "--self", "--provider", provider, "--size", str(size), "--requests", "200", *words)
                    self.assertEqual(result["size_bytes"], size)
                    times = result["round_trip_us"]
                    self.assertTrue(0 < times["min"] <= times["p50"] <= times["p99"] <= times["max"])
                    self.assertGreater(result["requests_per_second"], 0)

    def test_it_has_no_other_way(self):
        self.assertEqual(run("service-ping").returncode, 2)


if __name__ == "__main__":
    unittest.main()
