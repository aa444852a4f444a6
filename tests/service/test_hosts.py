# SPDX-License-Identifier: BSD-2-Clause
"""Services of other hosts are found, by a file of names, a directory and multicast: three network namespaces, which a switch in the second joins."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from full_pipe import full_pipe  # noqa: E402

SERVICE = os.environ["EXS_SERVICE_EXAMPLE"]
PEER = os.environ["EXS_SERVICE_PEER"]
ASKER = os.environ["EXS_SERVICE_ASKER"]
DIRECTORY = os.environ.get("EXS_DIRECTORY")  # where tools are built
LIMIT_S = 60
PORT = 7000
HOSTS = (1, 2, 3)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("ip"), "needs the right to make network namespaces")
class Hosts(unittest.TestCase):
    def setUp(self):
        for host in HOSTS:
            if subprocess.run(["ip", "netns", "add", self.name(host)], capture_output=True, check=False).returncode != 0:
                self.skipTest("ip makes no network namespace here")
            self.addCleanup(subprocess.run, ["ip", "netns", "delete", self.name(host)], check=True)
            self.ip(host, "link", "set", "lo", "up")
        self.ip(2, "link", "add", "cable", "type", "bridge")
        for host in (1, 3):
            self.ip(host, "link", "add", "cable", "type", "veth", "peer", "name", f"cable{host}", "netns", self.name(2))
            self.ip(2, "link", "set", f"cable{host}", "master", "cable", "up")
        for host in HOSTS:
            self.ip(host, "address", "add", f"10.78.0.{host}/24", "dev", "cable")
            self.ip(host, "address", "add", f"fd78::{host}/64", "dev", "cable", "nodad")
            self.ip(host, "link", "set", "cable", "up")
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.key = str(self.folder / "key")

    @staticmethod
    def name(host):
        return f"exs-{os.getpid()}-service{host}"

    def ip(self, host, *words):
        subprocess.run(["ip", "-n", self.name(host), *words], check=True)

    def start(self, host, *words, output=subprocess.PIPE, errors=None, **environment):
        process = subprocess.Popen(["ip", "netns", "exec", self.name(host), *words], stdout=output, stderr=errors, bufsize=0,
                                   env={**os.environ, **environment})
        if process.stdout:
            self.addCleanup(process.stdout.close)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.wait(LIMIT_S)

    def serve(self, host, listen, key=None, **environment):
        process = self.start(host, SERVICE, str(self.folder / (key or "key")), EXS_SVC_LISTEN=listen, **environment)
        return process, process.stdout.readline().strip().decode()

    def expect_found(self, process, ident, **environment):
        done = subprocess.run(["ip", "netns", "exec", self.name(2), SERVICE, ident, "found"], capture_output=True, text=True,
                              timeout=LIMIT_S, check=False, env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(process.stdout.readline().strip(), b"found")

    def expect_nobody(self, idents, **environment):
        for process in [self.start(2, SERVICE, ident, "x", **environment) for ident in idents]:
            self.assertEqual(process.wait(LIMIT_S), 1)

    def test_by_a_file(self):
        names = self.folder / "names"
        for listen in (f"0.0.0.0:{PORT}", f"10.78.0.1:{PORT}"):
            process, ident = self.serve(1, listen, EXS_SVC_MULTICAST="off")
            names.write_text(f"printer {ident} 10.78.0.1:{PORT}\n")
            for word in ("printer", ident):
                self.expect_found(process, word, EXS_SERVICES=str(names))
            self.end(process)

    def test_by_nothing(self):
        _, ident = self.serve(1, "10.78.0.1")
        self.expect_nobody([ident], EXS_SERVICES="/nowhere", EXS_SVC_MULTICAST="off")

    def test_by_multicast(self):
        for listen in ("0.0.0.0", "10.78.0.1", "::", "fd78::1"):
            for setting in ("", "cable:7001"):
                process, ident = self.serve(1, listen, EXS_SVC_MULTICAST=setting)
                self.expect_found(process, ident, EXS_SVC_MULTICAST=setting)
                self.end(process)

    def test_by_multicast_of_one_protocol(self):
        for family, listen in (("-6", "10.78.0.1"), ("-4", "fd78::1")):
            for host in (1, 2):
                self.ip(host, family, "address", "flush", "dev", "cable")
            process, ident = self.serve(1, listen)
            self.expect_found(process, ident)
            self.end(process)
            for host in (1, 2):
                self.ip(host, "address", "replace", f"fd78::{host}/64", "dev", "cable", "nodad")

    def test_what_is_not_announced(self):
        cases = (("127.0.0.1", ""), ("0.0.0.0", "off"), ("0.0.0.0", "lo"), ("0.0.0.0", ":7001"))
        self.expect_nobody([self.serve(1, listen, key=str(number), EXS_SVC_MULTICAST=setting)[1]
                            for number, (listen, setting) in enumerate(cases)])

    def start_directory(self, port=0, *options, errors=None):
        if not DIRECTORY:
            self.skipTest("exs-directory is not built")
        process = self.start(2, DIRECTORY, "--bind", "10.78.0.2", "--port", str(port), "--file", str(self.folder / "directory"), *options,
                             errors=errors)
        port = int(process.stdout.readline().split()[1])
        return process, {"EXS_SVC_MULTICAST": "off", "EXS_SVC_DIRECTORY": f"10.78.0.2:{port}"}, port

    def test_by_a_directory(self):
        directory, ways, port = self.start_directory()
        _, nobody = self.serve(1, "127.0.0.1", key="other", **ways)
        process, ident = self.serve(1, "0.0.0.0", **ways)
        self.expect_found(process, ident, **ways)
        self.expect_nobody([nobody], **ways)
        # Killed and started again, it goes on from its file, and services claim what they have.
        self.end(directory)
        self.start_directory(port)
        self.expect_found(process, ident, **ways)
        self.end(process)
        self.expect_nobody([ident], **ways)

    def test_by_a_directory_whose_lines_nobody_reads(self):
        _, ways, _ = self.start_directory(0, "--verbose", errors=self.enterContext(full_pipe()))
        process, ident = self.serve(1, "0.0.0.0", **ways)
        self.expect_found(process, ident, **ways)

    def test_killed_and_started_elsewhere_by_a_directory(self):
        self.move(self.end, **self.start_directory()[1])

    def test_vanished_and_started_elsewhere_by_a_directory(self):
        self.move(lambda _: self.ip(2, "link", "set", "cable1", "down"), **self.start_directory()[1])

    def start_peer(self, host, **environment):
        return self.start(host, PEER, self.key, output=subprocess.DEVNULL, EXS_SVC_LISTEN="0.0.0.0", **environment)

    def move(self, cut, asking=2, **environment):
        """The service goes from the first host to the third, and who has asked it goes on."""
        self.end(self.serve(1, "127.0.0.1")[0])  # has made the key
        service = self.start_peer(1, **environment)
        asker = self.start(asking, ASKER, self.key, **environment)
        self.assertTrue(asker.stdout.readline())
        cut(service)
        self.forget_answers(asker)
        other = self.start_peer(3, **environment)
        self.expect_answers(asker)
        for process in (asker, service, other):
            self.end(process)

    def test_stopped_and_started_elsewhere_by_a_directory(self):
        """An asker on the same host, whose connection does not end by silence, too."""
        ways = self.start_directory()[1]
        for asker in (2, 1):
            self.move(lambda service: os.kill(service.pid, signal.SIGSTOP), asker, **ways)

    def test_a_host_that_is_slow_is_given_more_time(self):
        """Each time that the same service is there again after it was taken for dead, its silence has to last longer."""
        ways = self.start_directory()[1]
        self.end(self.serve(1, "127.0.0.1")[0])  # has made the key
        service = self.start_peer(1, **ways)
        asker = self.start(2, ASKER, self.key, errors=subprocess.PIPE, **ways)
        self.addCleanup(asker.stderr.close)
        silences = []
        for _ in range(4):
            self.forget_answers(asker)
            self.expect_answers(asker)
            os.kill(service.pid, signal.SIGSTOP)
            begin = time.monotonic()
            while b"has been silent" not in asker.stderr.readline():
                self.assertIsNone(asker.poll())
            silences.append(time.monotonic() - begin)
            os.kill(service.pid, signal.SIGCONT)
        # Two periods of keep-alive, each a third of 0.6 s at first and eight times that at last.
        self.assertGreater(silences[-1], 2.5, silences)

    @staticmethod
    def forget_answers(asker):
        os.set_blocking(asker.stdout.fileno(), False)
        while asker.stdout.read():
            pass
        os.set_blocking(asker.stdout.fileno(), True)

    def expect_answers(self, asker):
        for _ in range(10):  # one may have been under way
            self.assertTrue(asker.stdout.readline())

    def test_killed_and_started_elsewhere(self):
        self.move(self.end)

    def test_vanished_and_started_elsewhere(self):
        self.move(lambda _: self.ip(2, "link", "set", "cable1", "down"))


if __name__ == "__main__":
    unittest.main()
