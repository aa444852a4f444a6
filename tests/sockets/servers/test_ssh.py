# SPDX-License-Identifier: BSD-2-Clause
"""openssh-server, which executes itself for each connection and separates its privileges, with ssh and scp."""
import hashlib
import os
import pathlib
import random
import unittest

from servers import LAYERED, ServerTest, free_port, layer

CONFIGURATION = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile {folder}/pid
StrictModes no
UsePAM no
Subsystem sftp internal-sftp
"""


class Ssh(ServerTest):
    def play(self, environment):
        port, folder = free_port(), self.folder()
        for name in ("host", "user"):
            self.client(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/{name}"], {})
        pathlib.Path(folder, "sshd_config").write_text(CONFIGURATION.format(port=port, folder=folder))
        sent, copied = pathlib.Path(folder, "sent"), pathlib.Path(folder, "copied")
        sent.write_bytes(random.Random(1).randbytes(5_000_000))
        self.start(["/usr/sbin/sshd", "-D", "-e", "-f", f"{folder}/sshd_config"], environment, port, folder)
        options = ["-q", "-F", "none", "-i", f"{folder}/user", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
                   "-o", "BatchMode=yes"]
        words, _ = self.client(["ssh", *options, "-p", str(port), "127.0.0.1", "cat; seq 20000; exit"], environment, b"typed\n" * 500)
        self.client(["scp", *options, "-P", str(port), sent, f"127.0.0.1:{copied}"], environment)
        back, _ = self.client(["ssh", *options, "-p", str(port), "127.0.0.1", f"cat {copied}"], environment)
        return words, hashlib.sha256(copied.read_bytes()).digest(), hashlib.sha256(back).digest()

    @unittest.skipIf(os.geteuid() != 0, "only root may start such a server")
    def test_files_and_words_are_the_same(self):
        self.needs("sshd", "ssh", "scp")
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        expected = self.play({})
        for name, words in LAYERED.items():
            with self.subTest(layer=name):
                self.assertEqual(self.play(layer(words)), expected)


if __name__ == "__main__":
    unittest.main()
