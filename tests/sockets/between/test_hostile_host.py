# SPDX-License-Identifier: BSD-2-Clause
"""Programs with a lane to a host that sends false frames (hostile_host.cc). Each connection must end in time, as one of
TCP may, and leave nothing behind; the program goes on. EXS_SOCKETS_LIBRARY, EXS_SOCKETS_AGENT and EXS_HOSTILE_HOST are
the programs. EXS_LONG_SECONDS adds rounds."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

LIBRARY = os.environ["EXS_SOCKETS_LIBRARY"]
LONG_S = int(os.environ.get("EXS_LONG_SECONDS", "0"))
SEED = int(os.environ.get("EXS_TEST_SEED", "1"))
VICTIM = str(pathlib.Path(__file__).resolve().parent.parent / "hostile" / "victim.py")
ENDS = ("Connection reset by peer", "Broken pipe", "end")
END_OF_SHUTDOWN = "Transport endpoint is not connected"  # the connection was reset, as TCP may be
LIES = 12 * 13  # the host sends each of these alone
WRONG_HELLOS = 6
RANDOM = 40 + 20 * LONG_S
LIMIT_S = 120 + 4 * LONG_S


class HostileHost(unittest.TestCase):
    def setUp(self):
        self.log = self.enterContext(tempfile.TemporaryFile())
        self.watch = threading.Timer(LIMIT_S, self.kill)
        self.processes = []
        self.watch.start()
        self.addCleanup(self.close)

    def kill(self):
        for process in self.processes:
            process.kill()

    def close(self):
        self.watch.cancel()
        for process in self.processes:
            process.kill()
            process.wait()
            process.stdout.close()

    def start(self, command, **environment):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True, env={**os.environ, **environment})
        self.processes.append(process)
        return process

    def start_host(self, *words):
        return self.start([os.environ["EXS_HOSTILE_HOST"], *map(str, words)])

    def start_victim(self, agent_port, *words):
        layer = f"after=1,local=off,between=on,path=any,ring=4k,agent={agent_port}"
        return self.start([sys.executable, VICTIM, *map(str, words)], LD_PRELOAD=LIBRARY, EXS_EXPLAIN="yes", EXS_SOCKETS=layer,
                          EXS_SOCKETS_CONF="/dev/null")

    def told(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")[-4000:]

    def line(self, process):
        text = process.stdout.readline()
        if not text:
            self.fail(f"it has ended with {process.wait()}: {self.told()}")
        return text

    def check_rounds(self, host, victim, rounds):
        """Each connection must end. The victim may accept a lie without an error, if it can then end by TCP."""
        resets = 0
        for text in host.stdout:
            lie = json.loads(text)
            line = json.loads(self.line(victim))
            self.assertLess(line["took"], 30, lie)
            self.assertLess(line["numbers"], 16, "descriptors")  # those of the last connections are closed later
            if not isinstance(line["result"], int):
                self.assertIn(line["result"], ENDS if lie.get("how") != "s" else (*ENDS, END_OF_SHUTDOWN), lie)
            resets += line["result"] in ENDS[:2]
        self.assertEqual(host.wait(), 0, self.told())
        self.assertGreater(resets, rounds / 4)

    def test_of_the_calling_end(self):
        agent = self.start([os.environ["EXS_SOCKETS_AGENT"], "--port", "0"])
        agent_port = int(self.line(agent).split()[1])
        victim = self.start_victim(agent_port, "listen")
        port = int(self.line(victim))
        rounds = LIES + RANDOM
        self.check_rounds(self.start_host("calling", port, agent_port, rounds, SEED), victim, rounds)
        self.assertIsNone(victim.poll())
        self.assertIsNone(agent.poll())

    def test_of_the_called_end(self):
        rounds = WRONG_HELLOS + LIES + RANDOM
        host = self.start_host("called", rounds, SEED)
        port, agent_port = self.line(host).split()
        victim = self.start_victim(agent_port, "connect", port)
        self.check_rounds(host, victim, rounds)


if __name__ == "__main__":
    unittest.main()
