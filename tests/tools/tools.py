# SPDX-License-Identifier: BSD-2-Clause
"""Starts the tools for the tests beside this file. EXS_TOOLS is the folder of the programs."""
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import unittest

BIN = pathlib.Path(os.environ["EXS_TOOLS"])
LIMIT_S = 60


def run(*command, **environment):
    return subprocess.run([BIN / command[0], *command[1:]], capture_output=True, text=True, timeout=LIMIT_S, check=False,
                          env={**os.environ, **environment})


class ToolsTest(unittest.TestCase):
    def succeed(self, *command):
        done = run(*command)
        self.assertEqual(done.returncode, 0, f"{command}: {done.stdout}{done.stderr}")
        return done.stdout

    def measure(self, *command):
        return json.loads(self.succeed(*command, "--json"))

    def assert_one_line(self, text, *parts):
        self.assertEqual(len(text.strip().splitlines()), 1, text)
        for part in parts:
            self.assertIn(part, text)

    def start_server(self, tool, *options):
        """A server on a free port of the loopback interface; the test ends it by stop()."""
        server = Server(tool, *options)
        self.addCleanup(server.kill)
        return server


class Server:
    def __init__(self, tool, *options):
        command = [BIN / tool, "-s", "--bind", "127.0.0.1", "--port", "0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.port = re.fullmatch(r"listening on 127\.0\.0\.1:(\d+)\n", self.process.stdout.readline())[1]

    def stop(self):
        """SIGINT. Returns what the server printed after its first line, and its exit status."""
        self.process.send_signal(signal.SIGINT)
        output = self.process.communicate(timeout=LIMIT_S)[0]
        return output, self.process.returncode

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


class Watched:
    """A client whose standard error is a terminal, so that its progress line tells that it is in the middle."""

    def __init__(self, *command, **options):
        terminal, other_end = pty.openpty()
        self.process = subprocess.Popen([BIN / command[0], *command[1:]], stdout=subprocess.PIPE, stderr=other_end, text=True,
                                        **options)
        os.close(other_end)
        self.terminal = terminal
        self.errors = b""

    def wait_for_progress(self, part=b" messages"):
        while part not in self.errors:
            self.errors += os.read(self.terminal, 4096)

    def finish(self):
        """Returns output, the last line on the terminal, exit status."""
        output = self.process.communicate(timeout=LIMIT_S)[0]
        try:
            while chunk := os.read(self.terminal, 4096):
                self.errors += chunk
        except OSError:  # how a terminal tells its end
            pass
        os.close(self.terminal)
        text = self.errors.decode().split("\033[K")[-1]
        return output, text.strip(), self.process.returncode

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
