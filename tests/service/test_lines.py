# SPDX-License-Identifier: BSD-2-Clause
"""Lines hurt nobody: each daemon and server goes on, and ends by SIGTERM, whatever has become of its standard error; a daemon whatever has
become of its standard output."""
import contextlib
import os
import pathlib
import signal
import socket
import sys
import unittest

from servers import LIMIT_S, Agent, Directory, each_server, start

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from full_pipe import full_pipe  # noqa: E402

STRANGERS = 20
ASKERS = 3


@contextlib.contextmanager
def pipe_without_reader():
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb", buffering=0) as pipe:
        yield pipe


@contextlib.contextmanager
def full_disk():
    with open("/dev/full", "wb", buffering=0) as file:
        yield file


WAYS = {"a pipe that nobody reads": full_pipe, "a pipe whose reader has gone": pipe_without_reader, "a full disk": full_disk}


class Lines(unittest.TestCase):
    def expect_service(self, server, what):
        for _ in range(ASKERS):
            self.assertTrue(server.serves(), what)
        for _ in range(STRANGERS):
            with socket.create_connection(("127.0.0.1", server.port), LIMIT_S) as stranger, contextlib.suppress(ConnectionError):
                stranger.sendall(os.urandom(200))
        self.assertTrue(server.serves(), f"{what}, after strangers")
        self.assertIsNone(server.process.poll(), what)
        server.process.send_signal(signal.SIGTERM)
        self.assertIn(server.process.wait(LIMIT_S), (0, -signal.SIGTERM), what)

    @each_server
    def test_errors(self, serve):
        for what, way in WAYS.items():
            with way() as errors:
                server = serve(errors=errors, environment={"EXS_LOG": "debug"})
                self.assertTrue(server.starts(), what)
                self.expect_service(server, what)

    def test_output_of_daemons(self):
        for kind in Directory, Agent:
            for what, way in WAYS.items():
                with self.subTest(server=kind.name, output=what), contextlib.ExitStack() as stack:
                    self.expect_service(start(stack, kind, "tcp", output=stack.enter_context(way())), what)

    def test_a_daemon_that_is_started_without_either(self):
        """What it opens then does not get their numbers: lines would go there."""
        for kind in Directory, Agent:
            with self.subTest(server=kind.name), contextlib.ExitStack() as stack:
                server = start(stack, kind, "tcp", output=stack.enter_context(full_disk()), prepare=lambda: os.closerange(0, 3))
                self.expect_service(server, "closed")


if __name__ == "__main__":
    unittest.main()
