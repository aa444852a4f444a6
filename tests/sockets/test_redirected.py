# SPDX-License-Identifier: BSD-2-Clause
"""Connections whose addresses or ports a packet filter rewrites. Each end must get the bytes of its own peer, and the
report must name the reason. Needs root and nft; makes its own network namespace. EXS_SOCKETS_LIBRARY is the library."""
import ctypes
import errno
import os
import platform
import re
import shutil
import socket
import struct
import subprocess
import sys
import unittest

LIBRARY = os.environ["EXS_SOCKETS_LIBRARY"]
LIMIT_S = 120
CLONE_NEWNET = 0x40000000

# The server listens at 3490. The last port of each pair is unknown to the programs.
RULES = """
table {0} nat {{
  chain output {{
    type nat hook output priority -100
    tcp dport 4100 redirect to :3490
  }}
  chain postrouting {{
    type nat hook postrouting priority 100
    tcp sport 40001 tcp dport 3490 snat to {1}:50001
    tcp sport 50001 tcp dport 3490 snat to {1}:40001
    tcp sport 40002 tcp dport 3490 snat to {1}:50002
  }}
  chain input {{
    type nat hook input priority 100
  }}
}}
"""

BEGIN = """
import socket, sys, threading
family, address = (socket.AF_INET6, "::1") if sys.argv[1] == "6" else (socket.AF_INET, "127.0.0.1")
listener = socket.socket(family)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind((address, 3490))
listener.listen()
"""

# Two clients of one server. The first one connects to a redirected port, and both have the same port of their own. So
# the server's end of the first has the mirrored names of the second.
PROGRAM = BEGIN + """def client(port):
    one = socket.socket(family)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    one.bind((address, 40000))
    one.connect((address, port))
    return one, listener.accept()[0]
pairs = [client(4100), client(3490)]
print(len({near.getsockname()[1] for near, _ in pairs}), len({far.getpeername()[1] for _, far in pairs}))
for _ in range(200):
    for tag, (near, far) in zip((b"A", b"B"), pairs):
        near.sendall(tag * 64)
        assert far.recv(64) == tag * 64
        far.sendall(tag.lower() * 64)
        assert near.recv(64) == tag.lower() * 64
print("right")
"""

# Clients whose ports are exchanged on the way. The server's end of each has the mirrored names of the other.
CROSSED = BEGIN + """ports = [int(port) for port in sys.argv[3].split(",")]
def client(port):
    one = socket.socket(family)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    one.bind((address, port))
    one.connect((address, 3490))
    return one, listener.accept()[0]
pairs = [client(port) for port in ports]
assert all(near.getsockname()[1] != far.getpeername()[1] for near, far in pairs)
def exchange(tag, near, far):
    near.sendall(tag * 64)
    assert far.recv(64, socket.MSG_WAITALL) == tag * 64
    far.sendall(tag.lower() * 64)
    assert near.recv(64, socket.MSG_WAITALL) == tag.lower() * 64
rounds, right = 200, []
def play(tag, pair, together):
    for _ in range(rounds):
        together.wait()
        exchange(tag, *pair)
    right.append(tag)
if sys.argv[2] == "in turn":
    for _ in range(rounds):
        for tag, pair in zip((b"A", b"B"), pairs):
            exchange(tag, *pair)
else:
    together = threading.Barrier(len(pairs), timeout=60)
    threads = [threading.Thread(target=play, args=(tag, pair, together)) for tag, pair in zip((b"A", b"B"), pairs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(right) == len(pairs)
print("right")
"""


# One client whose names stay as they are.
PLAIN = """
import socket
listener = socket.create_server(("127.0.0.1", 0))
near = socket.create_connection(listener.getsockname())
far = listener.accept()[0]
for _ in range(100):
    near.sendall(b"question")
    assert far.recv(8, socket.MSG_WAITALL) == b"question"
    far.sendall(b"answer")
    assert near.recv(6, socket.MSG_WAITALL) == b"answer"
"""


