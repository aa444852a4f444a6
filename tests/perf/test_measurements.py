# SPDX-License-Identifier: BSD-2-Clause
"""Measurements of both ends on one machine: all keys are there, every byte is right, and a wrong one is found."""
import json
import os
import signal
import subprocess
import unittest

from tools import BIN, LIMIT_S, ToolsTest, Watched, run

COMMON = {
    "tool": str,
    "version": str,
    "provider": str,
    "kind": str,
    "size_bytes": int,
    "depth": int,
    "messages": int,
    "seconds": float,
    "bytes_per_second": (int, float),
    "messages_per_second": (int, float),
    "sender_cpu_percent": (int, float),
    "receiver_cpu_percent": (int, float),
}
ONE_WAY = ["min", "p50", "p90", "p99", "p999", "max"]
WAITS = ("busy", "adaptive", "notify")


class Measurements(ToolsTest):
    def assert_complete(self, result, messages):
        for key, kind in COMMON.items():
            self.assertIsInstance(result[key], kind, key)
        self.assertIn("verified", result)
        self.assertEqual(result["messages"], messages)
        self.assertGreater(result["messages_per_second"], 0)
        self.assertAlmostEqual(
            result["bytes_per_second"], messages * result["size_bytes"] / result["seconds"], delta=result["bytes_per_second"] / 100
        )

    def assert_latencies(self, result, key="one_way_us"):
        times = result[key]
        self.assertEqual([times[key] for key in ONE_WAY], sorted(times[key] for key in ONE_WAY))
        self.assertTrue(0 < times["min"] <= times["mean"] <= times["max"])

    def test_blast_of_both_kinds_is_complete_and_verified(self):
        for kind, size, size_bytes in (("normal", "64K", 65536), ("normal", "1", 1), ("immediate", "16K", 16384)):
            for wait in ("busy", "adaptive", "notify"):
                with self.subTest(kind=kind, size=size, wait=wait):
                    result = self.measure(
                        "exs-blast", "--self", "--kind", kind, "--size", size, "--wait", wait, "--count", "300", "--verify"
                    )
                    self.assert_complete(result, 300)
                    self.assertEqual((result["kind"], result["size_bytes"], result["depth"]), (kind, size_bytes, 8))
                    self.assertIs(result["verified"], True)

    def test_a_small_stack_is_enough(self):
        for tool in "exs-ping", "exs-blast":
            done = subprocess.run(["prlimit", f"--stack={512 << 10}", BIN / tool, "--self", "--count", "20"], capture_output=True, text=True,
                                  timeout=LIMIT_S, check=False)
            self.assertEqual(done.returncode, 0, f"{tool}: {done.stderr}")

    def test_ping_of_both_kinds_is_complete_and_verified(self):
        for kind in ("normal", "immediate"):
            for wait in ("busy", "adaptive", "notify"):
                with self.subTest(kind=kind, wait=wait):
                    result = self.measure("exs-ping", "--self", "--kind", kind, "--wait", wait, "--count", "300", "--verify")
                    self.assert_complete(result, 300)
                    self.assert_latencies(result)
                    self.assertIs(result["verified"], True)

    def test_reads_and_writes_of_posted_memory_are_complete_and_verified(self):
        for kind, size_bytes, depth in (
            ("persistent", 1, 1), ("persistent", 64, 8), ("persistent", 300000, 3),
            ("persistent-receive", 1, 1), ("persistent-receive", 64, 8), ("persistent-receive", 300000, 3),
            ("transaction", 8, 1), ("transaction", 64, 2), ("transaction", 300000, 5),
        ):
            for wait in WAITS:
                with self.subTest(kind=kind, size=size_bytes, wait=wait):
                    result = self.measure(
                        "exs-blast", "--self", "--kind", kind, "--size", str(size_bytes), "--depth", str(depth), "--wait", wait,
                        "--count", "200", "--verify"
                    )
                    self.assert_complete(result, 200)
                    self.assertEqual((result["kind"], result["size_bytes"], result["depth"]), (kind, size_bytes, depth))
                    self.assertIs(result["verified"], True)

    def test_posted_memory_without_verify(self):
        for kind, depth in (("persistent", 8), ("persistent-receive", 8), ("transaction", 2)):
            with self.subTest(kind=kind):
                result = self.measure("exs-blast", "--self", "--kind", kind, "--count", "2000")
                self.assert_complete(result, 2000)
                self.assertEqual((result["depth"], result["verified"]), (depth, None))

    def test_ping_of_posted_memory_tells_whole_and_half(self):
        for wait in WAITS:
            with self.subTest(wait=wait):
                result = self.measure("exs-ping", "--self", "--kind", "persistent", "--wait", wait, "--count", "300", "--verify")
                self.assert_complete(result, 300)
                self.assert_latencies(result)
                self.assert_latencies(result, "read_us")
                for key in (*ONE_WAY, "mean"):
                    self.assertAlmostEqual(result["read_us"][key] / 2, result["one_way_us"][key], delta=0.001)
                self.assertIs(result["verified"], True)
        self.assertNotIn("read_us", self.measure("exs-ping", "--self", "--kind", "normal", "--count", "10"))

    def test_without_verify_nothing_is_claimed(self):
        self.assertIsNone(self.measure("exs-blast", "--self", "--count", "10")["verified"])

    def test_depth_beyond_the_credits_and_the_librarys_memory(self):
        result = self.measure("exs-blast", "--self", "--depth", "600", "--size", "2K", "--count", "5000", "--memory", "alloc", "--verify")
        self.assert_complete(result, 5000)
        self.assertIs(result["verified"], True)

    def test_a_flipped_bit_is_found(self):
        for command in (("exs-blast", "--kind", "normal"), ("exs-blast", "--kind", "immediate", "--size", "1K"), ("exs-ping", "--kind", "normal"),
                        ("exs-ping", "--kind", "persistent"), ("exs-blast", "--kind", "persistent"),
                        ("exs-blast", "--kind", "persistent-receive"), ("exs-blast", "--kind", "transaction")):
            with self.subTest(command=command):
                done = run(*command, "--self", "--count", "50", "--verify", "--flip", "33", "--json")
                self.assertEqual(done.returncode, 1)
                self.assertIn('"verified": false', done.stdout)
                self.assert_one_line(done.stderr, "verification failed", "message 33,")

    def test_time_limits_a_measurement(self):
        result = self.measure("exs-ping", "--self", "--kind", "normal", "--time", "0.2")
        self.assertGreaterEqual(result["seconds"], 0.2)
        self.assertGreater(result["messages"], 0)

    def test_sweep(self):
        sweep = self.measure("exs-blast", "--self", "--sweep", "--count", "5", "--verify")["sweep"]
        self.assertEqual([result["size_bytes"] for result in sweep], [4**n for n in range(13)])
        for result in sweep:
            self.assert_complete(result, 5)
            self.assertIs(result["verified"], True)
        sweep = self.measure("exs-blast", "--self", "--kind", "transaction", "--sweep", "--count", "5", "--verify")["sweep"]
        self.assertEqual([result["size_bytes"] for result in sweep], [8 * 4**n for n in range(11)] + [2**24])
        sweep = self.measure("exs-ping", "--self", "--kind", "immediate", "--sweep", "--count", "5")["sweep"]
        self.assertEqual([result["size_bytes"] for result in sweep], [4**n for n in range(8)] + [32768])

    def test_tables_have_units(self):
        table = self.succeed("exs-blast", "--self", "--sweep", "--count", "2")
        for part in ("B/s", "CPU %", "16 MiB", "provider"):
            self.assertIn(part, table)
        self.assertIn("one way, us", self.succeed("exs-ping", "--self", "--count", "10"))

    def test_tcp_baseline_has_the_same_keys(self):
        for wait in ("busy", "notify"):
            with self.subTest(wait=wait):
                result = self.measure("tcp-baseline", "--mode", "blast", "--size", "64K", "--count", "100", "--wait", wait)
                self.assert_complete(result, 100)
                self.assertEqual((result["tool"], result["provider"]), ("tcp-baseline", "tcp"))
                result = self.measure("tcp-baseline", "--mode", "ping", "--count", "100", "--wait", wait)
                self.assert_complete(result, 100)
                self.assert_latencies(result)

    def test_a_baseline_that_a_signal_ends_tells_what_there_is(self):
        """By the signal of a terminal, which both ends get, in the middle of each mode."""
        for tool, modes, parts, count in (("shm-baseline", ("line", "futex", "eventfd", "read", "copy"), b" samples", "samples"),
                                          ("tcp-baseline", ("blast", "ping"), b" messages", "messages")):
            for mode in modes:
                with self.subTest(tool=tool, mode=mode):
                    client = Watched(tool, "--mode", mode, "--size", "64", "--time", "3000", "--json", start_new_session=True)
                    self.addCleanup(client.kill)
                    client.wait_for_progress(parts)
                    self.assertIn(b" s of 3000 s, ", client.errors)
                    os.killpg(client.process.pid, signal.SIGINT)
                    output, errors, status = client.finish()
                    self.assertEqual((status, errors), (130, ""))
                    result = json.loads(output)
                    self.assertEqual(result["tool"], tool)
                    self.assertGreater(result[count], 0)

    def test_shm_baseline_measures_every_mode(self):
        modes = {one["mode"]: one for one in self.measure("shm-baseline", "--size", "64K", "--buffers", "3", "--time", "0.02")}
        self.assertEqual(list(modes), ["line", "futex", "eventfd", "read", "copy"])
        for mode, result in modes.items():
            with self.subTest(mode=mode):
                times = result["move_us" if mode in ("read", "copy") else "one_way_us"]
                self.assertTrue(0 < times["min"] <= times["p50"] <= times["p99"] <= times["max"], times)
                if mode in ("read", "copy"):
                    self.assertEqual((result["size_bytes"], result["buffers"]), (65536, 3))
                    self.assertAlmostEqual(result["bytes_per_second"], 65536e6 / times["p50"], delta=result["bytes_per_second"] / 50)


if __name__ == "__main__":
    unittest.main()
