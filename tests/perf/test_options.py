# SPDX-License-Identifier: BSD-2-Clause
"""Command lines that make no sense end with one clear line, and those that ask for help get it."""
import unittest

from tools import ToolsTest, run

USAGE_ERRORS = [
    ("exs-blast", "--bogus"),
    ("exs-blast",),
    ("exs-blast", "--self", "127.0.0.1"),
    ("exs-blast", "-s", "--self"),
    ("exs-blast", "--self", "--size", "0"),
    ("exs-blast", "--self", "--size", "12Q"),
    ("exs-blast", "--self", "--size", "2G"),
    ("exs-blast", "--self", "--size", "1G", "--depth", "2"),
    ("exs-blast", "--self", "--depth", "0"),
    ("exs-blast", "--self", "--kind", "rapid"),
    ("exs-blast", "--self", "--kind", "immediate", "--size", "64K"),
    ("exs-blast", "--self", "--kind", "transaction", "--size", "7"),
    ("exs-blast", "--self", "--kind", "transaction", "--depth", "65"),
    ("exs-blast", "--self", "--kind", "persistent", "--size", "1G", "--depth", "2"),
    ("exs-ping", "--self", "--kind", "persistent-receive"),
    ("exs-ping", "--self", "--kind", "transaction"),
    ("exs-blast", "--self", "--wait", "never"),
    ("exs-blast", "--self", "--memory", "none"),
    ("exs-blast", "--self", "--time", "0"),
    ("exs-blast", "--self", "--time", "1", "--count", "1"),
    ("exs-blast", "--self", "--count", "0"),
    ("exs-blast", "--self", "--flip", "1"),
    ("exs-blast", "127.0.0.1", "--port", "0"),
    ("exs-blast", "127.0.0.1", "--port", "70000"),
    ("exs-blast", "127.0.0.1", "--bind", "127.0.0.1"),
    ("exs-ping", "--self", "--depth", "2"),
    ("exs-ping", "-p", "99999", "127.0.0.1"),
    ("exs-blast", "-p", "-1", "127.0.0.1"),
    ("exs-ping", "--self", "--size", "1K", "--sweep"),
    ("exs-ping", "--self", "--rate", "0"),
    ("exs-ping", "--self", "--reverse"),
    ("exs-ping", "--self", "--json", "--csv"),
    ("exs-ping", "--self", "--csv", "--histogram"),
    ("exs-ping", "--self", "-1"),
    ("exs-blast", "--self", "--interval", "0"),
    ("exs-blast", "--self", "--parallel", "0"),
    ("exs-blast", "--self", "--rate", "10"),
    ("exs-blast", "--self", "--reverse", "--kind", "persistent"),
    ("exs-blast", "--self", "--reverse", "--verify", "--flip", "1"),
    ("exs-crowd", "--connections", "0"),
    ("exs-crowd", "--connections", "3", "--processes", "4"),
    ("exs-crowd", "--size", "65537"),
    ("exs-crowd", "127.0.0.1"),
    ("exs-explain", "127.0.0.1"),
    ("exs-explain", "127.0.0.1:70000"),
    ("exs-explain", "127.0.0.1:1", "--timeout", "0"),
    ("exs-explain", "--provider", "shm"),
    ("exs-crowd", "--bind", "localhost"),
    ("tcp-baseline", "--bind", "localhost"),
    ("tcp-baseline", "--mode", "other"),
    ("tcp-baseline", "--size", "0"),
    ("shm-baseline", "--mode", "other"),
    ("shm-baseline", "--size", "0"),
    ("shm-baseline", "--size", "1G", "--buffers", "2"),
    ("verbs-baseline",),
    ("verbs-baseline", "--bind", "localhost"),
    ("verbs-baseline", "--bind", "127.0.0.1", "--mode", "other"),
    ("verbs-baseline", "--bind", "127.0.0.1", "--size", "0"),
    ("verbs-baseline", "--bind", "127.0.0.1", "--size", "1G", "--depth", "2"),
]


class Options(ToolsTest):
    def test_usage_errors(self):
        for command in USAGE_ERRORS:
            with self.subTest(command=command):
                done = run(*command)
                self.assertEqual(done.returncode, 2)
                self.assertEqual(done.stdout, "")
                self.assert_one_line(done.stderr, command[0] + ": ")

    def test_help_and_version(self):
        for tool in ("exs-blast", "exs-ping", "exs-crowd", "exs-explain", "tcp-baseline", "shm-baseline", "verbs-baseline"):
            with self.subTest(tool=tool):
                self.assertIn("--json", self.succeed(tool, "--help"))
                self.assertRegex(self.succeed(tool, "--version"), rf"^{tool} \d+\.\d+\.\d+\n$")
        self.assertIn("pinned to a core", " ".join(self.succeed("exs-blast", "--help").split()))

    def test_nobody_listens(self):
        done = run("exs-ping", "127.0.0.1", "--port", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot connect to 127.0.0.1:1 (is the server running there?): Connection refused", done.stderr)

    def test_a_port_that_is_none(self):
        self.assertIn('"99999" is no port: ports are 0 to 65535', run("exs-ping", "127.0.0.1", "-p", "99999").stderr)

    def test_a_simulated_network_is_for_both_ends_in_one_process(self):
        for tool in ("exs-ping", "exs-blast"):
            with self.subTest(tool=tool):
                self.assertIn("provider sim", self.succeed(tool, "--self", "--provider", "sim", "--count", "100"))
        done = run("exs-ping", "127.0.0.1", "--provider", "sim")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--provider sim goes with --self", done.stderr)
        self.assertIn("the settings are seed, clock", run("exs-ping", "--self", "--provider", "sim:sed=1").stderr)

    def test_a_refusal_has_the_fact_and_the_cure(self):
        server = self.start_server("exs-ping", "--provider", "require:iwarp")
        done = run("exs-ping", "127.0.0.1", "--port", server.port, "--provider", "require:shm", EXS_LOG="error")
        self.assertEqual(done.returncode, 1)
        self.assert_one_line(done.stderr, "exs-ping: cannot connect to 127.0.0.1:", "; shm: ", "(cure: ")
        self.assertNotIn("is the server running", done.stderr)

    def test_the_other_end_of_self_says_who_speaks(self):
        done = run("exs-ping", "--self", "--bind", "192.0.2.1")
        self.assert_one_line(done.stderr, "exs-ping: server's end: ", "192.0.2.1")

    def test_a_host_without_an_address(self):
        done = run("exs-ping", "no.such.host.invalid")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no.such.host.invalid", done.stderr)

    def test_an_address_that_this_machine_has_not(self):
        for tool, *options in (("exs-ping", "--self"), ("exs-blast", "--self"), ("exs-crowd",), ("tcp-baseline",), ("verbs-baseline",)):
            with self.subTest(tool=tool):
                done = run(tool, *options, "--bind", "192.0.2.1")
                self.assertEqual(done.returncode, 1)
                self.assertIn("192.0.2.1" if tool != "verbs-baseline" else "RDMA device", done.stderr)

    def test_another_address_of_this_machine(self):
        for tool, *options in (("exs-ping", "--self", "--count", "10"), ("exs-blast", "--self", "--count", "10"),
                               ("exs-crowd", "--connections", "4", "--pairs", "2"), ("tcp-baseline", "--count", "10")):
            with self.subTest(tool=tool):
                self.succeed(tool, *options, "--bind", "127.0.0.2")

    def test_a_provider_that_is_not_there(self):
        done = run("exs-blast", "--self", "--provider", "carrier-pigeon", "--count", "1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("carrier-pigeon", done.stderr)


if __name__ == "__main__":
    unittest.main()
