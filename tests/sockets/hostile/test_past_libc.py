# SPDX-License-Identifier: BSD-2-Clause
"""Programs with libexs_sockets.so that go past the C library, or forbid themselves system calls (past_libc.c).
EXS_SOCKETS_LIBRARY is the library, EXS_PAST_LIBC the program."""
import os
import re
import subprocess
import unittest

LIBRARY = os.environ["EXS_SOCKETS_LIBRARY"]
PROGRAM = os.environ["EXS_PAST_LIBC"]
LIMIT_S = 120


class PastLibc(unittest.TestCase):
    def play(self, *words, **environment):
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=LIMIT_S, check=False,
                              env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, done.stderr

    def layered(self, *words, settings="after=1"):
        said, log = self.play(*words, LD_PRELOAD=LIBRARY, EXS_SOCKETS=settings, EXS_EXPLAIN="yes", EXS_SOCKETS_CONF="/dev/null")
        self.assertRegex(log, r"sent [1-9]\d* bytes by shared memory")  # bytes from before the change
        return said, log

    def compare(self, *words):
        plain, _ = self.play(*words)
        if words[0] == "uring" and "ended with" in plain:
            self.skipTest("io_uring is refused here")
        self.assertEqual(plain, "rounds\nrounds\n")
        # Whether bytes lie unread at the change is up to chance.
        for _ in range(5):
            said, log = self.layered(*words)
            self.assertEqual(said, plain, log)
            self.assertNotIn("is reset", log)
        return log

    def test_strict_mode(self):
        self.compare("strict")

    def test_filters(self):
        for by in "PR", "CALL":
            with self.subTest(by):
                self.compare("filter", by)

    def test_rings_of_the_kernel(self):
        for by in "LIB", "CALL":
            with self.subTest(by):
                log = self.compare("uring", by)
                by_tcp = max(int(count) for count in re.findall(r"and (\d+) by TCP", log))
                self.assertGreater(by_tcp, 1000)

    def test_calls_by_number(self):
        self.compare("syscall")

    def test_children_close_numbers_of_their_own(self):
        for by in "VFORK", "CALL", "INSTRUCTION":
            with self.subTest(by):
                self.compare("child", by)

    def test_an_instruction_past_everything(self):
        """The layer does not see the call. It misses the bytes at its next read, and no byte is wrong."""
        said, log = self.layered("raw", settings="after=1,wait=kernel")
        self.assertIn("raw reset\n", said)
        self.assertIn("does anything read or write the socket unseen", log)


if __name__ == "__main__":
    unittest.main()
