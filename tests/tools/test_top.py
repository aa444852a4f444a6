# SPDX-License-Identifier: BSD-2-Clause
"""exs-top shows what programs count, and asks nothing of them."""
import contextlib
import fcntl
import json
import mmap
import os
import pathlib
import pty
import random
import re
import signal
import struct
import subprocess
import termios
import time
import unittest
import urllib.error
import urllib.request

from tools import BIN, LIMIT_S, ToolsTest, run

MAGIC = 0x3174617473737865
HEAD_BYTES, RECORDS = 8192, 65536
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
NOBODY = 65534


# The reference parser, of Debian's own Python.
PARSER = """
import collections, json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
samples = collections.defaultdict(list)
for family in parse(sys.stdin.read()):
    for sample in family.samples:
        samples[sample.name].append((sample.labels, sample.value))
print(json.dumps(samples))
"""


class Top(ToolsTest):
    def process(self, pid):
        found = [one for one in self.measure("exs-top")["processes"] if one["pid"] == pid]
        return found[0] if found else None

    def until(self, pid, is_so):
        """What exs-top says of the process once that is so."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            process = self.process(pid)
            if process is not None and is_so(process):
                return process
            time.sleep(0.01)
        raise AssertionError(f"not in time; at last: {process}")

    def test_counters_of_a_connection_that_ended_stay(self):
        for provider in "shm", "iwarp":
            with self.subTest(provider=provider):
                server = self.start_server("exs-ping", "--provider", provider)
                pid = server.process.pid
                self.succeed("exs-ping", "127.0.0.1", "--port", server.port, "--kind", "normal", "--size", "100", "--count", "500")
                process = self.until(pid, lambda process: process["closed_connections"]["receives"] >= 500)
                self.assertEqual((process["program"], process["connections_opened"], process["connections"]), ("exs-ping", 1, []))
                closed = process["closed_connections"]
                self.assertGreaterEqual(closed["sent_bytes"], 50000)
                self.assertGreaterEqual(closed["received_bytes"], 50000)
                self.assertGreaterEqual(closed["adverts_sent"], 500)
                server.stop()
                self.assertIsNone(self.process(pid))

    def test_a_connection_as_it_is(self):
        server = self.start_server("exs-ping")
        client = subprocess.Popen([BIN / "exs-ping", "127.0.0.1", "--port", server.port, "--kind", "normal", "--time", str(LIMIT_S),
                                   "--provider", "iwarp"], stdout=subprocess.DEVNULL)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        process = self.until(client.pid, lambda process: any(one["counters"]["sends"] > 0 for one in process["connections"]))
        connection, = process["connections"]
        self.assertEqual([connection[key] for key in ("kind", "state", "provider", "peer")],
                         ["messages", "connected", "iwarp", f"127.0.0.1:{server.port}"])
        self.assertEqual((connection["refused"]["provider"], connection["refused"]["reason"]), ("shm", "forbidden"))
        other, = self.until(server.process.pid, lambda process: process["connections"])["connections"]
        self.assertEqual((other["local"], other["peer"]), (connection["peer"], connection["local"]))

        # One that is stopped is seen, too.
        client.send_signal(signal.SIGSTOP)
        line = self.succeed("exs-top", "--once", "-p", str(client.pid)).splitlines()[2]
        self.assertRegex(line, rf"^ *{client.pid}  exs-ping +connected +messages +iwarp +127\.0\.0\.1:{server.port} ")
        self.assertRegex(line, "shm: forbidden$")
        for group, words in (("process", "1 "), ("peer", r"127\.0\.0\.1 ")):
            self.assertRegex(self.succeed("exs-top", "--once", "-p", str(client.pid), "--group", group).splitlines()[2], words)
        client.kill()
        client.wait()

        # Its end is an error of its peer, where it stays. A second one may have other words: it ended at another moment.
        self.until(server.process.pid, lambda process: process["errors"] and not process["connections"])
        second = subprocess.Popen([BIN / "exs-ping", "127.0.0.1", "--port", server.port, "--time", str(LIMIT_S), "--kind", "normal",
                                   "--provider", "iwarp"], stdout=subprocess.DEVNULL)
        self.addCleanup(second.wait)
        self.until(server.process.pid, lambda process: any(one["counters"]["sends"] > 0 for one in process["connections"]))
        second.kill()
        process = self.until(server.process.pid, lambda process: sum(error["count"] for error in process["errors"]) == 2)
        self.assertIn("127.0.0.1", process["errors"][0]["text"])
        self.assertRegex(self.succeed("exs-top", "--once", "-p", str(server.process.pid)), "exs-ping: [12] times, last at 20")

    def test_a_label_says_what_a_connection_is_for(self):
        if not (BIN / "exs-rpc-ping").exists():
            self.skipTest("no RPC in this build")
        client = subprocess.Popen([BIN / "exs-rpc-ping", "--self", "--port", "0", "--size", "8", "--calls", "100000000"],
                                  stdout=subprocess.DEVNULL)
        self.addCleanup(client.wait)
        self.addCleanup(client.send_signal, signal.SIGINT)
        process = self.until(client.pid, lambda process: any(one["state"] == "connected" for one in process["connections"]))
        self.assertEqual({(one["label"], one["kind"]) for one in process["connections"]}, {("sunrpc", "messages")})

    def test_rates_until_a_signal(self):
        server = self.start_server("exs-ping")
        client = subprocess.Popen([BIN / "exs-ping", "127.0.0.1", "--port", server.port, "--time", str(LIMIT_S), "--kind", "normal"],
                                  stdout=subprocess.DEVNULL)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        self.until(client.pid, lambda process: any(one["counters"]["sends"] > 0 for one in process["connections"]))
        top = subprocess.Popen([BIN / "exs-top", "-p", str(client.pid)], stdout=subprocess.PIPE, text=True)
        self.addCleanup(top.stdout.close)
        self.addCleanup(top.kill)
        self.assertRegex(top.stdout.readline(), r"^1 processes, 1 connections: \d")
        self.assertIn("SENDS/s", top.stdout.readline())
        self.assertNotIn(" 0.00 ", top.stdout.readline())
        top.send_signal(signal.SIGINT)
        self.assertEqual(top.wait(LIMIT_S), 0)

    def test_keys_of_a_terminal(self):
        server = self.start_server("exs-ping")
        self.until(server.process.pid, lambda process: True)
        terminal, other_end = pty.openpty()
        self.addCleanup(os.close, terminal)
        fcntl.ioctl(other_end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        before = termios.tcgetattr(other_end)
        top = subprocess.Popen([BIN / "exs-top"], stdin=other_end, stdout=other_end)
        self.addCleanup(top.kill)
        shown = b""

        def until(words):
            nonlocal shown
            while words not in shown:
                shown += os.read(terminal, 4096)
            shown = shown.partition(words)[2]
        until(b"s sort: process   g one line each: connection")
        os.write(terminal, b"s")
        until(b"s sort: sent")
        os.write(terminal, b"gg")
        until(b"g one line each: peer")
        fcntl.ioctl(other_end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 10, 0, 0))
        top.send_signal(signal.SIGWINCH)
        until(b" processes")
        os.write(terminal, b"q")
        self.assertEqual(top.wait(LIMIT_S), 0)
        until(b"\x1b[?1049l")
        self.assertEqual(termios.tcgetattr(other_end), before)
        os.close(other_end)

    def test_metrics_are_what_prometheus_reads(self):
        server = self.start_server("exs-ping", "--provider", "iwarp")
        self.succeed("exs-ping", "127.0.0.1", "--port", server.port, "--kind", "normal", "--size", "100", "--count", "500")
        pid = str(server.process.pid)
        self.until(server.process.pid, lambda process: process["closed_connections"]["receives"] >= 500)
        text = self.succeed("exs-top", "--metrics", "-p", pid)
        parser = subprocess.run(["/usr/bin/python3", "-c", PARSER], input=text, capture_output=True, text=True, check=False,
                                timeout=LIMIT_S)
        self.assertEqual(parser.returncode, 0, parser.stderr + text)
        samples = json.loads(parser.stdout)
        self.assertEqual(samples["exs_processes"], [[{"program": "exs-ping"}, 1]])
        self.assertEqual(samples["exs_connections_opened_total"], [[{"program": "exs-ping"}, 1]])
        self.assertGreaterEqual(samples["exs_received_bytes_total"][0][1], 50000)
        done = run("exs-top", "--metrics", "--json")
        self.assertEqual(done.returncode, 2)

    def test_metrics_over_http(self):
        top = subprocess.Popen([BIN / "exs-top", "--serve", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(top.stdout.close)
        self.addCleanup(top.kill)
        url = re.fullmatch(r"serving (http://127\.0\.0\.1:\d+/metrics)\n", top.stdout.readline())[1]
        server = self.start_server("exs-ping")
        self.until(server.process.pid, lambda process: True)
        for _ in range(2):
            with urllib.request.urlopen(url, timeout=LIMIT_S) as answer:
                self.assertRegex(answer.headers["Content-Type"], "^application/openmetrics-text; version=1.0.0")
                text = answer.read().decode()
            self.assertTrue(text.endswith("# EOF\n"))
        for wrong, status in ((url + "/..", 404), (urllib.request.Request(url, data=b"x"), 405)):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(wrong, timeout=LIMIT_S)
            self.assertEqual(refused.exception.code, status)
            refused.exception.close()
        port = url.rsplit(":", 1)[1].split("/")[0]
        taken = run("exs-top", "--serve", f"127.0.0.1:{port}")
        self.assertEqual(taken.returncode, 1)
        self.assert_one_line(taken.stderr, f"127.0.0.1:{port}: Address already in use")
        self.assertEqual(run("exs-top", "--serve", "nowhere").returncode, 2)
        top.send_signal(signal.SIGTERM)
        self.assertEqual(top.wait(LIMIT_S), 0)

    def test_who_does_not_want_to_be_seen(self):
        os.environ["EXS_STATS"] = "no"
        self.addCleanup(os.environ.pop, "EXS_STATS")
        server = self.start_server("exs-ping")
        self.assertIsNone(self.process(server.process.pid))
        done = run("exs-top", "--once", "--pid", str(server.process.pid))
        self.assertEqual(done.returncode, 1)
        self.assert_one_line(done.stderr, str(server.process.pid), "does not use exs")

    @unittest.skipIf(os.geteuid() != 0, "needs root, to be another user")
    def test_other_users_do_not_see_it(self):
        server = self.start_server("exs-ping")
        self.until(server.process.pid, lambda process: True)
        done = subprocess.run([BIN / "exs-top", "--once", "-p", str(server.process.pid)], capture_output=True, text=True, check=False,
                              timeout=LIMIT_S, user=NOBODY, group=NOBODY, extra_groups=[])
        self.assertEqual(done.returncode, 1, done.stdout)

    @unittest.skipIf(os.geteuid() != 0, "needs root, to make a namespace")
    def test_a_process_in_a_container_is_seen(self):
        client = subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", BIN / "exs-ping", "-s", "--bind", "127.0.0.1", "--port", "0"],
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        self.addCleanup(client.stdout.close)
        client.stdout.readline()
        child = int(pathlib.Path(f"/proc/{client.pid}/task/{client.pid}/children").read_text(encoding="ascii"))
        self.assertEqual(self.until(child, lambda process: True)["program"], "exs-ping")

    def test_nobody_else_can_write_it(self):
        server = self.start_server("exs-ping")
        self.until(server.process.pid, lambda process: True)
        folder = pathlib.Path(f"/proc/{server.process.pid}/fd")
        page, = [one for one in folder.iterdir() if os.readlink(one) == "/memfd:exs-stats (deleted)"]
        with open(page, "r+b", buffering=0) as file:
            with self.assertRaises(PermissionError):
                file.write(b"x")
            with self.assertRaises(PermissionError):
                file.truncate(1)
            with self.assertRaises(PermissionError):
                mmap.mmap(file.fileno(), 4096)

    def forge(self, dice, size=HEAD_BYTES + RECORDS * 448, seals=SEALS, magic=MAGIC, used=40):
        """Holds a page of random bytes that says the right things about itself."""
        page = os.memfd_create("exs-stats", os.MFD_ALLOW_SEALING)
        self.addCleanup(os.close, page)
        os.ftruncate(page, size)
        os.pwrite(page, dice.randbytes(min(size, HEAD_BYTES + 40 * 448)), 0)
        os.pwrite(page, struct.pack("=QIIIIi", magic, HEAD_BYTES, 448, RECORDS, used, os.getpid()), 0)
        fcntl.fcntl(page, fcntl.F_ADD_SEALS, seals)

    def test_a_forged_page_is_no_harm(self):
        for seed in range(20):
            self.forge(random.Random(seed), used=(40, 1 << 31)[seed % 2])
            for words in ("--json",), ("--once",), ("--metrics",), ("--once", "--group", "peer"):
                shown = self.succeed("exs-top", *words, "-p", str(os.getpid()))
                self.assertTrue(all(letter == "\n" or letter.isprintable() for letter in shown), shown)

    def test_what_is_no_page_is_not_read(self):
        dice = random.Random(1)
        self.forge(dice, size=4096)
        self.forge(dice, seals=0)
        self.forge(dice, magic=1)
        file = os.open("/dev/null", os.O_RDONLY)
        self.addCleanup(os.close, file)
        self.assertEqual(run("exs-top", "--once", "-p", str(os.getpid())).returncode, 1)

    def test_an_end_that_nobody_reads(self):
        with contextlib.closing(os.fdopen(os.open("/dev/full", os.O_WRONLY), "w")) as full:
            done = subprocess.run([BIN / "exs-top", "--once"], stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 1)


if __name__ == "__main__":
    unittest.main()
