# SPDX-License-Identifier: BSD-2-Clause
"""Python's http.server with curl and wget."""
import pathlib
import random
import unittest

from servers import ServerTest, free_port

PYTHON = "/usr/bin/python3"
SIZES = (0, 1, 5000, 300_000, 5_000_000)


class Http(ServerTest):
    def play(self, environment):
        port, folder = free_port(), self.folder()
        files = pathlib.Path(folder, "files")
        files.mkdir()
        for size in SIZES:
            (files / str(size)).write_bytes(random.Random(size).randbytes(size))
        server = self.start([PYTHON, "-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory", str(files), "--protocol",
                             "HTTP/1.1", str(port)], environment, port, folder)
        addresses = [f"http://127.0.0.1:{port}/{size}" for size in SIZES * 3]
        by_curl, log = self.client(["curl", "-sS", *addresses], environment)
        by_wget, more = self.client(["wget", "-q", "-O", "-", *addresses], environment)
        listing, _ = self.client(["curl", "-sS", f"http://127.0.0.1:{port}/"], environment)
        return (by_curl, by_wget, listing), log + more + server.end()

    def test_files_are_the_same(self):
        self.needs(PYTHON, "curl", "wget")
        self.compare(self.play)


if __name__ == "__main__":
    unittest.main()
