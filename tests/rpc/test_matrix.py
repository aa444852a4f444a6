"""A client and a server of rpcgen, each with libexs-sunrpc.so and without it: what the client is told is the same, and the calls of two
that have it go by exs. EXS_SUNRPC_LIBRARY is the library, EXS_RPC_PROGRAMS the folder of the programs."""
import os
import pathlib
import subprocess
import tempfile
import unittest

LIBRARY = os.environ["EXS_SUNRPC_LIBRARY"]
PROGRAMS = pathlib.Path(os.environ["EXS_RPC_PROGRAMS"])
LIMIT_S = 60


def environment(is_preloaded, **more):
    """exs says on the standard error when it connects."""
    return {**os.environ, **({"LD_PRELOAD": LIBRARY, "EXS_EXPLAIN": "yes"} if is_preloaded else {}), **more}


class Matrix(unittest.TestCase):
    def play(self, has_server, has_client, is_local, **more):
        """(exit status, what the client printed), whether it connected by exs"""
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/socket"
            with subprocess.Popen([PROGRAMS / "rpc-matrix-server", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  text=True, env=environment(has_server, **more)) as server:
                try:
                    port = server.stdout.readline().strip()
                    done = subprocess.run([PROGRAMS / "rpc-matrix-client", path if is_local else port], capture_output=True,
                                          text=True, env=environment(has_client, **more), timeout=LIMIT_S, check=False)
                finally:
                    server.kill()
        return (done.returncode, done.stdout), ": connected" in done.stderr

    def compare(self, is_local, **more):
        expected, _ = self.play(False, False, is_local)
        self.assertEqual(expected[0], 0, expected)
        for has_server, has_client in ((False, True), (True, False), (True, True)):
            with self.subTest(server=has_server, client=has_client, local=is_local):
                found, is_by_exs = self.play(has_server, has_client, is_local, **more)
                self.assertEqual(found, expected)
                self.assertEqual(is_by_exs, has_server and has_client)

    def test_tcp(self):
        self.compare(False)

    def test_local_sockets(self):
        self.compare(True)

    def test_from_the_first_call(self):
        self.compare(False, EXS_SUNRPC_AFTER="0")

    def test_iwarp(self):
        self.compare(False, EXS_PROVIDER="iwarp")

    def test_off(self):
        expected, _ = self.play(False, False, False)
        found, is_by_exs = self.play(True, True, False, EXS_SUNRPC="off")
        self.assertEqual(found, expected)
        self.assertFalse(is_by_exs)


if __name__ == "__main__":
    unittest.main()
