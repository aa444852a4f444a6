# SPDX-License-Identifier: BSD-2-Clause
"""exs-services tells who is there, and whether somebody answers: the example service, in a process that is stopped and ended."""
import os
import pathlib
import pty
import signal
import socket
import subprocess
import tempfile
import unittest

from tools import BIN, LIMIT_S, ToolsTest, run

STRANGER = "exs:" + "0" * 32


class Services(ToolsTest):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.process = subprocess.Popen([BIN / "service", str(self.folder / "key")], stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.process.stdout.close)
        self.addCleanup(self.process.wait, LIMIT_S)
        self.addCleanup(self.process.kill)
        self.ident = self.process.stdout.readline().strip()
        self.names = self.folder / "names"
        self.names.write_text(f"printer {self.ident}\nscanner {STRANGER} # of nobody\nbroken line\n")

    def json(self, *words):
        return self.measure("exs-services", "--names", str(self.names), *words)

    def test_who_is_there(self):
        result = self.json()
        self.assertEqual([(one["name"], one["state"]) for one in result["services"]], [("printer", "here"), ("scanner", "not here")])
        printer = result["services"][0]
        self.assertEqual((printer["id"], printer["process"], printer["user"]), (self.ident, self.process.pid, os.geteuid()))
        self.assertRegex(printer["opened"], r"^20\d\d-\d\d-\d\dT")
        self.assertRegex(printer["addresses"][0], r"^127\.0\.0\.1:\d+$")
        text = self.succeed("exs-services", "--names", str(self.names), self.ident)
        self.assertIn(f"here, process {self.process.pid} of user", text)

    def test_who_is_not(self):
        done = run("exs-services", "--names", str(self.names), "scanner")
        self.assertEqual((done.returncode, done.stdout.split()[-2:]), (1, ["not", "here"]))
        for words, told in ((("copier",), "has no line for copier"), (("ping", "copier"), "has no line for copier"),
                            (("ping", "--timeout", "0.1", "scanner"), "nobody is the service"),
                            (("ping", "--timeout", "0.001", "scanner"), "nobody is the service")):
            done = run("exs-services", "--names", str(self.names), *words)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assert_one_line(done.stderr, told)
        self.assertEqual(run("exs-services", "--names", str(self.folder / "nothing")).returncode, 1)
        for words in (("ping",), ("printer", "scanner")):
            self.assertEqual(run("exs-services", *words).returncode, 2)

    def test_a_ping_is_answered(self):
        for provider in "shm", "iwarp":
            result = self.json("ping", "printer", "--provider", provider)
            self.assertEqual(result["name"], "printer")
            self.assertGreater(result["elapsed_us"], 0)

    def test_how_busy_one_is(self):
        first = self.json("stats", "printer")["services"][0]
        self.assertEqual((first["name"], first["id"]), ("printer", self.ident))
        self.assertGreaterEqual(first["open_s"], 0)
        self.assertEqual([first[key] for key in ("messages", "replies", "mailbox", "requests_open", "flows", "windows_free")],
                         [0, 0, 0, 0, 1, 0])
        self.succeed("service", self.ident, "hello")
        self.process.stdout.readline()
        self.assertEqual(self.json("stats", "printer")["services"][0]["messages"], 1)
        self.assertIn("printer", self.succeed("exs-services", "--names", str(self.names), "stats", "printer"))
        done = run("exs-services", "--names", str(self.names), "--timeout", "0.1", "stats")
        self.assertEqual(done.returncode, 1)
        self.assertIn("nobody is the service", done.stdout)
        # A capability that is not right is refused; one of another service is not shown; and one that is none is told.
        caps = {name: self.folder / name for name in ("own", "other", "none")}
        digits = self.ident.removeprefix("exs:")
        caps["own"].write_text("exs-cap:" + digits + "0000001f" + "00000000" + "0" * 16 + "0" * 64 + "\n")
        caps["other"].write_text("exs-cap:" + "1" * 32 + "0000001f" + "00000000" + "0" * 16 + "0" * 64 + "\n")
        caps["none"].write_text("exs-cap:0\n")
        for name, status in (("own", 1), ("other", 0), ("none", 1)):
            done = run("exs-services", "--names", str(self.names), "--cap", str(caps[name]), "stats", "printer")
            self.assertEqual(done.returncode, status, done.stderr)
            if name == "own":
                self.assertIn("--cap", done.stdout)

    def test_a_stopped_process_is_silent(self):
        self.process.send_signal(signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)
        done = run("exs-services", "--names", str(self.names), "--timeout", "0.1")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{self.ident} silent", done.stdout)
        stopped = f"process {self.process.pid} of user {os.geteuid()} has the service's name, and is stopped: kill -CONT {self.process.pid}"
        self.assertIn(stopped, done.stdout)
        for words in ("ping", "printer"), ("stats", "printer"):
            done = run("exs-services", "--names", str(self.names), "--timeout", "0.1", *words)
            self.assertEqual(done.returncode, 1)
            self.assertIn(stopped, done.stdout + done.stderr)
        self.process.send_signal(signal.SIGCONT)
        self.json("ping", "printer")

    def test_a_directory_that_cannot_be_asked_is_named(self):
        with socket.create_server(("127.0.0.1", 0)) as closed:
            place = f"127.0.0.1:{closed.getsockname()[1]}"
        for words in ("ping", "scanner"), ("stats", "scanner"):
            done = run("exs-services", "--names", str(self.names), "--timeout", "0.1", *words, EXS_SVC_DIRECTORY=place)
            self.assertEqual(done.returncode, 1)
            told = f"nobody was found who is the service, and the directory at {place} (EXS_SVC_DIRECTORY) cannot be asked: Connection refused"
            self.assertIn(told, done.stdout + done.stderr)

    def test_the_list_is_watched(self):
        watching = subprocess.Popen([BIN / "exs-services", "--names", str(self.names), "--watch"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(watching.stdout.close)
        self.addCleanup(watching.kill)
        for _ in range(2):
            self.assertIn(f"here, process {self.process.pid} ", watching.stdout.readline())
            self.assertIn("not here", watching.stdout.readline())
            self.assertEqual(watching.stdout.readline(), "\n")
        watching.send_signal(signal.SIGINT)
        self.assertEqual(watching.wait(LIMIT_S), 0)

    def test_a_terminal_is_cleared_before_each_block(self):
        terminal, other_end = pty.openpty()
        self.addCleanup(os.close, terminal)
        watching = subprocess.Popen([BIN / "exs-services", "--names", str(self.names), "stats", "--timeout", "0.1", "--watch"], stdout=other_end)
        os.close(other_end)
        self.addCleanup(watching.kill)
        shown = b""
        while shown.count(b"\x1b[H\x1b[2J") < 2:
            shown += os.read(terminal, 4096)
        self.assertIn(b"printer", shown.split(b"\x1b[H\x1b[2J")[1])
        watching.send_signal(signal.SIGTERM)
        self.assertEqual(watching.wait(LIMIT_S), 0)

    def test_settings_that_are_empty_are_unset(self):
        for name in "EXS_SVC_LISTEN", "EXS_SVC_MULTICAST", "EXS_SVC_DIRECTORY":
            self.assertEqual(run("exs-services", "--names", str(self.names), "ping", "printer", **{name: ""}).returncode, 0, name)
        empty, unset = (run("exs-services", "ping", "no-such-name", **names) for names in ({"EXS_SERVICES": ""}, {}))
        self.assertEqual(empty.stderr, unset.stderr)

    def way(self, ident, **settings):
        """What EXS_LOG=debug tells of a lookup of it, without what is told of connections."""
        done = run("service", ident, "hello", EXS_LOG="debug", EXS_SVC_MULTICAST="off", **settings)
        about = f"exs-service: {ident}: "
        return done.returncode, [line.removeprefix(about) for line in done.stderr.splitlines() if line.startswith(about)]

    def test_the_way_of_a_lookup(self):
        status, lines = self.way(self.ident, EXS_SERVICES=str(self.names))
        self.assertEqual(status, 0)
        steps = [f"looked for on this host, in {self.names}; for ", f"process {self.process.pid} has its name, and is asked", "found by who has its name on this host, at 127.0.0.1:",
                 "connects to 127.0.0.1:", "answers at 127.0.0.1:"]
        self.assertEqual(len(lines), len(steps), lines)
        for line, step in zip(lines, steps):
            self.assertTrue(line.startswith(step), f"{line}, not {step}")
        with socket.create_server(("127.0.0.1", 0)) as closed:
            place = f"127.0.0.1:{closed.getsockname()[1]}"
        status, lines = self.way(STRANGER, EXS_SERVICES=str(self.names), EXS_SVC_DIRECTORY=place)
        self.assertEqual(status, 1)
        self.assertTrue(lines[0].startswith(f"looked for on this host, in {self.names}, at the directory {place}; for "), lines)
        self.assertEqual(lines[1:], ["no process of this host has its name", f"{self.names} has no address of it",
                                 f"asked for by the directory at {place}", "nobody was found in time", "given up: No such file or directory"])

    def test_the_way_to_one_that_is_stopped(self):
        self.process.send_signal(signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)
        asker = subprocess.Popen([BIN / "service", self.ident, "hello"], stderr=subprocess.PIPE, text=True,
                                 env={**os.environ, "EXS_LOG": "debug", "EXS_SVC_MULTICAST": "off"})
        self.addCleanup(asker.stderr.close)
        self.addCleanup(asker.wait, LIMIT_S)
        self.addCleanup(asker.kill)
        who = f"exs-service: {self.ident}: process {self.process.pid}, which is stopped, has its name"
        for step in f"{who}, and is asked\n", f"{who}, and has not answered: it is waited for\n":
            for line in asker.stderr:
                if line == step:
                    break
            else:
                self.fail(f"it ends without {step}")
        self.process.send_signal(signal.SIGCONT)
        self.assertEqual(asker.wait(LIMIT_S), 0)


class Messages(ToolsTest):
    """Keys, capabilities, messages and requests, with a service that writes and returns what it gets."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.key = str(self.folder / "key")
        self.ident = self.succeed("exs-services", "key", self.key).strip()

    def start(self, *command):
        process = subprocess.Popen([*command], stdout=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, LIMIT_S)
        self.addCleanup(process.kill)
        return process

    def start_peer(self, *words):
        return self.start(os.environ["EXS_SERVICE_PEER"], self.key, *words)

    def ask(self, command, *words, status=0, timeout="60"):
        done = run("exs-services", command, "--timeout", timeout, self.ident, *words)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status in (0, 3) else done.stderr

    def test_keys(self):
        self.assertRegex(self.ident, r"^exs:[0-9a-f]{32}$")
        self.assertEqual(os.stat(self.key).st_mode & 0o777, 0o600)
        self.assertEqual(self.succeed("exs-services", "id", self.key).strip(), self.ident)
        result = self.measure("exs-services", "id", self.key)
        self.assertEqual((result["tool"], result["schema"], result["file"], result["id"]), ("exs-services", 1, self.key, self.ident))
        again = run("exs-services", "key", self.key)
        self.assertEqual(again.returncode, 1)
        self.assert_one_line(again.stderr, self.key, "the file exists")
        self.assertEqual(self.succeed("exs-services", "id", self.key).strip(), self.ident)

    def test_capabilities(self):
        text = self.succeed("exs-services", "capability", self.key).strip()
        self.assertEqual(self.succeed("exs-services", "capability", text),
                         f"{self.ident}, serial 0, expires never, rights: send stats request long return\n")
        result = self.measure("exs-services", "capability", self.key, "--rights", "stats,send", "--serial", "7", "--days", "1")
        self.assertEqual((result["id"], result["serial"], result["rights"]), (self.ident, 7, ["send", "stats"]))
        self.assertRegex(result["expires"], r"^20\d\d-\d\d-\d\dT")
        kept = self.folder / "capability"
        kept.write_text(result["capability"] + "\n")
        self.assertIn(f"{self.ident}, serial 7, expires {result['expires']}, rights: send stats",
                      self.succeed("exs-services", "capability", str(kept)))
        self.assertEqual(self.measure("exs-services", "capability", str(kept))["capability"], result["capability"])
        peer = self.start_peer()
        self.ask("ping", "--cap", str(kept))
        for right, status in ("send", 0), ("request", 1):
            one = self.folder / right
            one.write_text(self.succeed("exs-services", "capability", self.key, "--rights", right))
            answer = self.ask("send", "--cap", str(one), "x", status=status)
            self.assertIn("" if status == 0 else "--cap gives a capability", answer)
        self.assertEqual(peer.stdout.read(1), b"x")
        self.assertIn("--cap gives a capability", self.ask("request", "--cap", str(kept), "hello", status=1))
        for words, status, told in ((("--rights", "read", self.key), 2, '"read"'), (("--rights", "", self.key), 2, "--rights"),
                                    (("exs-cap:0",), 1, "the capability"), ((str(self.folder / "none"),), 1, "No such file")):
            done = run("exs-services", "capability", *words)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assert_one_line(done.stderr, told)

    def test_a_message_arrives(self):
        peer = self.start_peer()
        self.assertEqual(self.ask("send", "one"), "")
        self.assertEqual(peer.stdout.read(3), b"one")
        self.assertEqual(self.ask("send", "--hex", "00fF"), "")
        self.assertEqual(peer.stdout.read(2), b"\x00\xff")
        result = self.measure("exs-services", "send", "--timeout", "60", self.ident, "x")
        self.assertEqual([result[key] for key in ("tool", "schema", "name", "id", "accepted")],
                         ["exs-services", 1, self.ident, self.ident, True])
        self.assertIn("more than 4000 bytes", self.ask("send", "x" * 4001, status=1))

    def test_a_reply_is_printed(self):
        self.start_peer()
        self.assertEqual(self.ask("request", "hello", "wörld"), "hello\nwörld\n")
        self.assertEqual(self.ask("request", "--hex", "00ff41", "", "7e"), "00ff41\n\n7e\n")
        self.assertEqual(self.ask("request", "\x1b[31m\t\x7f\u0085"), "\\x1b[31m\t\\x7f\\xc2\\x85\n")
        self.assertEqual(self.ask("request", "--", "--hex"), "--hex\n")
        self.assertEqual(self.ask("request", "[1,2]", "{}", "[]"), "[1,2]\n{}\n[]\n")
        result = self.measure("exs-services", "request", "--timeout", "60", self.ident, "a\nb")
        self.assertEqual(list(result), ["tool", "version", "schema", "host", "kernel", "date", "name", "id", "status", "items", "longs"])
        self.assertEqual((result["id"], result["status"], result["items"], result["longs"]), (self.ident, 0, ["a\nb"], []))

    def test_bytes_that_are_not_text_are_printed_as_numbers(self):
        self.start_peer()
        done = subprocess.run([BIN / "exs-services", "request", "--timeout", "60", "--json", self.ident.encode(), b"\xc3(\xed\xa0\x80\xf4"],
                              capture_output=True, timeout=LIMIT_S, check=True)
        self.assertIn(rb'"\\xc3(\\xed\\xa0\\x80\\xf4"', done.stdout)

    def test_a_status_of_the_service(self):
        self.start_peer("5")
        self.assertEqual(self.ask("request", "hello", status=3), "hello\n")
        result = run("exs-services", "request", "--timeout", "60", "--json", self.ident, "hello")
        self.assertEqual((result.returncode, '"status": 5' in result.stdout), (3, True))

    def test_no_reply(self):
        for timeout in "0.1", "0.001":  # the answer that nobody is there may come late
            self.assertIn("nobody is the service", self.ask("request", "hello", status=1, timeout=timeout))
            self.assertIn("nobody is the service", self.ask("send", "hello", status=1, timeout=timeout))
        service = self.start(BIN / "service", self.key)
        service.stdout.readline()
        self.assertIn("without a reply", self.ask("request", "hello", status=1))
        service.send_signal(signal.SIGSTOP)
        os.waitpid(service.pid, os.WUNTRACED)
        for command in "send", "request":
            self.assertIn("is stopped: kill -CONT", self.ask(command, "hello", status=1, timeout="0.1"))

    def test_wrong_words_are_named(self):
        for words, told in ((("ping", "--hex", "x"), "--hex"), (("id", "--timeout", "1", "x"), "--timeout"), (("--cap", "x"), "--cap"), (("ping", "--watch", "x"), "--watch"),
                            (("request",), "request needs"), (("key", "a", "b"), '"b"'), (("request", "--hex", "x", "123"), '"123"'),
                            (("request", "--hex", "x", "0g"), '"0g"'), (("send", "x", *map(str, range(17))), '"16"')):
            with self.subTest(words):
                done = run("exs-services", *words, EXS_SERVICES="/dev/null")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assert_one_line(done.stderr, told)
        self.assertEqual(sorted(os.listdir(self.folder)), ["key"])


if __name__ == "__main__":
    unittest.main()
