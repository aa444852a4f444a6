# SPDX-License-Identifier: BSD-2-Clause
"""Servers and clients without knowledge of exs. They run plainly and with libexs_sockets.so, and must print the same.
EXS_SOCKETS_LIBRARY is the library."""
import contextlib
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

LIBRARY = os.environ["EXS_SOCKETS_LIBRARY"]
LIMIT_S = 60
# Settings of the layer. Short rings change the lane often, and one call is enough to meet.
LAYERED = {"default": "on", "short": "after=1,ring=4k"}


def layer(words):
    return {"LD_PRELOAD": LIBRARY, "EXS_SOCKETS": words, "EXS_EXPLAIN": "yes"}


def free_ports(count):
    """Returns the first of several ports in a row, below the kernel's own range. So nothing else takes one before a
    server does."""
    first = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for port in random.sample(range(first // 2, first - count), 100):
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for number in range(port, port + count):
                stack.enter_context(socket.create_server(("127.0.0.1", number)))
            return port
    raise RuntimeError("no free ports")


def free_port():
    return free_ports(1)


def is_listened_at(port):
    """Looks without a connection, which some servers would take for a client."""
    lines = [line.split() for name in ("tcp", "tcp6") for line in pathlib.Path("/proc/net", name).read_text().splitlines()[1:]]
    return any(line[3] == "0A" and line[1].endswith(f":{port:04X}") for line in lines)


def ring_bytes(log):
    """The bytes that went through shared memory, according to the connections' last lines."""
    return sum(int(count) for count in re.findall(r"sent (\d+) bytes by shared memory", log))


class Process:
    """A process that runs until the test ends it, with its standard error."""

    def __init__(self, command, environment, folder):
        self.log_path = pathlib.Path(folder, "log")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=log, cwd=folder)

    def await_port(self, port):
        end = time.monotonic() + LIMIT_S
        while self.process.poll() is None and time.monotonic() < end:
            if is_listened_at(port):
                return
            time.sleep(0.02)
        raise RuntimeError(f"no server: {self.log_path.read_text(errors='replace')}")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        return self.log_path.read_text(errors="replace")


class ServerTest(unittest.TestCase):
    def needs(self, *programs):
        missing = [name for name in programs if shutil.which(name) is None]
        if missing:
            self.skipTest(f"not installed: {', '.join(missing)}")

    def folder(self):
        return self.enterContext(tempfile.TemporaryDirectory())

    def start(self, command, environment, port, folder):
        process = Process(command, environment, folder)
        self.addCleanup(process.kill)
        process.await_port(port)
        return process

    def client(self, command, environment, words=None):
        """Returns (standard output, standard error) of a client that must succeed."""
        done = subprocess.run(command, input=words, env={**os.environ, **environment}, capture_output=True, timeout=LIMIT_S,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace")[-2000:])
        return done.stdout, done.stderr.decode(errors="replace")

    def compare(self, play):
        """play(environment) returns what must be the same, and the processes' lines about their connections."""
        expected, _ = play({})
        for name, words in LAYERED.items():
            with self.subTest(layer=name):
                found, log = play(layer(words))
                self.assertEqual(found, expected)
                self.assertGreater(ring_bytes(log), 0, f"nothing went through shared memory: {log[-2000:]}")
