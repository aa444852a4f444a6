# SPDX-License-Identifier: BSD-2-Clause
"""postgresql with psql and pgbench: one process for each connection. If root runs the test, the programs run as the
user postgres."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import time
import unittest

from servers import LIBRARY, LIMIT_S, ServerTest, free_port

PROGRAMS = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
CONFIGURATION = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
ssl = off
shared_buffers = 16MB
max_connections = 20
"""
ROWS = "select n, md5(n::text), repeat(chr(97 + n % 26), n % 200) from generate_series(1, 20000) n"
# The bytes to the server are long here: rows, whose counts it then returns.
COPY = "create temp table given (n int, word text);\ncopy given from stdin;\n" + "".join(
    f"{n}\t{'word' * (n % 50)}\n" for n in range(5000)) + "\\.\nselect count(*), sum(n), md5(string_agg(word, ',' order by n)) from given;\n"


class Postgres(ServerTest):
    def as_owner(self, command):
        """The server does not run as root."""
        owner = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.geteuid() == 0 else []
        return [*owner, *map(str, command)]

    def setUp(self):
        if not PROGRAMS:
            self.skipTest("not installed: postgresql")
        self.needs("setpriv")
        self.data = pathlib.Path(self.folder())
        self.library = self.data / "libexs_sockets.so"
        shutil.copy(LIBRARY, self.library)
        if os.geteuid() == 0:
            shutil.chown(self.data, "postgres")
        self.client(self.as_owner([PROGRAMS[-1] / "initdb", "--no-sync", "-A", "trust", "-U", "postgres", "-D", self.data / "db"]),
                    {})
        with open(self.data / "db/postgresql.conf", "a", encoding="utf-8") as file:
            file.write(CONFIGURATION)

    def await_answers(self, server, at):
        """The server listens before it can answer."""
        end = time.monotonic() + LIMIT_S
        while subprocess.run([PROGRAMS[-1] / "pg_isready", "-q", *map(str, at)], check=False).returncode != 0:
            if server.process.poll() is not None or time.monotonic() > end:
                self.fail(f"no answers: {server.log_path.read_text(errors='replace')}")
            time.sleep(0.02)

    def play(self, environment):
        # Copies the library to a place that the user postgres may read.
        environment = environment and {**environment, "LD_PRELOAD": str(self.library)}
        port, log = free_port(), ""
        server = self.start(self.as_owner([PROGRAMS[-1] / "postgres", "-D", self.data / "db", "-p", port]), environment, port,
                            self.data)
        at = ["-h", "127.0.0.1", "-p", port, "-U", "postgres"]
        self.await_answers(server, at)

        def run(program, *arguments, words=None):
            nonlocal log
            told, more = self.client(self.as_owner([PROGRAMS[-1] / program, *at, *arguments]), environment, words)
            log += more
            return told

        rows = run("psql", "-X", "-A", "-t", "-c", ROWS, "postgres")
        given = run("psql", "-X", "-A", "-t", "postgres", words=COPY.encode())
        run("pgbench", "-i", "-q", "-s", "1", "postgres")
        for options in (["-S", "-c", "4", "-t", "200"], ["-S", "-C", "-c", "2", "-t", "10"], ["-c", "2", "-t", "30", "-M", "prepared"]):
            told = run("pgbench", "-n", *options, "postgres").decode()
            self.assertIn("number of failed transactions: 0", told)
        # Most of the accounts are unchanged.
        sums = run("psql", "-X", "-A", "-t", "-c", "select count(*), count(*) filter (where abalance = 0) > 99800 from "
                   "pgbench_accounts", "postgres")
        return (hashlib.md5(rows).digest(), given, sums), log + server.end()

    def test_rows_are_the_same(self):
        self.compare(self.play)


if __name__ == "__main__":
    unittest.main()
