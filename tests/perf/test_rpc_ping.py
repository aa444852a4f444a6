# SPDX-License-Identifier: BSD-2-Clause
"""Remote procedure calls: all keys are there, every byte comes back, and calls go the way that was asked for."""
import json
import signal
import unittest

from interrupting import interrupt
from tools import ToolsTest, Watched, run

WAYS = {"sunrpc": "shm", "sunrpc-reduced": "shm", "sunrpc-no-copy": "shm", "stubs": "shm", "mapped": "mapped", "tcp": "tcp", "unix": "unix"}  # and by what the calls of each go on one host


class RpcPing(ToolsTest):
    def test_each_way_is_complete_and_verified(self):
        for way, carrier in WAYS.items():
            with self.subTest(way=way):
                result = self.measure("exs-rpc-ping", "--self", "--way", way, "--size", "0,8,4K,64K", "--calls", "200", "--verify")
                self.assertEqual(result["way"], way)
                self.assertEqual([size["size_bytes"] for size in result["sizes"]], [0, 8, 4096, 65536])
                for size in result["sizes"]:
                    self.assertEqual((size["carrier"], size["calls"], size["verified"]), (carrier, 200, True))
                    times = size["round_trip_us"]
                    self.assertTrue(0 < times["min"] <= times["p50"] <= times["p99"] <= times["max"])
                    self.assertGreaterEqual(size["server_cpu_us"], 0)

    def test_a_signal_tells_what_there_is(self):
        """By the signal of a terminal, which both ends get, and by one of the client alone."""
        for way, *options in (("sunrpc",), ("stubs", "--under-way", "8"), ("tcp",)):
            for both in (False, True):
                with self.subTest(way=way, both=both):
                    output, errors, status = interrupt("exs-rpc-ping", "--self", "--way", way, "--size", "8", "--calls", "100000000", *options, both=both)
                    self.assertEqual((status, errors), (130, ""))
                    result = json.loads(output)
                    self.assertTrue(result["interrupted"])
                    self.assertTrue(0 < result["calls"] < 100000000)

    def test_a_long_measurement_shows_its_progress_on_a_terminal(self):
        for way, *options in (("sunrpc",), ("stubs", "--under-way", "8")):
            for limit, goal in ((("--calls", "100000000"), b" of 100 M calls"), (("--time", "3000"), b" s of 3000 s, ")):
                with self.subTest(way=way, limit=limit):
                    client = Watched("exs-rpc-ping", "--self", "--way", way, "--size", "8", "--json", *limit, *options)
                    self.addCleanup(client.kill)
                    client.wait_for_progress(goal)
                    client.process.send_signal(signal.SIGINT)
                    output, errors, status = client.finish()
                    self.assertEqual((status, errors), (130, ""))
                    self.assertGreater(json.loads(output)["calls"], 0)

    def test_the_provider_is_the_one_that_was_asked_for(self):
        result = self.measure("exs-rpc-ping", "--self", "--provider", "iwarp", "--size", "100", "--calls", "100", "--verify")
        self.assertEqual(result["carrier"], "iwarp")

    def test_several_calls_under_way(self):
        result = self.measure("exs-rpc-ping", "--self", "--way", "stubs", "--size", "100", "--calls", "500", "--under-way", "8")
        self.assertEqual((result["under_way"], result["calls"]), (8, 500))
        self.assertGreater(result["calls_per_second"], 0)
        self.assertEqual(run("exs-rpc-ping", "--self", "--way", "tcp", "--under-way", "2").returncode, 2)

    def test_options_that_make_no_sense(self):
        for options in ((), ("--self", "--server"), ("127.0.0.1",), ("--self", "--size", "65M"), ("--self", "--way", "pigeon"),
                        ("--self", "--way", "stubs", "--under-way", "65"), ("--self", "--way", "stubs", "--under-way", "2", "--verify")):
            with self.subTest(options=options):
                self.assertEqual(run("exs-rpc-ping", *options).returncode, 2)


if __name__ == "__main__":
    unittest.main()
