# SPDX-License-Identifier: BSD-2-Clause
"""vsftpd and curl, which transfer files both ways. vsftpd's seccomp sandbox is off, because it kills programs with new
kernels and C libraries, even without exs."""
import hashlib
import os
import pathlib
import random
import unittest

from servers import LAYERED, ServerTest, free_port, layer

CONFIGURATION = """
listen=YES
listen_address=127.0.0.1
listen_port={port}
background=NO
anonymous_enable=YES
no_anon_password=YES
anon_root={folder}/files
anon_upload_enable=YES
write_enable=YES
anon_umask=022
secure_chroot_dir={folder}/empty
seccomp_sandbox=NO
xferlog_enable=NO
ftp_username=ftp
nopriv_user=nobody
"""
BYTES = 19_090_223  # the smaller file of SOVIA's Table I


class Ftp(ServerTest):
    def play(self, environment):
        port, folder = free_port(), self.folder()
        os.chmod(folder, 0o755)
        for name in ("files", "files/in", "empty"):
            pathlib.Path(folder, name).mkdir()
        os.chmod(f"{folder}/files/in", 0o777)
        pathlib.Path(folder, "files/out").write_bytes(random.Random(2).randbytes(BYTES))
        pathlib.Path(folder, "vsftpd.conf").write_text(CONFIGURATION.format(port=port, folder=folder))
        self.start(["/usr/sbin/vsftpd", f"{folder}/vsftpd.conf"], environment, port, folder)
        address = f"ftp://127.0.0.1:{port}"
        listing, _ = self.client(["curl", "-sS", "--list-only", f"{address}/"], environment)
        out, _ = self.client(["curl", "-sS", f"{address}/out"], environment)
        part, _ = self.client(["curl", "-sS", "-r", "1000000-2000000", f"{address}/out"], environment)
        self.client(["curl", "-sS", "-T", f"{folder}/files/out", f"{address}/in/copy"], environment)
        copy = pathlib.Path(folder, "files/in/copy").read_bytes()
        return listing, *(hashlib.sha256(data).digest() for data in (out, part, copy))

    @unittest.skipIf(os.geteuid() != 0, "only root may start such a server")
    def test_files_are_the_same(self):
        self.needs("vsftpd", "curl")
        expected = self.play({})
        for name, words in LAYERED.items():
            with self.subTest(layer=name):
                self.assertEqual(self.play(layer(words)), expected)


if __name__ == "__main__":
    unittest.main()
