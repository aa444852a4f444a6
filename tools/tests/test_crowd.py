"""A crowd of connections to one server: figures are there, nothing is left, and what goes wrong is told."""
import json
import os
import pathlib
import resource
import signal
import subprocess
import unittest

from tools import BIN, LIMIT_S, ToolsTest, run

KEYS = {
    "tool": str,
    "version": str,
    "provider": str,
    "connections": int,
    "pairs": int,
    "size_bytes": int,
    "client_processes": int,
    "errors": int,
    "first_error": str,
    "resident_bytes_per_connection": int,
    "anonymous_bytes_per_connection": int,
    "bound_bytes_per_connection": int,
    "grown_bytes_per_connection": int,
    "exs_descriptors_left": int,
    "kernel_descriptors_before": int,
    "kernel_descriptors_after": int,
    "nothing_left": bool,
    "before_resident_bytes": int,
}
ROUND = {
    "connect_seconds": float,
    "exchange_seconds": float,
    "close_seconds": float,
    "open_resident_bytes": int,
    "open_anonymous_bytes": int,
    "closed_resident_bytes": int,
}


class Crowd(ToolsTest):
    def assert_keys(self, found, keys):
        for key, kind in keys.items():
            self.assertIsInstance(found[key], kind, key)

    def test_all_connections_come_and_go(self):
        result = self.measure("exs-crowd", "--connections", "300", "--pairs", "5", "--rounds", "3", "--processes", "3")
        self.assert_keys(result, KEYS)
        self.assertEqual((result["tool"], result["connections"], result["pairs"]), ("exs-crowd", 300, 5))
        self.assertEqual((result["errors"], result["exs_descriptors_left"]), (0, 0))
        self.assertEqual(result["kernel_descriptors_after"], result["kernel_descriptors_before"])
        self.assertIs(result["nothing_left"], True)
        self.assertIsNot(result["bound_met"], False)  # null in a sanitized build
        self.assertEqual(len(result["rounds"]), 3)
        for found in result["rounds"]:
            self.assert_keys(found, ROUND)

    def test_long_lived_connections_cost_no_more(self):
        # Every receive slot would be used many times over, were they used in turn.
        result = self.measure("exs-crowd", "--connections", "200", "--pairs", "300", "--rounds", "1")
        self.assertIsNot(result["bound_met"], False)  # null in a sanitized build

    def test_normal_sends(self):
        result = self.measure("exs-crowd", "--connections", "20", "--size", "65536", "--processes", "1")
        self.assertEqual((result["errors"], result["nothing_left"]), (0, True))
        self.assertIsNone(result["bound_met"])

    def test_table(self):
        table = self.succeed("exs-crowd", "--connections", "2", "--rounds", "1")
        for part in ("KiB resident", "errors: 0", "nothing left", "not judged", "pairs/s"):
            self.assertIn(part, table)

    def test_a_limit_of_descriptors_is_told_with_its_cure(self):
        limit = (256, 256)
        done = subprocess.run([BIN / "exs-crowd", "--connections", "1000"], capture_output=True, text=True, timeout=LIMIT_S,
                              check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assert_one_line(done.stderr, "exs-crowd: ", "256", "ulimit -Hn", "--connections 192")

    def test_connections_that_fail_are_counted(self):
        # One response in each process, in the warm-up and in each round.
        done = run("exs-crowd", "--connections", "20", "--processes", "2", "--rounds", "2", "--flip", "--json")
        self.assertEqual(done.returncode, 1)
        result = json.loads(done.stdout)
        self.assertEqual(result["errors"], 6)
        self.assertIn("a response is damaged", result["first_error"])
        self.assert_one_line(done.stderr, "exs-crowd: ", "a response is damaged")
        self.assertEqual(result["exs_descriptors_left"], 0)

    def test_a_client_process_that_dies_ends_the_measurement(self):
        tool = subprocess.Popen([BIN / "exs-crowd", "--connections", "10", "--pairs", "1000000"], stderr=subprocess.PIPE, text=True)
        self.addCleanup(tool.communicate)
        self.addCleanup(tool.kill)
        children = pathlib.Path(f"/proc/{tool.pid}/task/{tool.pid}/children")
        while not (processes := children.read_text().split()) and tool.poll() is None:
            pass
        os.kill(int(processes[0]), signal.SIGKILL)
        _, errors = tool.communicate(timeout=LIMIT_S)
        self.assertEqual(tool.returncode, 1)
        self.assert_one_line(errors, "exs-crowd: ", "a client process has ended")


if __name__ == "__main__":
    unittest.main()
