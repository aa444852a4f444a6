# SPDX-License-Identifier: BSD-2-Clause
"""Rules of sockets.conf in programs with libexs_sockets.so: connections must follow them. EXS_SOCKETS_LIBRARY is the
library."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "servers"))
from servers import LIBRARY, LIMIT_S, free_ports  # noqa: E402

OFF = "off: EXS_SOCKETS=off or a line of sockets.conf"
# Both ends of two connections in turn, each with its own port.
PROGRAM = """
import os, socket, sys
ports = [int(port) for port in sys.argv[1:]]
listeners = [socket.create_server(("127.0.0.1", port)) for port in ports]
if os.fork() == 0:
    for listener in listeners:
        accepted, _ = listener.accept()
        while request := accepted.recv(4096):
            accepted.sendall(request)
        accepted.close()
    os._exit(0)
for port in ports:
    with socket.create_connection(("127.0.0.1", port)) as connected:
        for _ in range(200):
            connected.sendall(b"x" * 100)
            assert len(connected.recv(100, socket.MSG_WAITALL)) == 100
assert os.wait()[1] == 0
"""


class Rules(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        first = free_ports(2)
        self.ports = [first, first + 1]

    def run_with(self, text, program=PROGRAM, **environment):
        """Returns (lines of the ends, other lines); `text` may contain the ports {a} and {b}."""
        conf = self.folder / "sockets.conf"
        conf.write_bytes(text.format(a=self.ports[0], b=self.ports[1]).encode())
        return self.run_by(conf, program, **environment)

    def run_by(self, conf, program=PROGRAM, **environment):
        done = subprocess.run([sys.executable, "-c", program, *map(str, self.ports)], capture_output=True, text=True,
                              timeout=LIMIT_S, check=False,
                              env={**os.environ, "LD_PRELOAD": LIBRARY, "EXS_EXPLAIN": "yes", "EXS_SOCKETS": "after=1",
                                   "EXS_SOCKETS_CONF": str(conf), **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stderr.splitlines()
        ends = [line for line in lines if " bytes by shared memory " in line]
        return ends, [line for line in lines if line not in ends]

    def ends_of(self, ends, side):
        return [line for line in ends if f": {side}," in line]

    def ring_bytes(self, ends):
        return [int(re.search(r"sent (\d+) bytes by shared memory", line)[1]) for line in ends]

    def test_no_line_changes_nothing(self):
        ends, others = self.run_with("# nothing\n")
        self.assertEqual(others, [])
        self.assertEqual(len(ends), 4)
        self.assertTrue(all(self.ring_bytes(ends)), ends)

    def test_a_port_is_switched_off(self):
        ends, others = self.run_with("* * *:{a} off\n")
        self.assertEqual(others, [])
        for side in "connected", "accepted":
            of_a, of_b = self.ring_bytes(self.ends_of(ends, side))  # in turn
            self.assertEqual(of_a, 0, ends)
            self.assertGreater(of_b, 0, ends)
        self.assertIn(OFF, self.ends_of(ends, "connected")[0])
        self.assertIn(OFF, self.ends_of(ends, "accepted")[0])

    def test_one_side_is_enough(self):
        ends, _ = self.run_with("* connect *:{b} off\n")
        self.assertIn(OFF, self.ends_of(ends, "connected")[1])
        self.assertEqual([bool(count) for count in self.ring_bytes(ends)].count(True), 2)
        # A listening end that is switched off has no mark, so callers do not wait.
        ends, _ = self.run_with("* listen *:{b} off\n")
        self.assertIn("peer-not-preloaded", self.ends_of(ends, "connected")[1])
        self.assertIn(OFF, self.ends_of(ends, "accepted")[1])

    def test_all_are_off_but_one(self):
        ends, _ = self.run_with("* * 127.0.0.0/8:{b} on\n* * * off\n")
        self.assertEqual([bool(count) for count in self.ring_bytes(self.ends_of(ends, "connected"))], [False, True])

    def test_words_are_of_their_connection(self):
        ends, _ = self.run_with("* * *:{b} after=40\n* * * after=1\n", EXS_SOCKETS="")
        by_tcp = [int(re.search(r"and (\d+) by TCP", line)[1]) for line in self.ends_of(ends, "connected")]
        self.assertTrue(all(self.ring_bytes(ends)), ends)
        self.assertLess(by_tcp[0], 1000)  # two calls for each 100 bytes
        self.assertGreaterEqual(by_tcp[1], 2000)

    def assert_all_off(self, text, **environment):
        ends, others = self.run_with(text, **environment)
        self.assertEqual(others, [])
        self.assertEqual(len(ends), 4, ends)
        for end in ends:
            self.assertIn("sent 0 bytes by shared memory and 20000 by TCP, received 0 and 20000, ", end)
            self.assertIn(OFF, end)
        self.assertEqual(self.run_with(text, EXS_EXPLAIN="no", **environment), ([], []))

    def test_all_off_goes_by_tcp_and_is_explained(self):
        self.assert_all_off("* * * off\n")
        self.assert_all_off(f"{pathlib.Path(os.path.realpath(sys.executable)).name} * * off\n")
        self.assert_all_off("* * * on\n", EXS_SOCKETS="off")

    def test_connections_without_a_call_are_explained(self):
        program = ("import socket, sys; listener = socket.create_server(('127.0.0.1', int(sys.argv[1])));"
                   "socket.create_connection(listener.getsockname()).close(); listener.accept()[0].close()")
        ends, others = self.run_with("", program, EXS_SOCKETS="off")
        self.assertEqual(others, [])
        self.assertEqual([OFF in end for end in ends], [True, True], ends)

    def test_connections_of_a_port_without_a_call_are_explained(self):
        program = """
