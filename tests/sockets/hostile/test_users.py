# SPDX-License-Identifier: BSD-2-Clause
"""Connections between programs of two users, with libexs_sockets.so: which users share memory, and what another user's
program may not do. EXS_SOCKETS_LIBRARY is the library. Needs root, which can become other users."""
import array
import contextlib
import os
import re
import socket
import subprocess
import sys
import unittest

import peer
from peer import Segment, memory_file
from test_hostile import LIBRARY, LIMIT_S, HostileTest

NOBODY = 65534
# An end that becomes another user: really or effectively, before its connection or in the middle of it. It is root when
# the library is loaded, so that other users need not be able to read the library's file.
PROGRAM = """
import encodings.idna, os, socket, sys  # the first, because others may not read Python's files
role, port, user, kind, when, peeks = sys.argv[1:]
def become(at):
    if at == when and kind == "all": os.setresuid(int(user), int(user), int(user))
    if at == when and kind == "effective": os.seteuid(int(user))
become("start")
if role == "listen":
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    connection, _ = listener.accept()
else:
    connection = socket.create_connection(("127.0.0.1", int(port)))
for i in range(60):
    if i == 30: become("half")
    if role == "connect": connection.sendall(bytes([i]) * 100)
    if i == 40 and peeks == "peek": assert connection.recv(100, socket.MSG_PEEK | socket.MSG_WAITALL) == bytes([i]) * 100
    assert connection.recv(100, socket.MSG_WAITALL) == bytes([i]) * 100, i
    if role == "listen": connection.sendall(bytes([i]) * 100)
connection.close()
"""


@unittest.skipIf(os.geteuid() != 0, "only root becomes other users")
class Users(HostileTest):
    def start(self, role, port, user, kind, when, peeks, users):
        process = subprocess.Popen([sys.executable, "-c", PROGRAM, role, str(port), str(user), kind, when, peeks], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**os.environ, "LD_PRELOAD": LIBRARY, "EXS_SOCKETS": "after=1", "EXS_EXPLAIN": "yes",
                                        "EXS_SOCKETS_CONF": "/dev/null", "EXS_SHM_USERS": users})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def play(self, listen, connect, users, peeks="no"):
        """Returns each end's lines about its connection; `listen` and `connect` are (user, kind, when)."""
        server = self.start("listen", 0, *listen, peeks, users)
        client = self.start("connect", server.stdout.readline().strip(), *connect, "no", users)
        ends = []
        for process in server, client:
            _, said = process.communicate(timeout=LIMIT_S)
            self.assertEqual(process.returncode, 0, said)
            ends.append(said)
        return ends

    def ring_and_tcp(self, said):
        found = re.search(r"sent (\d+) bytes by shared memory and (\d+) by TCP", said)
        return int(found[1]), int(found[2])

    ROOT = (0, "all", "never")
    OTHER = (NOBODY, "all", "start")

    def expect(self, shares, listen, connect, users):
        for said in self.play(listen, connect, users):
            ring, _ = self.ring_and_tcp(said)
            self.assertEqual(ring > 0, shares, said)

    def test_who_shares(self):
        # The effective user counts, as for files.
        effective = (NOBODY, "effective", "start")
        for shares, listen, connect, users in (
                (True, self.ROOT, self.ROOT, "same"), (True, self.OTHER, self.OTHER, "same"), (False, self.ROOT, self.OTHER, "same"),
                (True, effective, self.OTHER, "same"), (False, effective, self.ROOT, "same"),
                (True, self.ROOT, self.OTHER, "any"), (True, self.OTHER, self.ROOT, "any"),
                (False, self.ROOT, self.OTHER, str(NOBODY))):  # root allows the other user, who does not allow root
            with self.subTest(listen=listen, connect=connect, users=users):
                self.expect(shares, listen, connect, users)

    def test_who_has_met_may_become_another(self):
        half = (NOBODY, "all", "half")
        for listen, connect in (half, self.ROOT), (self.ROOT, half):
            for said in self.play(listen, connect, "same"):
                ring, tcp = self.ring_and_tcp(said)
                self.assertGreater(ring, 4000, said)
                self.assertLess(tcp, 2000, said)

    def test_what_was_looked_at_stays(self):
        """Another user's program could change bytes between a program's MSG_PEEK and its receive. The first such call
        ends shared memory."""
        server, client = self.play(self.ROOT, self.OTHER, "any", peeks="peek")
        for said in server, client:
            ring, tcp = self.ring_and_tcp(said)
            self.assertGreater(ring, 1000, said)
            self.assertGreater(tcp, 1500, said)
        for said in self.play(self.ROOT, self.ROOT, "any", peeks="peek"):
            self.assertLess(self.ring_and_tcp(said)[1], 1000, said)

    def as_nobody(self, play):
        """Runs play() as another user. The exit status tells whether it returned true."""
        child = os.fork()
        if child == 0:
            status = 1
            with contextlib.suppress(BaseException):
                os.setresuid(NOBODY, NOBODY, NOBODY)
                status = 0 if play() else 2
            os._exit(status)
        return child

    def result_of(self, child):
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def test_nobody_else_takes_the_called_ends_place(self):
        """The connection is between two processes of root. An allowed user has taken its name."""
        victim = self.victim("listen", EXS_SHM_USERS="any")
        tcp = socket.create_connection(("127.0.0.1", victim.port), LIMIT_S)
        ready, told = os.pipe()

        def squat():
            card = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            card.bind(peer.card_name(tcp.getsockname(), tcp.getpeername()))
            card.listen(8)
            os.write(told, b"x")
            guest, _ = card.accept()
            guest.settimeout(LIMIT_S)
            return guest.recvmsg(64, socket.CMSG_SPACE(4))[1] == []
        child = self.as_nobody(squat)
        os.read(ready, 1)
        for _ in range(3):
            tcp.sendall(b"e")
            self.assertEqual(tcp.recv(1), b"e")
        self.assertEqual(self.result_of(child), 0)
        tcp.close()
        self.assertEqual(victim.line()["result"], "end")
        self.assertIn("other-user", victim.log())

    def test_nobody_else_takes_the_callers_place(self):
        victim = self.victim("connect", EXS_SHM_USERS="any")
        connection = victim.connection()
        number = memory_file()
        segment = Segment(number, False)
        connection.echo()

        def squat():
            guest = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            guest.connect(connection.card_name)
            guest.sendmsg([peer.OFFER], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [number]))])
            return True
        self.assertEqual(self.result_of(self.as_nobody(squat)), 0)
        for _ in range(10):
            connection.echo()
        self.assertEqual(peer.struct.unpack_from("=I", segment.memory, peer.MEETING)[0], peer.OFFERED)
        connection.close()
        self.assertEqual(victim.line()["result"], "end")
        self.assertIn("other-user", victim.log())
        os.close(number)


if __name__ == "__main__":
    unittest.main()
