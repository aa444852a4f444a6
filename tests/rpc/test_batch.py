# SPDX-License-Identifier: BSD-2-Clause
"""Calls that wait for no answer: each arrives in order, as by libtirpc alone, or fails and is not carried out. batch_client.c has the
words."""
import itertools
import subprocess
import unittest

import peers

SERVER, CLIENT = "rpc-batch-server", "rpc-batch-client"
LIMIT_S = 4 * peers.LIMIT_S


class Batches(peers.ClientTest):
    PROGRAM = CLIENT

    def start(self, way, *arguments):
        return self.enterContext(peers.server(way, *arguments, program=SERVER, stdin=subprocess.PIPE))

    def tell(self, client):
        told, _ = client.communicate(timeout=LIMIT_S)
        self.assertEqual(client.returncode, 0, told)
        return told.splitlines()

    def play(self, server, client, *words, threads=(), **more):
        return self.tell(self.client(client, self.start(server, *threads), *words, **more))

    def for_each_way(self, *words, **more):
        """What a client prints, but for its way, is the same with and without the library at either end."""
        expected = self.play("old", "old", *words, **more)
        for server, client in itertools.product(peers.WAYS, peers.WAYS):
            with self.subTest(server=server, client=client):
                told = self.play(server, client, *words, **more)
                way = "exs" if peers.goes_by_exs(server, client) else "TCP"
                self.assertEqual(told, [f"link: {way}" if line.startswith("link: ") else line for line in expected])
        return expected

    def release(self, server):
        """A procedure that holds goes on, or will not hold."""
        server.stdin.write("\n")
        server.stdin.flush()


class InOrder(Batches):
    def test_short(self):
        for count in 1, 96, 97, 500, 5000:
            told = self.for_each_way("new", "call=4", "link", f"send={count},4", "call=4", "tally", "link")
            self.assertEqual(told[-2], f"tally: {count + 2} in order")

    def test_long(self):
        told = self.for_each_way("new", "call=4", "send=100,9000", "send=30,250000", "send=10,4", "send=1,250000", "tally", "link")
        self.assertEqual(told[-2], "tally: 142 in order")

    def test_mixed(self):
        """Short and long, with calls that wait between them, and with a proof of identity."""
        told = self.for_each_way("new", "sys", "call=4", "call=200000", "mixed=300", "call=200000", "call=4", "mixed=5", "tally", "link")
        self.assertEqual(told[-2], "tally: 318 in order")

    def test_before_and_after_the_link(self):
        """The question after a link does not come among them, nor does its answer."""
        told = self.for_each_way("new", "call=4", "send=50,4", "call=4", "send=50,4", "call=4", "call=4", "call=4", "link", "send=50,4", "call=4",
                                 "link", "tally", EXS_SUNRPC_AFTER="3")
        self.assertEqual(told[-1], "tally: 156 in order")

    def test_answers_that_nobody_waits_for(self):
        """Each is told as libtirpc tells it, and no answer is taken for that of a later call."""
        told = self.for_each_way("new", "call=4", "ask=50,4", "call=4", "send=5,4", "ask=3,9000", "call=4", "call=300000", "ask=1,4", "tally", "link")
        self.assertEqual(told[1], "ask: 50 timed out")
        self.assertEqual(told[-2], "tally: 63 in order")

    def test_many_threads(self):
        for threads in (), (3,):
            told = self.for_each_way("threads=6", threads=threads)
            self.assertEqual(told, ["threads: 6, 0 wrong"])


