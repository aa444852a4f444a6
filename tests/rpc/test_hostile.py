# SPDX-License-Identifier: BSD-2-Clause
"""Links that lie (hostile/main.cc): the server ends each that breaks a rule of rpc/FORMAT.md, answers what is only a wrong call, and
serves everybody else meanwhile."""
import os
import random
import subprocess
import unittest

import peers

# Of a link that keeps the rules of links; the others end.
ANSWERED = {"no such program", "no such procedure", "an unknown credential",
            "arguments that say they are longer", "no arguments", "a right call", "who had it first"}
TOLD = {"a token": "welcome", "a second token of a connection with a link": "refused",
        "a body that does not come, meanwhile": "TCP is served"}
ROUNDS = int(os.environ.get("EXS_LONG_SECONDS", "0")) * 5 or 40


class Hostile(unittest.TestCase):
    def start(self, way):
        server = self.enterContext(peers.server(way))
        self.addCleanup(lambda: self.assertIsNone(server.poll(), "the server has ended"))
        return server

    def honest_client_is_served(self, server, by_exs=True):
        done = peers.run(peers.NEW, server.port, EXS_SUNRPC_AFTER="0")
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        self.assertNotIn("other bytes", done.stdout)
        self.assertEqual(peers.has_connected(done.stderr), by_exs)

    def expected(self, name):
        return TOLD.get(name, "reply" if name in ANSWERED else "ended")

    def test_cases(self):
        for way in peers.WAYS:
            if way == "old":
                continue
            with self.subTest(way):
                server = self.start(way)
                done = subprocess.run([peers.PROGRAMS / "rpc-hostile", "cases", server.port], capture_output=True, text=True,
                                      timeout=peers.LIMIT_S * 2, check=False)
                told = dict(line.split(": ", 1) for line in done.stdout.splitlines())
                self.assertEqual(told, {name: self.expected(name) for name in told})
                self.assertEqual(done.returncode, 0, done.stderr[-3000:])
                self.assertIn("a body that does not come, meanwhile", told)
                self.honest_client_is_served(server)

    def test_crowd(self):
        server = self.start(peers.NEW)
        command = [peers.PROGRAMS / "rpc-hostile", "crowd", server.port, "300"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as crowd:
            words = crowd.stdout.readline().split()
            self.assertEqual(words[:2], ["300", "strangers,"])
            self.assertGreaterEqual(int(words[2]), 300 - 256)
            done = peers.run("old", server.port)
            self.assertEqual(done.returncode, 0, done.stderr[-3000:])
            crowd.stdin.close()
            crowd.wait()
        self.assertEqual(crowd.returncode, 0)
        self.honest_client_is_served(server)

    def test_random(self):
        seed = int(os.environ.get("EXS_TEST_SEED", "0")) or random.randrange(1, 1 << 32)
        print(f"EXS_TEST_SEED={seed}", flush=True)
        server = self.start(peers.NEW)
        done = subprocess.run([peers.PROGRAMS / "rpc-hostile", "random", server.port, str(ROUNDS), str(seed)],
                              capture_output=True, text=True, timeout=peers.LIMIT_S * 3, check=False)
        self.assertEqual(done.returncode, 0, (seed, done.stdout, done.stderr[-3000:]))
        self.honest_client_is_served(server)


if __name__ == "__main__":
    unittest.main()
