# SPDX-License-Identifier: BSD-2-Clause
"""Runs programs plainly and with libexs_sockets.so, and compares their output. EXS_SOCKETS_LIBRARY is the library."""
import os
import subprocess
import unittest

LIBRARY = os.environ["EXS_SOCKETS_LIBRARY"]
LIMIT_S = 120
PYTHON = "/usr/bin/python3"
# spin: a thread that looks for bytes finds them even on a busy machine.
LAYERED = {"spinning": "after=1,spin=10ms", "not spinning": "after=1,spin=0,ring=4k"}

# near, far: the two ends of a connection in this process, which have met.
COMMON = """
import ctypes, os, select, socket, subprocess, sys, threading
listener = socket.create_server(("127.0.0.1", 0))  # says that this process is preloaded
def pair():
    near = socket.create_connection(listener.getsockname())
    return near, listener.accept()[0]
def take_turns(near, far, times=100):
    def answer():
        for _ in range(times):
            far.sendall(far.recv(100))
    thread = threading.Thread(target=answer)
    thread.start()
    for _ in range(times):
        near.sendall(b"question")
        near.recv(100)
    thread.join()
def await_sleep(thread):
    while open(f"/proc/self/task/{thread.native_id}/stat").read().rsplit(")", 1)[1].split()[0] != "S":
        pass
def reset_behind(count):
    # far has so many bytes to receive, and a reset behind them.
    near.sendall(b"x" * count)
    far.sendall(b"unread")
    ports = ":%04X %s:%04X 01 " % (far.getsockname()[1], "0100007F", far.getpeername()[1])
    near.close()
    while ports in open("/proc/self/net/tcp").read():
        pass
near, far = pair()
take_turns(near, far)
"""


class Compared(unittest.TestCase):
    maxDiff = None
    def run_program(self, program, environment):
        done = subprocess.run([PYTHON, "-c", COMMON + program], env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=LIMIT_S, check=False)
        return done.returncode, done.stdout, done.stderr

    def compare(self, program, layered=None):
        expected = self.run_program(program, {})
        self.assertEqual(expected[0], 0, expected)
        for name, words in (layered or LAYERED).items():
            with self.subTest(layer=name):
                found = self.run_program(program, {"LD_PRELOAD": LIBRARY, "EXS_SOCKETS": words})
                self.assertEqual(found, expected)
