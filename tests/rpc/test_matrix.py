# SPDX-License-Identifier: BSD-2-Clause
"""A client and a server of rpcgen, each without libexs-sunrpc.so, linked with it, and run with it: what the client is told is the same,
and the calls of two that have it go by exs."""
import tempfile
import unittest

import peers


class Matrix(unittest.TestCase):
    def play(self, server, client, is_local=False, *arguments, **more):
        """(exit status, what the client printed), whether it connected by exs"""
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/socket"
            with peers.server(server, path, **more) as process:
                done = peers.run(client, path if is_local else process.port, *arguments, **more)
                self.assertIsNone(process.poll(), "the server has ended")
        return (done.returncode, done.stdout), done.stderr

    def compare(self, is_local, *arguments, **more):
        expected, _ = self.play("old", "old", is_local, *arguments)
        self.assertEqual(expected[0], 0, expected)
        for server in peers.WAYS:
            for client in peers.WAYS:
                if (server, client) == ("old", "old"):
                    continue
                with self.subTest(server=server, client=client, local=is_local):
                    found, log = self.play(server, client, is_local, *arguments, **more)
                    self.assertEqual(found, expected, log[-3000:])
                    self.assertEqual(peers.has_connected(log), peers.goes_by_exs(server, client))

    def test_tcp(self):
        self.compare(False)

    def test_local_sockets(self):
        self.compare(True)

    def test_from_the_first_call(self):
        self.compare(False, EXS_SUNRPC_AFTER="0")

    def test_iwarp(self):
        self.compare(False, EXS_PROVIDER="iwarp")

    def test_off(self):
        expected, _ = self.play("old", "old")
        found, log = self.play(peers.NEW, peers.NEW, EXS_SUNRPC="off")
        self.assertEqual(found, expected)
        self.assertFalse(peers.has_connected(log))


    def test_large(self):
        """100 MiB there and back, and more than a server takes by exs, which TCP carries."""
        expected, _ = self.play("old", "old", False, "large")
        self.assertEqual(expected[0], 0, expected)
        found, log = self.play(peers.NEW, peers.NEW, False, "large", EXS_SUNRPC_AFTER="0")
        self.assertEqual(found, expected, log[-3000:])
        self.assertTrue(peers.has_connected(log))


if __name__ == "__main__":
    unittest.main()
