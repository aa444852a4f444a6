# SPDX-License-Identifier: BSD-2-Clause
"""The kernel refuses what the layer needs. Programs must continue by TCP without an error. EXS_SOCKETS_LIBRARY is the
library, EXS_CONFINED the program that removes rights."""
import os
import unittest

import peer
from test_hostile import ROLES, HostileTest

CONFINED = os.environ["EXS_CONFINED"]


class Refused(HostileTest):
    def play(self, role, *options, prefix=(), ring="4k", answers=True):
        victim = self.victim(role, *options, prefix=prefix, words=f"after=1,ring={ring}")
        for _ in range(3):
            connection = victim.connection()
            if answers and role == "connect":
                try:
                    connection.offer([peer.memory_file()]).close()
                except AssertionError:
                    pass  # the victim leaves no card
            for _ in range(70):
                connection.echo()
            connection.close()
            self.assertEqual(victim.line()["result"], "end")
        self.expect_nothing_left(victim)
        lines = [line for line in victim.log().splitlines() if "by shared memory and" not in line]
        self.assertEqual(lines, [])
        return victim.log()

    def test_limits(self):
        for name, option, ring in (("descriptors", "limit=NOFILE:0", "4k"), ("one more", "limit=NOFILE:1", "4k"),
                                   ("two more", "limit=NOFILE:2", "4k"), ("files", "limit=FSIZE:0", "4k"),
                                   ("memory", "limit=AS:2000000", "4k"), ("memory for a ring", "limit=AS:40000000", "16M")):
            for role in ROLES:
                with self.subTest(name, role=role):
                    log = self.play(role, option, ring=ring)
                    # Under a file limit nothing can be logged into a file. A connection that the layer did not note
                    # writes no line.
                    self.assertIn("" if name in ("files", "memory") else "sent 0 bytes by shared memory", log)

    def test_calls(self):
        for call in "memfd_create", "unix_socket":
            for role in ROLES:
                with self.subTest(call, role=role):
                    log = self.play(role, prefix=(CONFINED, "deny", call, "1", "--"))
                    if call == "memfd_create" and role == "listen":
                        self.assertIn("no-descriptors", log)


if __name__ == "__main__":
    unittest.main()