class Slow(Batches):
    """The server is busy with a call whose caller has given it up; what follows must not overtake that."""

    def held(self, server, client, *words):
        started = self.start(server)
        caller = self.client(client, started, "new", "call=4", "link", "limit=50", "hold", "limit=60000", "wait", *words)
        lines = self.lines_until(caller, "wait")
        self.go_on(caller)
        self.assertEqual(lines[1], f"link: {'exs' if peers.goes_by_exs(server, client) else 'TCP'}")
        return started, caller

    def test_few_wait_for_nothing(self):
        for server, client in itertools.product(peers.WAYS, peers.WAYS):
            with self.subTest(server=server, client=client):
                started, caller = self.held(server, client, "send=10,4", "send=3,9000", "ask=5,4", "wait", "call=4", "send=7,4", "tally")
                self.assertEqual(self.lines_until(caller, "wait"), ["send: 10 done", "send: 3 done", "ask: 5 timed out", "wait"])
                self.release(started)
                self.go_on(caller)
                self.assertEqual(self.tell(caller), ["call: done", "send: 7 done", "tally: 28 in order"])

    def test_many(self):
        """They wait for the server, not for one that ends never."""
        for server, client in itertools.product(peers.WAYS, peers.WAYS):
            with self.subTest(server=server, client=client):
                started, caller = self.held(server, client, "send=500,4", "mixed=60", "send=20,250000", "call=4", "link", "tally")
                self.release(started)
                told = self.tell(caller)
                self.assertEqual(told[:-2] + told[-1:], ["send: 500 done", "mixed: 0 wrong", "send: 20 done", "call: done", "tally: 584 in order"])

    def test_limit_while_they_wait(self):
        """A call that has no room before its limit is over is not carried out at all."""
        for way in self.WITH_LIBRARY:
            started, caller = self.held(way, way, "send=31,4", "limit=50", "call=4", "call=4", "limit=60000", "wait", "call=4", "tally", "link")
            self.lines_until(caller, "wait")
            self.release(started)
            self.go_on(caller)
            self.assertEqual(self.tell(caller), ["call: done", "tally: 34 in order", "link: exs"])

    def test_what_has_failed_comes_not_later(self):
        """A long call that is given up ends the link, with all that the server has not begun by then."""
        for server, client in itertools.product(peers.WAYS, peers.WAYS):
            with self.subTest(server=server, client=client):
                started, caller = self.held(server, client, "limit=50", "call=4", "call=100000", "limit=60000", "wait", "call=4", "send=5,4", "tally")
                self.assertEqual(self.lines_until(caller, "wait"), ["call: timed out", "call: timed out", "wait"])
                self.release(started)
                self.go_on(caller)
                *others, last = self.tell(caller)
                self.assertEqual(others, ["call: done", "send: 5 done"])
                self.assertRegex(last, "^tally: (8|9|10) in order$")


class Ends(Batches):
    def test_destroyed_behind_them(self):
        """libtirpc alone would lose those that it keeps."""
        for server, client in itertools.product(self.WITH_LIBRARY, self.WITH_LIBRARY):
            for words in ("send=10,4",), ("send=500,4",), ("send=3,250000", "send=1,4"), ("ask=3,4", "send=1,4"), ("send=40,4", "ask=30,9000", "send=4,60000"):
                with self.subTest(words, server=server, client=client):
                    count = 1 + sum(int(word.split("=")[1].split(",")[0]) for word in words)
                    told = self.play(server, client, "new", "call=4", "link", *words, "destroy", f"await={count}")
                    self.assertEqual(told[1], "link: exs")
                    self.assertEqual(told[-1], f"await: {count} in order")

    def test_destroyed_while_the_server_is_busy(self):
        for way in self.WITH_LIBRARY:
            started = self.start(way)
            caller = self.client(way, started, "new", "call=4", "limit=50", "hold", "limit=60000", "send=20,4", "send=2,9000", "wait", "destroy",
                                 "await=24")
            self.lines_until(caller, "wait")
            self.go_on(caller)
            self.release(started)
            self.assertEqual(self.tell(caller), ["await: 24 in order"])

    def test_link_does_not_end_itself(self):
        for way in self.WITH_LIBRARY:
            for threads in (), (2,):
                self.assertEqual(self.play(way, way, "end", threads=threads), ["end: done, timed out, done by exs"])

    def test_destroyed_when_the_server_is_gone(self):
        """No signal of a broken connection ends the program."""
        for way in self.WITH_LIBRARY:
            started = self.start(way)
            caller = self.client(way, started, "new", "call=4", "link", "wait", "send=10,4", "destroy", "wait")
            self.assertEqual(self.lines_until(caller, "wait"), ["call: done", "link: exs", "wait"])
            started.kill()
            started.wait()
            self.assertEqual(caller.communicate("\n\n", timeout=LIMIT_S)[0].splitlines(), ["send: 10 done", "wait"])
            self.assertEqual(caller.returncode, 0)


if __name__ == "__main__":
    unittest.main()
