# SPDX-License-Identifier: BSD-2-Clause
"""EXS_SUNRPC_AFTER, EXS_SUNRPC_PORT, EXS_SUNRPC: what they do, and that bad values are told and ignored."""
import pathlib
import socket
import subprocess
import sys
import unittest

import peers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from full_pipe import full_pipe  # noqa: E402

CLIENT = "rpc-fault-client"
WITH_LIBRARY = [way for way in peers.WAYS if way != "old"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Settings(unittest.TestCase):
    def run_client(self, way, port, *words, **more):
        done = peers.run(way, port, *words, program=CLIENT, **more)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        return done.stdout.splitlines(), done.stderr

    def test_after(self):
        """So many calls of a handle go by TCP first; three when nothing is said."""
        for way in WITH_LIBRARY:
            with peers.server(way) as server:
                for after, calls in (("0", 0), ("1", 1), ("5", 5), (None, 3)):
                    words = ["new"] + ["null", "link"] * (calls + 1)
                    told, _ = self.run_client(way, server.port, *words, **({"EXS_SUNRPC_AFTER": after} if after else {}))
                    self.assertEqual(told, ["null: done", "link: TCP"] * calls + ["null: done", "link: exs"], after)

    def test_port(self):
        """The server's exs socket is there; a second server, which cannot have it, is served by TCP."""
        for way in WITH_LIBRARY:
            port = free_port()
            with peers.server(way, EXS_SUNRPC_PORT=str(port)) as server:
                told, log = self.run_client(way, server.port, "new", "null", "link", EXS_SUNRPC_AFTER="0")
                self.assertEqual(told, ["null: done", "link: exs"])
                self.assertIn(f"to 127.0.0.1:{port}: connected", log)
                with peers.server(way, EXS_SUNRPC_PORT=str(port)) as second:
                    told, _ = self.run_client(way, second.port, "new", "null", "link", EXS_SUNRPC_AFTER="0")
                    self.assertEqual(told, ["null: done", "link: TCP"])

    def test_off(self):
        """At either end."""
        for way in WITH_LIBRARY:
            for server_use, client_use in (("off", "auto"), ("auto", "off"), ("off", "off"), ("off", "require")):
                with peers.server(way, EXS_SUNRPC=server_use) as server:
                    told, _ = self.run_client(way, server.port, "new", "null", "link", EXS_SUNRPC_AFTER="0", EXS_SUNRPC=client_use)
                    self.assertEqual(told, ["null: done", "link: TCP"], (server_use, client_use))

    def test_refusals_of_the_functions(self):
        """exs_sunrpc_attach() and exs_sunrpc_threads(), by their errno."""
        for way in WITH_LIBRARY:
            with peers.server(way, EXS_SUNRPC="off") as server:
                told, _ = self.run_client(way, server.port, "new", "attach", "attach-nothing", "null", "serve=257", "serve=256", EXS_SUNRPC_AFTER="100")
                self.assertEqual(told, ["attach: EOPNOTSUPP", "attach-nothing: EINVAL", "null: done", "serve: EINVAL", "serve: done"])
            with peers.server(way) as server:
                told, _ = self.run_client(way, server.port, "new", "attach", "null", "link", EXS_SUNRPC_AFTER="100")
                self.assertEqual(told, ["attach: done", "null: done", "link: exs"])

    def test_empty_values(self):
        """They count as unset, and nobody complains."""
        empty = {variable: "" for variable in ("EXS_SUNRPC", "EXS_SUNRPC_AFTER", "EXS_SUNRPC_PORT", "EXS_SUNRPC_VARIANT")}
        for way in WITH_LIBRARY:
            with peers.server(way) as server:
                told, log = self.run_client(way, server.port, "new", *["null", "link"] * 4, **empty)
                self.assertEqual(told, ["null: done", "link: TCP"] * 3 + ["null: done", "link: exs"])
                self.assertNotIn("ignored", log)

    def test_bad_values(self):
        for way in WITH_LIBRARY:
            with peers.server(way) as server:
                for variable, values in (("EXS_SUNRPC_AFTER", ("x", "-1", "3x", " 3", "4294967296", "1e3")),
                                         ("EXS_SUNRPC_PORT", ("65536", "-1", "http")),
                                         ("EXS_SUNRPC", ("on", "OFF", "auto,require"))):
                    for value in values:
                        with self.subTest(way, variable=variable, value=value):
                            told, log = self.run_client(way, server.port, "new", *["null"] * 4, "link", **{variable: value})
                            self.assertEqual(told, ["null: done"] * 4 + ["link: exs"])
                            self.assertIn(f"exs-sunrpc: {variable}={value} is ignored: ", log)

    def test_bad_value_at_the_server(self):
        for way in WITH_LIBRARY:
            command = peers.command("rpc-matrix-server", way)
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env=peers.environment(way, EXS_SUNRPC_PORT="70000")) as server:
                try:
                    told, _ = self.run_client(way, server.stdout.readline().strip(), "new", "null", "link", EXS_SUNRPC_AFTER="0")
                finally:
                    server.kill()
                self.assertIn("exs-sunrpc: EXS_SUNRPC_PORT=70000 is ignored: ", server.stderr.read())
            self.assertEqual(told, ["null: done", "link: exs"])

    def test_lines_do_not_wait(self):
        """A bad value and EXS_EXPLAIN, where nobody reads the standard error: the calls complete."""
        for way in WITH_LIBRARY:
            with peers.server(way) as server, full_pipe() as pipe:
                done = subprocess.run(peers.command(CLIENT, way, server.port, "new", *["null", "link"] * 2), stdout=subprocess.PIPE,
                                      stderr=pipe, text=True, env=peers.environment(way, EXS_SUNRPC_AFTER="1", EXS_SUNRPC="on"),
                                      timeout=peers.LIMIT_S, check=True)
            self.assertEqual(done.stdout.splitlines(), ["null: done", "link: TCP", "null: done", "link: exs"])

    def test_nothing_is_said_without_cause(self):
        for way in WITH_LIBRARY:
            quiet = {name: value for name, value in peers.environment(way).items() if name != "EXS_EXPLAIN"}
            with peers.server(way) as server:
                done = subprocess.run(peers.command(CLIENT, way, server.port, "new", *["null"] * 5), capture_output=True, text=True,
                                      env={**quiet, "EXS_SUNRPC": "auto", "EXS_SUNRPC_AFTER": "2"}, check=True)
            self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()
