# SPDX-License-Identifier: BSD-2-Clause
"""Only one end is preloaded. The packets must be those of plain TCP, in number, order, length and contents."""
import os
import socket
import struct
import subprocess
import sys
import threading
import unittest

from servers import LAYERED, LIMIT_S, ServerTest, layer

ETH_P_IP = 0x0800
FIN, SYN, RST = 1, 2, 4
SIZES = (1, 10, 100, 1000, 10_000, 30_000, 7) * 12
# An echo server and its client, in turn on one connection. Each is a separate program.
SERVER = """
import socket
with socket.create_server(("127.0.0.1", 0)) as listener:
    print(listener.getsockname()[1], flush=True)
    with listener.accept()[0] as connection:
        while data := connection.recv(100000):
            connection.sendall(data)
"""
CLIENT = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
    for at, size in enumerate(map(int, sys.argv[2].split(","))):
        connection.sendall(bytes([at % 251]) * size)
        left = size
        while left > 0:
            left -= len(connection.recv(left))
"""


class Capture:
    """The packets on the loopback interface to or from a port."""

    def __init__(self, port):
        self.port, self.segments, self.ends = port, [], 0
        self.raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_IP))
        self.raw.bind(("lo", 0))
        self.raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
        self.raw.settimeout(LIMIT_S)
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        """Runs until both ends have announced their last byte."""
        while self.ends < 2:
            packet, place = self.raw.recvfrom(1 << 17)
            if place[2] != socket.PACKET_OUTGOING:
                self.take(packet[14:])
        self.raw.close()

    def take(self, packet):
        header = (packet[0] & 15) * 4
        if packet[9] != socket.IPPROTO_TCP:
            return
        source, target = struct.unpack_from("!HH", packet, header)
        if self.port not in (source, target):
            return
        length = struct.unpack_from("!H", packet, 2)[0]
        payload = packet[header + (packet[header + 12] >> 4) * 4:length]
        flags = packet[header + 13] & (FIN | SYN | RST)
        self.ends += bool(flags & (FIN | RST))
        # The kernel times separate acknowledgements, differently in each run.
        if payload or flags:
            self.segments.append((target == self.port, flags, bytes(payload)))


class Packets(ServerTest):
    def play(self, server_environment, client_environment):
        """Returns (segments, the lines of both ends about their connections)."""
        with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, **server_environment}) as server:
            try:
                port = int(server.stdout.readline())
                capture = Capture(port)
                _, log = self.client([sys.executable, "-c", CLIENT, str(port), ",".join(map(str, SIZES))], client_environment)
                capture.thread.join(LIMIT_S)
                _, more = server.communicate(timeout=LIMIT_S)
            finally:
                server.kill()
        return capture.segments, log + more

    @unittest.skipIf(os.geteuid() != 0, "only root sees packets")
    def test_packets_are_the_same(self):
        expected, _ = self.play({}, {})
        self.assertEqual(len(expected), 2 * len(SIZES) + 4)  # plus two SYN and two FIN
        for name, words in LAYERED.items():
            for which in range(2):
                with self.subTest(layer=name, preloaded=("server", "client")[which]):
                    environments = [{}, {}]
                    environments[which] = layer(words)
                    found, log = self.play(*environments)
                    self.assertIn("by shared memory", log)
                    self.assertEqual(found, expected)

    @unittest.skipIf(os.geteuid() != 0, "only root sees packets")
    def test_with_both_they_are_not(self):
        expected, _ = self.play({}, {})
        found, _ = self.play(layer("on"), layer("on"))
        self.assertNotEqual(found, expected)


if __name__ == "__main__":
    unittest.main()
