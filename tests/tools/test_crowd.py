# SPDX-License-Identifier: BSD-2-Clause
"""A crowd of connections to one server: figures are there, nothing is left, and what goes wrong is told."""
import json
import os
import pathlib
import resource
import select
import signal
import subprocess
import unittest

from tools import BIN, LIMIT_S, ToolsTest, Watched, run

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


def children_of(process):
    return [int(child) for child in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def is_running(process):
    """Waits for the kernel to end a process that has its signal; False when it has."""
    try:
        ended = os.pidfd_open(process)
    except ProcessLookupError:
        return False
    with os.fdopen(ended):
        return not select.select([ended], [], [], LIMIT_S)[0]


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

    def test_connections_share_buffers(self):
        for size in ("64", "65536"):
            with self.subTest(size=size):
                result = self.measure("exs-crowd", "--connections", "300", "--pool", "7", "--rounds", "2", "--size", size)
                self.assertEqual((result["pool_buffers"], result["errors"], result["nothing_left"]), (7, 0, True))

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
        while not (processes := children_of(tool.pid)) and tool.poll() is None:
            pass
        os.kill(processes[0], signal.SIGKILL)
        _, errors = tool.communicate(timeout=LIMIT_S)
        self.assertEqual(tool.returncode, 1)
        self.assert_one_line(errors, "exs-crowd: ", "a client process has ended by signal 9")

    def assert_ended_by(self, send_signal, phase):
        """One signal, in the middle of a phase of many connections, and all processes are gone."""
        crowd = Watched("exs-crowd", "--connections", "2000", "--pairs", "3", "--rounds", "1000", start_new_session=True)
        self.addCleanup(crowd.kill)
        crowd.wait_for_progress(phase.encode())
        clients = children_of(crowd.process.pid)
        self.assertEqual(len(clients), 2)
        send_signal(crowd.process.pid, clients)
        output, errors, status = crowd.finish()
        self.assertEqual((status, output), (130, ""))
        # A later phase may have begun before the signal was sent.
        self.assertRegex(errors, r"^exs-crowd: interrupted in (warm-up|round \d+ of 1000), (connecting|exchanging messages|closing)$")
        for client in clients:
            self.assertFalse(is_running(client))

    def test_sigint_to_all_ends_it(self):
        for phase in ("connecting", "exchanging messages", "closing"):
            with self.subTest(phase=phase):
                self.assert_ended_by(lambda server, _: os.killpg(server, signal.SIGINT), phase)

    def test_a_signal_to_one_process_ends_it(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number, process="server"):
                self.assert_ended_by(lambda server, _, number=number: os.kill(server, number), "connecting")
            with self.subTest(signal=number, process="client"):
                self.assert_ended_by(lambda _, clients, number=number: os.kill(clients[1], number), "exchanging")


if __name__ == "__main__":
    unittest.main()
