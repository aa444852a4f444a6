# SPDX-License-Identifier: BSD-2-Clause
"""Messages with tags: all keys are there, and every byte is right."""
import json
import os
import resource
import signal
import unittest

from interrupting import interrupt
from tools import ToolsTest, Watched, run


class MsgPing(ToolsTest):
    def test_to_and_fro_is_complete_and_verified(self):
        for provider in ("shm", "iwarp"):
            with self.subTest(provider=provider):
                result = self.measure("exs-msg-ping", "--self", "--provider", provider, "--size", "0,8,4K,1M", "--messages", "100", "--verify")
                self.assertEqual([size["size_bytes"] for size in result["sizes"]], [0, 8, 4096, 1048576])
                for size in result["sizes"]:
                    self.assertEqual((size["messages"], size["verified"]), (100, True))
                    times = size["round_trip_us"]
                    self.assertTrue(0 < times["min"] <= times["p50"] <= times["p99"] <= times["max"])
                    self.assertGreater(size["one_way_us"], 0)

    def test_many_under_way(self):
        result = self.measure("exs-msg-ping", "--self", "--window", "64", "--size", "8,100K", "--messages", "640", "--verify")
        self.assertEqual(result["window"], 64)
        for size in result["sizes"]:
            self.assertEqual((size["messages"], size["verified"]), (640, True))
            self.assertGreater(size["messages_per_second"], 0)
            self.assertGreater(size["bytes_per_second"], 0)

    def test_ranks_that_share_a_processor_do_not_poll_in_vain(self):
        """To poll before each sleep takes 50 us at each end, besides what the message takes: a few, and 70 with a sanitizer.

        Ahead of all other programs: each of them that runs between two messages costs 50 us, too, by what it evicts from caches.
        """
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        except PermissionError:
            self.skipTest("needs the right to real-time priority")
        self.addCleanup(os.sched_setscheduler, 0, os.SCHED_OTHER, os.sched_param(0))
        processors = os.sched_getaffinity(0)
        self.addCleanup(os.sched_setaffinity, 0, processors)
        os.sched_setaffinity(0, {min(processors)})

        def processor_seconds(messages):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.measure("exs-msg-ping", "--self", "--no-pin", "--size", "8", "--messages", str(messages))
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return sum(getattr(after, key) - getattr(before, key) for key in ("ru_utime", "ru_stime"))

        self.assertLess(processor_seconds(8100) - processor_seconds(100), 8000 * 110e-6)

    def test_a_signal_tells_what_there_is(self):
        """By the signal of a terminal, which both ranks get, and by one of the first rank alone."""
        for options in ((), ("--window", "64")):
            for both in (False, True):
                with self.subTest(options=options, both=both):
                    output, errors, status = interrupt("exs-msg-ping", "--self", "--size", "8,16", "--messages", "100000000", *options, both=both)
                    self.assertEqual((status, errors), (130, ""))
                    result = json.loads(output)
                    self.assertTrue(result["interrupted"])
                    self.assertEqual([size["size_bytes"] for size in result["sizes"]], [8])
                    self.assertTrue(0 < result["sizes"][0]["messages"] < 100000000)

    def test_a_long_measurement_shows_its_progress_on_a_terminal(self):
        for options in ((), ("--window", "64")):
            with self.subTest(options=options):
                client = Watched("exs-msg-ping", "--self", "--size", "8", "--messages", "100000000", "--json", *options)
                self.addCleanup(client.kill)
                client.wait_for_progress(b" of 100 M messages")
                client.process.send_signal(signal.SIGINT)
                output, errors, status = client.finish()
                self.assertEqual((status, errors), (130, ""))
                self.assertGreater(json.loads(output)["sizes"][0]["messages"], 0)

    def test_computation_that_a_signal_ends_tells_what_there_is(self):
        client = Watched("exs-msg-ping", "--self", "--size", "8", "--messages", "200", "--compute", "100000", "--json")
        self.addCleanup(client.kill)
        client.wait_for_progress(b" of 200 messages")
        client.process.send_signal(signal.SIGINT)
        output, errors, status = client.finish()
        self.assertEqual((status, errors), (130, ""))
        result = json.loads(output)
        self.assertTrue(result["interrupted"])
        size, = result["sizes"]
        self.assertTrue(0 < size["messages"] < 200)
        for end in ("sender", "receiver"):
            # How long the work takes depends on who else computed while it was measured out.
            self.assertGreater(size[end]["together_us"], 0)

    def test_options_that_make_no_sense(self):
        for options in (("--self", "--size", "2G"), ("--self", "--window", "4097"), ("--self", "--provider", "pigeon"), ()):
            with self.subTest(options=options):
                self.assertEqual(run("exs-msg-ping", *options).returncode, 2)


if __name__ == "__main__":
    unittest.main()
