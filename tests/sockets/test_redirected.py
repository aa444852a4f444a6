"""Connections to which a packet filter gives other addresses or ports: each end gets the bytes of its own peer. Needs root and nft; makes a
network namespace of its own. EXS_SOCKETS_LIBRARY is the library."""
import ctypes
import os
import shutil
import subprocess
import sys
import unittest

LIBRARY = os.environ["EXS_SOCKETS_LIBRARY"]
LIMIT_S = 120
CLONE_NEWNET = 0x40000000

RULES = """
table {} nat {{
  chain output {{
    type nat hook output priority -100
    tcp dport 4100 redirect to :3490
  }}
  chain postrouting {{
    type nat hook postrouting priority 100
  }}
  chain input {{
    type nat hook input priority 100
  }}
}}
"""

# Two clients of one server. The first one comes by a port that is redirected, and both have the same port of their own: the server's
# end of the first has the mirrored names of the second.
PROGRAM = """
import socket, sys, threading
family, address = (socket.AF_INET6, "::1") if sys.argv[1] == "6" else (socket.AF_INET, "127.0.0.1")
listener = socket.socket(family)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind((address, 3490))
listener.listen()
def client(port):
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


@unittest.skipIf(os.geteuid() != 0 or shutil.which("nft") is None, "needs root and nft")
class Redirected(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
            raise unittest.SkipTest("no network namespace may be made")
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        done = subprocess.run(["nft", "-f", "-"], input=RULES.format("ip") + RULES.format("ip6"), text=True, capture_output=True, check=False)
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


if __name__ == "__main__":
    unittest.main()
