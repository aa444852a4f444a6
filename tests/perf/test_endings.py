# SPDX-License-Identifier: BSD-2-Clause
"""Measurements that end early: the other end dies, or the user has seen enough."""
import json
import signal
import unittest

from tools import ToolsTest, Watched


class Endings(ToolsTest):
    def start_client(self, *command):
        kind = () if "--kind" in command else ("--kind", "normal")
        client = Watched(*command, *kind, "--time", "50", "--json")
        self.addCleanup(client.kill)
        client.wait_for_progress()
        return client

    def test_sigint_prints_what_there_is(self):
        for tool in ("exs-blast", "exs-ping"):
            with self.subTest(tool=tool):
                client = self.start_client(tool, "--self")
                client.process.send_signal(signal.SIGINT)
                output, errors, status = client.finish()
                self.assertEqual((status, errors), (130, ""))
                result = json.loads(output)
                self.assertGreater(result["messages"], 0)
                self.assertLess(result["seconds"], 50)

    def assert_what_there_was_is_told(self, client, tool):
        output, errors, status = client.finish()
        self.assertEqual(status, 1)
        self.assert_one_line(errors, tool + ": ")
        result = json.loads(output)
        self.assertGreater(result["messages"], 0)
        self.assertIn(result["error"], errors)
        self.assertIsNone(result["receiver_cpu_percent"])

    def test_a_server_that_dies_is_noticed(self):
        for tool in ("exs-blast", "exs-ping"):
            with self.subTest(tool=tool):
                server = self.start_server(tool)
                client = self.start_client(tool, "127.0.0.1", "--port", server.port)
                server.kill()
                self.assert_what_there_was_is_told(client, tool)

    def test_a_server_of_posted_memory_that_dies_is_noticed(self):
        for kind in ("persistent", "persistent-receive", "transaction"):
            with self.subTest(kind=kind):
                server = self.start_server("exs-blast")
                client = self.start_client("exs-blast", "127.0.0.1", "--port", server.port, "--kind", kind)
                server.kill()
                self.assert_what_there_was_is_told(client, "exs-blast")

    def test_a_client_of_posted_memory_that_dies_does_not_stop_the_server(self):
        server = self.start_server("exs-blast")
        for kind in ("persistent", "persistent-receive", "transaction"):
            with self.subTest(kind=kind):
                client = self.start_client("exs-blast", "127.0.0.1", "--port", server.port, "--kind", kind)
                client.kill()
                self.assertRegex(server.process.stdout.readline(), "the connection broke|the persistent send ended")
                self.measure("exs-blast", "127.0.0.1", "--port", server.port, "--count", "10", "--kind", kind)
                self.assertIn("10.0 messages", server.process.stdout.readline())
        output, status = server.stop()
        self.assertEqual(status, 0)
        self.assertIn("served 3 clients, 3 failed", output)

    def test_a_client_that_dies_does_not_stop_the_server(self):
        for tool in ("exs-blast", "exs-ping"):
            with self.subTest(tool=tool):
                server = self.start_server(tool)
                client = self.start_client(tool, "127.0.0.1", "--port", server.port)
                client.kill()
                told = server.process.stdout.readline()
                self.assertIn("the connection broke", told)
                self.assertIn("see whether the peer's process was killed", told)
                self.measure(tool, "127.0.0.1", "--port", server.port, "--kind", "normal", "--count", "10")
                output, status = server.stop()
                self.assertEqual(status, 0)
                self.assertIn("served 1 clients, 1 failed", output)

    def test_a_server_that_is_stopped_ends_its_clients(self):
        server = self.start_server("exs-blast")
        client = self.start_client("exs-blast", "127.0.0.1", "--port", server.port)
        output, status = server.stop()
        self.assertEqual(status, 0)
        self.assertIn("served 0 clients, 1 failed", output)
        self.assertEqual(client.finish()[2], 1)


if __name__ == "__main__":
    unittest.main()
