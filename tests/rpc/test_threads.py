# SPDX-License-Identifier: BSD-2-Clause
"""A server whose threads are exs-sunrpc's: procedures run at the same time, by exs and by TCP, and ends may go at any moment."""
import unittest

import peers

SERVER, CLIENT = "rpc-meeting-server", "rpc-meeting-client"


class Threads(peers.ClientTest):
    PROGRAM = CLIENT

    def start(self, way, threads):
        return self.enterContext(peers.server(way, threads, program=SERVER))

    def tell(self, client):
        told, _ = client.communicate(timeout=peers.LIMIT_S)
        return told.splitlines(), client.returncode

    def test_procedures_run_at_the_same_time(self):
        for way in self.WITH_LIBRARY:
            with self.subTest(way):
                server = self.start(way, 3)
                clients = [self.client(way, server, "double=10", "link", "meet=3", "double=100", "repeat=100000") for _ in range(3)]
                for client in clients:
                    self.assertEqual(self.tell(client), (["double=10 yes", "link yes", "meet=3 yes", "double=100 yes", "repeat=100000 yes"], 0))

    def test_by_tcp_at_the_same_time(self):
        """The one thread for TCP must have answered the question after a link before a procedure keeps it."""
        server = self.start(peers.NEW, 1)
        linked = self.client(peers.NEW, server, "double=10", "link", "meet=2", "double=100")
        self.assertEqual([linked.stdout.readline() for _ in range(2)], ["double=10 yes\n", "link yes\n"])
        old = self.client("old", server, "double=10", "link", "meet=2", "double=100")
        self.assertEqual(self.tell(old), (["double=10 yes", "link no", "meet=2 yes", "double=100 yes"], 0))
        self.assertEqual(self.tell(linked), (["meet=2 yes", "double=100 yes"], 0))

    def test_more_clients_than_threads(self):
        way = peers.NEW
        server = self.start(way, 2)
        for client in [self.client(way, server, "double=500", "repeat=5000", "repeat=0", "double=500") for _ in range(5)]:
            told, code = self.tell(client)
            self.assertEqual((len(told), code), (4, 0), told)

    def test_clients_are_killed_in_the_middle(self):
        way = peers.NEW
        server = self.start(way, 2)
        for _ in range(5):
            busy = self.client(way, server, "double=1", "double=1000000")
            self.assertEqual(busy.stdout.readline(), "double=1 yes\n")
            waits = self.client(way, server, "double=1", "meet=2")
            self.assertEqual(waits.stdout.readline(), "double=1 yes\n")
            self.end(busy)
            self.assertEqual(self.tell(self.client(way, server, "double=10", "meet=2"))[1], 0)
            self.assertEqual(self.tell(waits)[1], 0)
        self.assertIsNone(server.poll())

    def test_one_thread_as_ever(self):
        for threads in 0, 1:
            told, code = self.tell(self.client(peers.NEW, self.start(peers.NEW, threads), "double=10", "link", "meet=1"))
            self.assertEqual((told, code), (["double=10 yes", "link yes", "meet=1 yes"], 0))


if __name__ == "__main__":
    unittest.main()
