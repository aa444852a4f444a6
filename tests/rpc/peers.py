# SPDX-License-Identifier: BSD-2-Clause
"""How the tests of this folder run servers and clients of libtirpc. A program is "old" when it has nothing of exs, "linked" when
libexs-sunrpc.so was linked before libtirpc, "preloaded" when it is an old one that runs with the library. EXS_SUNRPC_LIBRARY is the
library, EXS_RPC_PROGRAMS the folder of the programs, EXS_RPC_WAYS which of the three are to be had: a library that a sanitizer
looks into cannot be preloaded."""
import contextlib
import os
import pathlib
import subprocess
import unittest

LIBRARY = os.environ["EXS_SUNRPC_LIBRARY"]
PROGRAMS = pathlib.Path(os.environ["EXS_RPC_PROGRAMS"])
WAYS = os.environ["EXS_RPC_WAYS"].split()
NEW = WAYS[-1]  # has the library
LIMIT_S = 60


def command(program, way, *arguments):
    name = program + ("-linked" if way == "linked" else "")
    return [str(PROGRAMS / name), *map(str, arguments)]


def environment(way, **more):
    """exs says on the standard error when it connects. A server that is killed in the end has to end at what a sanitizer finds."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("EXS_SUNRPC")}
    preload = {"LD_PRELOAD": LIBRARY} if way == "preloaded" else {}
    if "preloaded" not in WAYS:
        # libtirpc allocates what a length says before it reads; 4 GiB are minutes where all memory has a shadow.
        plain["TSAN_OPTIONS"] = f"{plain.get('TSAN_OPTIONS', '')} halt_on_error=1 allocator_may_return_null=1 max_allocation_size_mb=1024"
    return {**plain, **preload, **({"EXS_EXPLAIN": "yes"} if way != "old" else {}), **more}


def goes_by_exs(server, client):
    return "old" not in (server, client)


def has_connected(log):
    return ": connected" in log


@contextlib.contextmanager
def server(way, *arguments, program="rpc-matrix-server", prefix=(), stdin=None, **more):
    """A running server; its `port` is what it printed first."""
    with subprocess.Popen([*prefix, *command(program, way, *arguments)], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, env=environment(way, **more)) as process:
        try:
            process.port = process.stdout.readline().strip()
            if not process.port.isdigit():
                raise AssertionError(f"{program} has no port: {process.port!r}")
            yield process
        finally:
            process.kill()


def run(way, *arguments, program="rpc-matrix-client", prefix=(), limit_s=LIMIT_S, **more):
    return subprocess.run([*prefix, *command(program, way, *arguments)], capture_output=True, text=True, env=environment(way, **more),
                          timeout=limit_s, check=False)


class ClientTest(unittest.TestCase):
    """Of clients that run beside the test, and ask for exs at their first call."""

    PROGRAM = ""  # of the client
    AT_ONCE = {"EXS_SUNRPC_AFTER": "0"}
    WITH_LIBRARY = [way for way in WAYS if way != "old"]

    def client(self, way, server, *words, **more):
        """One that is waited for by its lines, and may wait for ours."""
        client = subprocess.Popen(command(self.PROGRAM, way, server.port, *words), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True, env=environment(way, **{**self.AT_ONCE, **more}))
        self.addCleanup(self.end, client)
        return client

    @staticmethod
    def end(client):
        with client:
            client.kill()

    def lines_until(self, client, last):
        lines = []
        while last not in lines:
            line = client.stdout.readline()
            self.assertNotEqual(line, "", lines)
            lines.append(line.rstrip("\n"))
        return lines

    def go_on(self, client):
        client.stdin.write("\n")
        client.stdin.flush()
