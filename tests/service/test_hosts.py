"""A service of one network is found from another one by a file of names: the example service, in network namespaces that a cable joins."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SERVICE = os.environ["EXS_SERVICE_EXAMPLE"]
LIMIT_S = 60
PORT = 7000


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("ip"), "needs the right to make network namespaces")
class Hosts(unittest.TestCase):
    def setUp(self):
        for number in (1, 2):
            if subprocess.run(["ip", "netns", "add", self.name(number)], capture_output=True, check=False).returncode != 0:
                self.skipTest("ip makes no network namespace here")
            self.addCleanup(subprocess.run, ["ip", "netns", "delete", self.name(number)], check=True)
            self.ip(number, "link", "set", "lo", "up")
        self.ip(1, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", self.name(2))
        for number in (1, 2):
            self.ip(number, "address", "add", f"10.78.0.{number}/24", "dev", "cable")
            self.ip(number, "link", "set", "cable", "up")
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    @staticmethod
    def name(number):
        return f"exs-{os.getpid()}-service{number}"

    def ip(self, number, *words):
        subprocess.run(["ip", "-n", self.name(number), *words], check=True)

    def command(self, number, *words):
        return ["ip", "netns", "exec", self.name(number), SERVICE, *words]

    def start(self, listen):
        process = subprocess.Popen(self.command(1, str(self.folder / "key")), stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "EXS_SVC_LISTEN": listen})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, LIMIT_S)
        self.addCleanup(process.kill)
        return process, process.stdout.readline().strip()

    def send(self, *words, **environment):
        return subprocess.run(self.command(2, *words), capture_output=True, text=True, timeout=LIMIT_S, check=False,
                              env={**os.environ, **environment})

    def test_a_service_of_another_network(self):
        names = self.folder / "names"
        for listen in (f"0.0.0.0:{PORT}", f"10.78.0.1:{PORT}"):
            process, ident = self.start(listen)
            names.write_text(f"printer {ident} 10.78.0.1:{PORT}\n")
            for words in (("printer", "by", "name"), (ident, "by", "ID")):
                done = self.send(*words, EXS_SERVICES=str(names))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual([process.stdout.readline().strip() for _ in range(2)], list(words[1:]))
            process.kill()
            process.wait(LIMIT_S)

    def test_without_the_file_it_is_nobody(self):
        _, ident = self.start(f"10.78.0.1:{PORT}")
        done = self.send(ident, "x", EXS_SERVICES="/nowhere")
        self.assertEqual(done.returncode, 1)
        self.assertIn("No such file or directory", done.stderr)


if __name__ == "__main__":
    unittest.main()
