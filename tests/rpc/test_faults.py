# SPDX-License-Identifier: BSD-2-Clause
"""Ends that are killed, stopped, forked, or short of something: each call ends within its limit as libtirpc's own would, what cannot go
by exs goes by TCP, and the server is there for the next. fault_client.c has the words."""
import os
import pathlib
import signal
import time
import unittest

import peers

CLIENT = "rpc-fault-client"
CONFINED = os.environ["EXS_CONFINED"]
STEPS = ("new", "null", "null", "null", "null", "link", "echo=100", "echo=9000", "echo=1000000", "null")


def descriptors(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


class Faults(peers.ClientTest):
    PROGRAM = CLIENT

    def tell(self, server, client, *words, **more):
        """What a client printed, a line each."""
        done = peers.run(client, server.port, *words, program=CLIENT, **{**self.AT_ONCE, **more})
        self.assertEqual(done.returncode, 0, (words, done.stdout, done.stderr[-3000:]))
        return done.stdout.splitlines()

    def start(self, way, **more):
        return self.enterContext(peers.server(way, **more))

    def play(self, way, *words, **more):
        with peers.server(way, **{name: more[name] for name in more if name != "prefix"}) as server:
            return self.tell(server, way, *words, **more)

    def served(self, server, way):
        self.assertIsNone(server.poll(), "the server has ended")
        self.assertEqual(self.tell(server, way, "new", "null", "link"), ["null: done", f"link: {'TCP' if way == 'old' else 'exs'}"])


class Killed(Faults):
    def test_server_in_a_procedure(self):
        """The call that it dies in is told of, and those that follow."""
        for way in peers.WAYS:
            for calls in range(4):
                with self.subTest(way, calls=calls):
                    told = self.play(way, "new", f"strike={signal.SIGKILL},{calls}", *["null"] * 6)
                    self.assertEqual(told, ["strike: done"] + ["null: done"] * calls + ["null: no connection"] * (6 - calls))

    def test_server_around_the_rendezvous(self):
        for way in peers.WAYS:
            for calls in range(6):
                with self.subTest(way, calls=calls), peers.server(way) as server:
                    told = self.tell(server, way, "new", f"strike={signal.SIGKILL},{calls}", *["null"] * 8, EXS_SUNRPC_AFTER="3")
                    self.assertEqual(told, ["strike: done"] + ["null: done"] * calls + ["null: no connection"] * (8 - calls))

    def test_server_between_calls(self):
        for way in self.WITH_LIBRARY:
            server = self.start(way)
            client = self.client(way, server, "new", "null", "link", "wait", "null", "null", "echo=100000", "link")
            self.assertEqual(self.lines_until(client, "wait"), ["null: done", "link: exs", "wait"])
            server.kill()
            server.wait()
            told, _ = client.communicate("\n", timeout=peers.LIMIT_S)
            self.assertEqual(told.splitlines(), ["null: no connection"] * 2 + ["echo: no connection", "link: TCP"])

    def test_client_at_any_moment(self):
        """After each line that it prints, and so at each step of a link's life."""
        for way in self.WITH_LIBRARY:
            server = self.start(way)
            self.served(server, way)
            for lines in range(len(STEPS)):
                with self.subTest(way, lines=lines):
                    client = self.client(way, server, *STEPS)
                    for _ in range(lines):
                        client.stdout.readline()
                    client.kill()
                    client.communicate()
                    self.served(server, way)

    def test_nothing_is_left(self):
        for way in self.WITH_LIBRARY:
            server = self.start(way)
            counts = []
            for _ in range(12):
                client = self.client(way, server, "new", "null", "link", "echo=100000", "wait")
                self.lines_until(client, "wait")
                client.kill()
                client.communicate()
                self.served(server, way)
                counts.append(descriptors(server))
            end = time.monotonic() + peers.LIMIT_S
            while descriptors(server) > max(counts[:3]):  # libexs closes behind the program's back
                self.assertLess(time.monotonic(), end, counts)
            self.assertIn("cycle: descriptors stay", self.tell(server, way, "cycle=100"))


class Stopped(Faults):
    def stopped_in_call(self, way):
        server = self.start(way)
        client = self.client(way, server, "new", "null", "link", f"strike={signal.SIGSTOP},0", "limit=50", "null", "null", "wait",
                             "limit=20000", "null", "echo=100000", "null", "link")
        expected = ["null: done", "link: exs", "strike: done", "null: timed out", "null: timed out", "wait"]
        self.assertEqual(self.lines_until(client, "wait"), expected)
        os.kill(server.pid, signal.SIGCONT)
        told, _ = client.communicate("\n", timeout=peers.LIMIT_S)
        self.assertEqual(told.splitlines(), ["null: done", "echo: done", "null: done", "link: exs"])

    def test_server_in_a_procedure(self):
        """Late replies are for nobody."""
        for way in self.WITH_LIBRARY:
            with self.subTest(way):
                self.stopped_in_call(way)

    def test_server_while_it_reads(self):
        """A call that ends while the server may read its memory ends the link; TCP goes on."""
        for way in self.WITH_LIBRARY:
            server = self.start(way)
            client = self.client(way, server, "new", "null", "link", "wait", "limit=50", "echo=100000", "link", "wait",
                                 "limit=20000", "null", "echo=100000", "link")
            self.lines_until(client, "wait")
            os.kill(server.pid, signal.SIGSTOP)
            self.go_on(client)
            self.assertEqual(self.lines_until(client, "wait"), ["echo: timed out", "link: TCP", "wait"])
            os.kill(server.pid, signal.SIGCONT)
            told, _ = client.communicate("\n", timeout=peers.LIMIT_S)
            self.assertEqual(told.splitlines(), ["null: done", "echo: done", "link: TCP"])

    def test_client(self):
        """No other client waits for it, as all would if libtirpc wrote a long reply by TCP."""
        for way in self.WITH_LIBRARY:
            server = self.start(way)
            client = self.client(way, server, "new", "null", "link", "wait", "echo=100000", "null", "link")
            self.lines_until(client, "wait")
            self.go_on(client)
            os.kill(client.pid, signal.SIGSTOP)  # somewhere in these
            self.served(server, way)
            os.kill(client.pid, signal.SIGCONT)
            told, _ = client.communicate(timeout=peers.LIMIT_S)
            self.assertEqual(told.splitlines(), ["echo: done", "null: done", "link: exs"])

    def test_server_before_the_rendezvous(self):
        """The question after a link ends before the call behind it is sent, which a server that goes on answers."""
        for way in self.WITH_LIBRARY:
            server = self.start(way)
            client = self.client(way, server, "new", "wait", "limit=50", "null", "link", "wait", "limit=20000", "null", "null")
            self.lines_until(client, "wait")
            os.kill(server.pid, signal.SIGSTOP)
            self.go_on(client)
            self.assertEqual(self.lines_until(client, "wait"), ["null: timed out", "link: TCP", "wait"])
            os.kill(server.pid, signal.SIGCONT)
            told, _ = client.communicate("\n", timeout=peers.LIMIT_S)
            self.assertEqual(told.splitlines(), ["null: done", "null: done"])

    def test_call_that_waits_for_nothing(self):
        """It does not wait for a link either."""
        for way in self.WITH_LIBRARY:
            self.assertEqual(self.play(way, "new", "send", "link", "null", "link", "send", "null", "link"),
                             ["send: timed out", "link: TCP", "null: done", "link: exs", "send: timed out", "null: done", "link: exs"])


class Forked(Faults):
    def test_before_the_link(self):
        """Who asks first has the link; the other one shares the TCP connection."""
        for way in self.WITH_LIBRARY:
            told = self.play(way, "new", "fork=null,link", "null", "null", "echo=5000")
            self.assertEqual(told, ["null: done", "link: exs", "child: 0", "null: done", "null: done", "echo: done"])

    def test_before_the_rendezvous(self):
        for way in self.WITH_LIBRARY:
            words = ("new", "null", "null", "fork=null,echo=5000,link", "null", "null", "null")
            with peers.server(way) as server:
                told = self.tell(server, way, *words, EXS_SUNRPC_AFTER="3")
            self.assertEqual(told, ["null: done"] * 3 + ["echo: done", "link: exs", "child: 0"] + ["null: done"] * 3)

    def test_after_the_link(self):
        for way in self.WITH_LIBRARY:
            told = self.play(way, "new", "null", "link", "fork=null,echo=9000,link", "null", "link", "fork=null", "echo=100000", "link")
            self.assertEqual(told, ["null: done", "link: exs", "null: done", "echo: done", "link: TCP", "child: 0", "null: done",
                                    "link: exs", "null: done", "child: 0", "echo: done", "link: exs"])

    def test_child_destroys(self):
        """And has handles of its own."""
        for way in self.WITH_LIBRARY:
            told = self.play(way, "new", "echo=100000", "link", "fork=destroy,new,null,link,destroy", "null", "echo=100000", "link")
            self.assertEqual(told, ["echo: done", "link: exs", "null: done", "link: TCP", "child: 0", "null: done", "echo: done",
                                    "link: exs"])

    def test_daemon(self):
        for way in self.WITH_LIBRARY:
            server = self.start(way)
            told = self.tell(server, way, "new", "null", "link", "leave", "null", "echo=100000", "link", "new", "null", "link")
            self.assertEqual(told, ["null: done", "link: exs", "null: done", "echo: done", "link: TCP", "null: done", "link: TCP"])
            self.served(server, way)


class Shared(Faults):
    def test_threads(self):
        """They take turns on one handle, while others come and go."""
        for way in peers.WAYS:
            told = self.play(way, "new", "null", "threads=8", "link", "null")
            self.assertEqual(told, ["null: done", "threads: 8, 0 wrong", f"link: {'TCP' if way == 'old' else 'exs'}", "null: done"])

    def test_threads_and_forks(self):
        """A child of a process that had threads calls by TCP; its parent's threads go on by the link."""
        for way in self.WITH_LIBRARY:
            told = self.play(way, "new", "threads=4", "fork=null,echo=9000", "threads=4", "link")
            self.assertEqual(told, ["threads: 4, 0 wrong", "null: done", "echo: done", "child: 0", "threads: 4, 0 wrong",
                                    "link: exs"])


class Scarce(Faults):
    def test_thousand_connections(self):
        for way in self.WITH_LIBRARY:
            server = self.start(way)
            self.assertEqual(self.tell(server, way, "many=1000"), ["many: 1000 succeed, all by exs"])
            self.served(server, way)

    def test_descriptors_of_the_client(self):
        """Most are the program's: links end to be made before its own connections do."""
        for way in self.WITH_LIBRARY:
            server = self.start(way)
            told = self.tell(server, way, "many=70", prefix=("prlimit", "--nofile=200"))
            self.assertEqual(told, ["many: 70 succeed, some by exs"])

    def test_descriptors_of_the_server(self):
        for way in self.WITH_LIBRARY:
            server = self.start(way, prefix=("prlimit", "--nofile=200"))
            self.assertEqual(self.tell(server, way, "many=70"), ["many: 70 succeed, some by exs"])
            self.assertIsNone(server.poll())

    @unittest.skipIf("preloaded" not in peers.WAYS, "a sanitizer needs descriptors for its checks")
    def test_few_descriptors(self):
        """As many as libtirpc itself needs, and a few more: each end that has too few goes by TCP."""
        for way in self.WITH_LIBRARY:
            for limit in (6, 8, 10, 12, 16, 20, 24, 32):
                prefix = ("prlimit", f"--nofile={limit}")
                for side in ("server", "client"):
                    with self.subTest(way, limit=limit, side=side):
                        server = self.start(way, **({"prefix": prefix} if side == "server" else {}))
                        told = self.tell(server, way, "new", "null", "null", "echo=100000",
                                         **({"prefix": prefix} if side == "client" else {}))
                        self.assertEqual(told, ["null: done", "null: done", "echo: done"])
                        self.assertIsNone(server.poll())

    def test_exs_refused(self):
        for what in ({"EXS_PROVIDER": "nonsense"}, {"EXS_PROVIDER": "verbs"}):
            for way in self.WITH_LIBRARY:
                for side in ("server", "client"):
                    with self.subTest(way, side=side, what=what):
                        server = self.start(way, **(what if side == "server" else {}))
                        told = self.tell(server, way, "new", "null", "link", "echo=100000", "link",
                                         **(what if side == "client" else {}))
                        self.assertEqual(told, ["null: done", "link: TCP", "echo: done", "link: TCP"])
                        self.assertEqual(self.tell(server, "old", "new", "null"), ["null: done"])

    def test_system_calls_refused(self):
        for call in ("memfd_create", "unix_socket", "io_uring_setup"):
            for way in self.WITH_LIBRARY:
                for side in ("server", "client"):
                    with self.subTest(way, side=side, call=call):
                        prefix = {"prefix": (CONFINED, "deny", call, "1", "--")}
                        server = self.start(way, **(prefix if side == "server" else {}))
                        told = self.tell(server, way, "new", "null", "null", "echo=100000", **(prefix if side == "client" else {}))
                        self.assertEqual(told, ["null: done", "null: done", "echo: done"])


class Memory(Faults):
    def test_files_of_shared_memory(self):
        """There is none in /dev/shm while a link is up, and so none after a kill."""
        server = self.start(peers.NEW)
        client = self.client(peers.NEW, server, "new", "echo=1000000", "link", "wait")
        self.lines_until(client, "wait")
        for process in (server, client):
            maps = pathlib.Path(f"/proc/{process.pid}/maps").read_text(encoding="utf-8")
            self.assertNotIn("/dev/shm", maps)


if __name__ == "__main__":
    unittest.main()
