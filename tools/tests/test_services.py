"""exs-services tells who is there, and whether somebody answers: the example service, in a process that is stopped and ended."""
import os
import pathlib
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
                            (("ping", "--timeout", "0.1", "scanner"), "nobody is the service")):
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


if __name__ == "__main__":
    unittest.main()
