# SPDX-License-Identifier: BSD-2-Clause
"""Tools and examples go on when a signal that does not concern them interrupts their waiting."""
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

from tools import BIN, LIMIT_S, ToolsTest

INTERRUPTED = {**os.environ, "LD_PRELOAD": os.environ["EXS_INTERRUPTIONS"]}
IDLE_S = 0.1  # a server has been interrupted in its waiting by then


class Signals(ToolsTest):
    def start(self, *command):
        process = subprocess.Popen([BIN / command[0], *command[1:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=INTERRUPTED)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def serve(self, *command):
        """A server and its port, once it has waited for a while."""
        server = self.start(*command)
        port = re.search(r"(\d+)$", server.stdout.readline())[1]
        try:
            server.wait(IDLE_S)
            self.fail(server.communicate())
        except subprocess.TimeoutExpired:
            return server, port

    def assert_ends(self, process):
        output, errors = process.communicate(timeout=LIMIT_S)
        self.assertEqual((process.returncode, errors), (0, ""), output)
        return output

    def stop(self, server):
        server.send_signal(signal.SIGINT)
        return self.assert_ends(server)

    def test_echo(self):
        server, port = self.serve("echo_server", "0")
        self.assert_ends(self.start("echo_client", "-p", port, "-c", "20", "-m", "200"))
        self.stop(server)

    def test_requests(self):
        server, port = self.serve("request_server", "0")
        self.assert_ends(self.start("request_load", "-p", port, "-c", "50", "-m", "100"))
        self.assertIn("50 clients served, 0 failed", self.stop(server))

    def test_coroutines(self):
        server, port = self.serve("coroutine_server", "0")
        self.assert_ends(self.start("request_load", "-p", port, "-c", "50", "-m", "100"))
        self.stop(server)

    def test_double_buffer(self):
        self.assert_ends(self.start("double_buffer"))

    def test_heat(self):
        server, port = self.serve("heat", "0")
        self.assert_ends(self.start("heat_view", "--port", port, "--plain", "--frames", "10"))
        self.stop(server)

    def test_copy(self):
        with tempfile.TemporaryDirectory() as folder:
            source, target = pathlib.Path(folder, "source"), pathlib.Path(folder, "target")
            source.write_bytes(os.urandom(40 << 20))
            server, port = self.serve("exs-cp", "-s", "0", target)
            self.assert_ends(self.start("exs-cp", port, source))
            self.assert_ends(server)
            self.assertEqual(source.read_bytes(), target.read_bytes())

    def test_measurements(self):
        for tool, *kinds in (("exs-ping", "normal", "immediate", "persistent"),
                             ("exs-blast", "normal", "immediate", "persistent", "persistent-receive", "transaction", "stream")):
            server, port = self.serve(tool, "-s", "--bind", "127.0.0.1", "--port", "0")
            for kind in kinds:
                with self.subTest(tool=tool, kind=kind):
                    self.assert_ends(self.start(tool, "127.0.0.1", "--port", port, "--kind", kind, "--size", "4K", "--time", "0.1",
                                                "--wait", "notify", "--verify"))
            self.stop(server)

    def test_one_process_for_both_ends(self):
        for command in (["exs-ping", "--self", "--time", "0.1"], ["exs-blast", "--self", "--time", "0.1"],
                        ["exs-crowd", "--connections", "300", "--rounds", "1"], ["exs-explain"],
                        ["tcp-baseline", "--time", "0.1"], ["shm-baseline", "--time", "0.1"]):
            with self.subTest(command=command):
                self.assert_ends(self.start(*command))


if __name__ == "__main__":
    unittest.main()
