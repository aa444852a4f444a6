"""exs-services tells who is there, and whether somebody answers: the example service, in a process that is stopped and ended."""
import os
import pathlib
import signal
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


if __name__ == "__main__":
    unittest.main()
