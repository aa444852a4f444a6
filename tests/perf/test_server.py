# SPDX-License-Identifier: BSD-2-Clause
"""A server: many clients at once, strangers, and an orderly end."""
import pathlib
import re
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from full_pipe import fill  # noqa: E402
from tools import BIN, LIMIT_S, ToolsTest, run


class ServerTest(ToolsTest):
    def assert_ended_well(self, server, served):
        output, status = server.stop()
        self.assertEqual(status, 0, output)
        summary = re.fullmatch(r"served (\d+) clients, (\d+) failed, (\d+) messages, (\d+) bytes", output.strip().splitlines()[-1])
        self.assertEqual(int(summary[1]), served, output)
        return output, int(summary[3])

    def test_clients_at_the_same_time_with_options_of_their_own(self):
        for tool in ("exs-blast", "exs-ping"):
            with self.subTest(tool=tool):
                server = self.start_server(tool)
                base = [BIN / tool, "127.0.0.1", "--port", server.port, "--verify", "--json"]
                clients = [
                    subprocess.Popen([*base, *options], stdout=subprocess.PIPE, text=True)
                    for options in (
                        ["--kind", "normal", "--size", "100K", "--count", "500"],
                        ["--kind", "immediate", "--size", "4K", "--count", "700", "--wait", "notify"],
                        ["--kind", "immediate", "--size", "1", "--count", "900", "--memory", "alloc"],
                    )
                ]
                for client in clients:
                    output = client.communicate(timeout=LIMIT_S)[0]
                    self.assertEqual(client.returncode, 0)
                    self.assertIn('"verified": true', output)
                _, messages = self.assert_ended_well(server, 3)
                self.assertEqual(messages, 500 + 700 + 900)

    def test_clients_of_posted_memory_at_the_same_time(self):
        server = self.start_server("exs-blast")
        base = [BIN / "exs-blast", "127.0.0.1", "--port", server.port, "--verify", "--json", "--count", "300", "--kind"]
        clients = [subprocess.Popen([*base, kind], stdout=subprocess.PIPE, text=True)
                   for kind in ("persistent", "persistent-receive", "transaction", "transaction")]
        for client in clients:
            output = client.communicate(timeout=LIMIT_S)[0]
            self.assertEqual(client.returncode, 0)
            self.assertIn('"verified": true', output)
        self.assert_ended_well(server, 4)

    def test_a_kind_that_the_tool_does_not_have_is_refused(self):
        server = self.start_server("exs-ping")
        self.succeed("perf-foreign-client", server.port, "other-kind")
        self.assert_ended_well(server, 0)

    def test_sigint_ends_an_idle_server(self):
        self.assert_ended_well(self.start_server("exs-ping"), 0)

    def test_nobody_reads_what_it_prints(self):
        server = self.start_server("exs-ping")
        with open(f"/proc/{server.process.pid}/fd/1", "wb", buffering=0) as output:
            fill(output)
        for _ in range(3):
            self.succeed("exs-ping", "127.0.0.1", "--port", server.port, "--count", "10")
        server.process.send_signal(signal.SIGINT)
        self.assertEqual(server.process.wait(LIMIT_S), 0)

    def test_strangers_are_refused_and_others_served(self):
        server = self.start_server("exs-blast")
        # Not even the provider's protocol.
        with socket.create_connection(("127.0.0.1", int(server.port))) as stranger:
            stranger.sendall(b"GET / HTTP/1.1\r\n\r\n" + bytes(1000))
        # The library's protocol, but no control message.
        self.succeed("perf-foreign-client", server.port)
        # The other tool.
        other = run("exs-ping", "127.0.0.1", "--port", server.port, "--count", "1")
        self.assertEqual(other.returncode, 1)
        self.assert_one_line(other.stderr, "the server refuses", "other tool")
        self.measure("exs-blast", "127.0.0.1", "--port", server.port, "--count", "100", "--verify")
        output, messages = self.assert_ended_well(server, 1)
        self.assertEqual(messages, 100)
        self.assertGreaterEqual(output.count("refused: malformed request\n"), 10)

    def test_a_taken_port_is_named(self):
        server = self.start_server("exs-blast")
        second = run("exs-blast", "-s", "--bind", "127.0.0.1", "--port", server.port)
        self.assertEqual(second.returncode, 1)
        self.assertIn(server.port, second.stderr)


if __name__ == "__main__":
    unittest.main()
