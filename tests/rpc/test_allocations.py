# SPDX-License-Identifier: BSD-2-Clause
"""Each allocation of libexs-sunrpc.so and libexs.so fails in turn, in the client or in the server. No exception may pass a frame of libtirpc:
the process lives, and each call but at most one succeeds. That one reports the connection that is lost. RPC_FAILING_NEW is the library that
makes an allocation fail (failing_new.cc)."""
import os
import pathlib
import tempfile
import unittest

import peers

FAILING = os.environ["RPC_FAILING_NEW"]
NUMBERS_MAX = 5000
# By the link: short and long calls, of several handles.
WORDS = ("new", "null", "null", "echo=9000", "echo=100000", "null", "new", "echo=100000", "null", "destroy", "null", "echo=9000", "null")
CALLS = sum(word.startswith(("null", "echo")) for word in WORDS)


class Allocations(unittest.TestCase):
    AT_ONCE = {"EXS_SUNRPC_AFTER": "0"}

    def setUp(self):
        self.report = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()), "failed")

    def shortage(self, way, number):
        preload = ":".join([FAILING] + ([peers.LIBRARY] if way == "preloaded" else []))
        return {"LD_PRELOAD": preload, "FAIL_NEW": str(number), "FAIL_NEW_REPORT": str(self.report)}

    def each_number(self, play):
        """Calls play(number) until no allocation has this number."""
        for number in range(NUMBERS_MAX):
            with self.subTest(number=number):
                play(number)
            if not self.report.exists():
                self.assertGreater(number, 10)
                return
            self.report.unlink()
        self.fail("there is no end of allocations")

    def call(self, server, way, **more):
        done = peers.run(way, server.port, *WORDS, program="rpc-fault-client", **{**self.AT_ONCE, **more})
        self.assertEqual(done.returncode, 0, (done.stdout, done.stderr[-3000:]))
        told = [line.split(": ")[1] for line in done.stdout.splitlines()]
        self.assertEqual(len(told), CALLS, done.stdout)
        self.assertLessEqual(set(told), {"done", "no connection"}, done.stdout)
        self.assertLessEqual(told.count("no connection"), 1, done.stdout)
        # A busy machine moves the number on, even to the last call.
        self.assertTrue(told[-1] == "done" or self.report.exists(), done.stdout)

    def expect_link(self, server, way, words=("new", "null", "link"), program="rpc-fault-client", told=("null: done", "link: exs")):
        self.assertIsNone(server.poll(), "the server has ended")
        done = peers.run(way, server.port, *words, program=program, **self.AT_ONCE)
        self.assertEqual(tuple(done.stdout.splitlines()), told)

    def test_of_a_client(self):
        for way in (way for way in peers.WAYS if way != "old"):
            with peers.server(way) as server:
                self.each_number(lambda number: self.call(server, way, **self.shortage(way, number)))
                self.expect_link(server, way)

    def test_of_a_server(self):
        def play(number):
            with peers.server(peers.NEW, **self.shortage(peers.NEW, number)) as server:
                self.call(server, peers.NEW)
                if self.report.exists():  # else the allocation may fail now
                    self.expect_link(server, peers.NEW)
        self.each_number(play)

    def test_of_a_server_with_threads(self):
        program = "rpc-meeting-client"

        def play(number):
            with peers.server(peers.NEW, 2, program="rpc-meeting-server", **self.shortage(peers.NEW, number)) as server:
                done = peers.run(peers.NEW, server.port, "double=10", "repeat=100000", "double=10", program=program, **self.AT_ONCE)
                self.assertIn(done.returncode, (0, 1), done.stderr[-3000:])
                if self.report.exists():
                    self.expect_link(server, peers.NEW, ("double=10", "link"), program, ("double=10 yes", "link yes"))
        self.each_number(play)


if __name__ == "__main__":
    unittest.main()
