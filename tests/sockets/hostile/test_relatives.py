# SPDX-License-Identifier: BSD-2-Clause
"""Processes of one family with libexs_sockets.so, one of which gives up rights and turns against the others
(relatives.c). EXS_SOCKETS_LIBRARY is the library, EXS_RELATIVES the program. Needs root, which has rights to give up."""
import os
import re
import signal
import subprocess
import unittest

LIBRARY = os.environ["EXS_SOCKETS_LIBRARY"]
PROGRAM = os.environ["EXS_RELATIVES"]
LIMIT_S = 300


@unittest.skipIf(os.geteuid() != 0, "only root has rights to give up")
class Relatives(unittest.TestCase):
    def play(self, how):
        process = subprocess.Popen([PROGRAM, how], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                                   env={**os.environ, "LD_PRELOAD": LIBRARY, "EXS_SOCKETS": "after=1", "EXS_EXPLAIN": "yes",
                                        "EXS_SOCKETS_CONF": "/dev/null", "EXS_SHM_USERS": "any"})
        try:
            self.addCleanup(process.stdout.close)
            self.addCleanup(process.stderr.close)
            status = process.wait(LIMIT_S)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
        said, log = process.stdout.read(), process.stderr.read()
        self.assertEqual((status, sorted(said.split())), (0, ["rounds", "rounds", "writes"]), log)
        self.assertNotIn("is reset", log)
        return log

    def test_whoever_gives_up_rights_changes_nothing_of_its_relatives(self):
        for how in ("setuid", "setgid", "seteuid", "setegid", "setreuid", "setregid", "setresuid", "setresgid", "capset", "unshare", "seccomp",
                    "number", "clone", "parent"):
            with self.subTest(how):
                log = self.play(how)
                # The earlier client, and both ends of the later connection.
                self.assertGreaterEqual(len(re.findall(r"sent [1-9]\d* bytes by shared memory", log)), 3, log)


if __name__ == "__main__":
    unittest.main()