import socket, sys
for port, waits in zip(map(int, sys.argv[1:]), (True, False)):
    listener = socket.create_server(("127.0.0.1", port))
    connected = socket.socket()
    connected.setblocking(waits)
    connected.connect_ex(listener.getsockname())
    accepted = listener.accept()[0]
    connected.close()
    accepted.close()
"""
        ends, others = self.run_with("* * *:{a} off\n* connect *:{b} off\n", program)
        self.assertEqual(others, [])
        self.assertEqual([OFF in end for end in self.ends_of(ends, "connected")], [True, True], ends)
        self.assertEqual([OFF in end for end in self.ends_of(ends, "accepted")], [True, False], ends)

    def test_another_program_does_not_care(self):
        ends, others = self.run_with("postgres * * off\npostgres * * colour=red\n")
        self.assertEqual(others, [])
        self.assertTrue(all(self.ring_bytes(ends)), ends)

    def test_the_environment_goes_before(self):
        ends, _ = self.run_with("* * * off\n", EXS_SOCKETS="after=1,on")
        self.assertTrue(all(self.ring_bytes(ends)), ends)

    def test_bad_lines_are_told_and_passed_over(self):
        ends, others = self.run_with("* * *:{b} off\n* * *:{a} colour=red\n* listening * off\n")
        self.assertEqual(len(others), 2, others)
        self.assertRegex(others[0], r'sockets.conf, line 2, .*"colour=red"')
        self.assertRegex(others[1], r'sockets.conf, line 3, .*"listening"')
        self.assertEqual([bool(count) for count in self.ring_bytes(self.ends_of(ends, "connected"))], [True, False])

    def test_files_that_are_none(self):
        for name, make in {"missing": lambda path: None, "folder": os.mkdir,
                           "large": lambda path: path.write_text("* * * off\n" + "#" * 70000)}.items():
            with self.subTest(name):
                path = self.folder / name
                make(path)
                ends, others = self.run_by(path)
                self.assertEqual(len(others), 1, others)
                self.assertIn(str(path), others[0])
                self.assertTrue(all(self.ring_bytes(ends)), ends)
        os.mkfifo(self.folder / "fifo")  # no process writes, so a blocking open would hang
        self.assertTrue(all(self.ring_bytes(self.run_by(self.folder / "fifo")[0])))


if __name__ == "__main__":
    unittest.main()