def forbid_netlink():
    """Makes socket(AF_NETLINK, ...) fail from now on."""
    load, equal, give = 0x20, 0x15, 0x06
    number, argument, call, allow, refuse = 0, 16, 41, 0x7FFF0000, 0x00050000 | errno.EPERM
    lines = ((load, 0, 0, number), (equal, 0, 3, call), (load, 0, 0, argument), (equal, 0, 1, socket.AF_NETLINK), (give, 0, 0, refuse), (give, 0, 0, allow))
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    libc = ctypes.CDLL(None)
    libc.prctl(38, 1, 0, 0, 0)  # no new privileges by exec
    assert libc.prctl(22, 2, struct.pack("H6xQ", len(lines), ctypes.addressof(program)), 0, 0) == 0


class NamesTest(unittest.TestCase):
    def log_of_plain(self, before=forbid_netlink):
        if before and platform.machine() != "x86_64":
            self.skipTest("the filter knows the numbers of calls of x86-64")
        done = subprocess.run([sys.executable, "-c", PLAIN], capture_output=True, text=True, timeout=LIMIT_S, check=False, preexec_fn=before,
                              env={**os.environ, "LD_PRELOAD": LIBRARY, "EXS_SOCKETS": "after=1", "EXS_EXPLAIN": "yes"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr


class NotTold(NamesTest):
    def test_names_have_to_do_where_nobody_rewrites_them(self):
        self.assertEqual(len(re.findall("sent [1-9][0-9]* bytes by shared memory", self.log_of_plain())), 2)


@unittest.skipIf(os.geteuid() != 0 or shutil.which("nft") is None, "needs root and nft")
class Redirected(NamesTest):
    @classmethod
    def setUpClass(cls):
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
            raise unittest.SkipTest("no network namespace may be made")
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        done = subprocess.run(["nft", "-f", "-"], input=RULES.format("ip", "127.0.0.1") + RULES.format("ip6", "[::1]"), text=True, capture_output=True, check=False)
        if "not supported" in done.stderr or "No such file" in done.stderr:
            raise unittest.SkipTest("the kernel has no NAT: " + done.stderr)
        assert done.returncode == 0, done.stderr

    def test_each_end_gets_the_bytes_of_its_own_peer(self):
        for family in "4", "6":
            for words in "off", "after=1,explain":
                with self.subTest(family=family, layer=words):
                    done = subprocess.run([sys.executable, "-c", PROGRAM, family], capture_output=True, text=True, timeout=LIMIT_S, check=False,
                                          env={**os.environ, "LD_PRELOAD": LIBRARY, "EXS_SOCKETS": words.split(",")[0], "EXS_EXPLAIN": "yes"})
                    self.assertEqual((done.returncode, done.stdout), (0, "1 2\nright\n"), done.stderr)
                    if words != "off":
                        self.assertIn("redirected", done.stderr)

    def test_one_that_nobody_rewrites_takes_shared_memory(self):
        self.assertEqual(len(re.findall("sent [1-9][0-9]* bytes by shared memory", self.log_of_plain(before=None))), 2)

    def test_names_do_not_do_where_a_filter_may_rewrite_them(self):
        log = self.log_of_plain()  # the kernel does not report arrivals
        self.assertEqual(re.findall("sent [1-9][0-9]* bytes by shared memory", log), [], log)
        self.assertIn("; redirected: ", log)

    def exchange(self, *arguments, times=1):
        for family in "4", "6":
            for words in ("off", *["after=1"] * times, "on"):
                with self.subTest(family=family, layer=words):
                    done = subprocess.run([sys.executable, "-c", CROSSED, family, *arguments], capture_output=True, text=True, timeout=LIMIT_S,
                                          check=False, env={**os.environ, "LD_PRELOAD": LIBRARY, "EXS_SOCKETS": words, "EXS_EXPLAIN": "yes"})
                    self.assertEqual((done.returncode, done.stdout), (0, "right\n"), done.stderr)
                    if words != "off":
                        self.assertIn("; redirected: ", done.stderr)
                        self.assertNotIn("peer-not-preloaded", done.stderr)
                        self.assertEqual(re.findall("sent [1-9][0-9]* bytes by shared memory", done.stderr), [])

    def test_sources_that_are_exchanged(self):
        self.exchange("in turn", "40001,50001")

    def test_sources_that_are_exchanged_of_clients_that_act_together(self):
        self.exchange("together", "40001,50001", times=20)

    def test_a_source_that_nobody_has(self):
        self.exchange("in turn", "40002")


if __name__ == "__main__":
    unittest.main()
