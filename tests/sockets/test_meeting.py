# SPDX-License-Identifier: BSD-2-Clause
"""Two ends of a connection find one another. EXS_SOCKETS_LIBRARY is the library."""
import os
import re
import subprocess
import sys
import unittest

LIBRARY = os.environ["EXS_SOCKETS_LIBRARY"]
LIMIT_S = 60

SERVER = """
import socket
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
for _ in range(2):
    connection = listener.accept()[0]
    listener.close()
    while message := connection.recv(64):
        connection.sendall(message)
    listener = socket.create_server(connection.getsockname())
"""
CLIENT = """
import socket, sys
for _ in range(2):
    while True:
        try:
            connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
            break
        except ConnectionRefusedError:
            pass
    for i in range(20):
        connection.sendall(b"%d" % i)
        assert connection.recv(64) == b"%d" % i
    connection.close()
"""

# Makes more sends than the called end waits for a caller, before the caller's first call.
SENDS_FIRST = """
import socket
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection = listener.accept()[0]
for _ in range(200):
    connection.sendall(bytes(1000))
print("sent", flush=True)
while message := connection.recv(64):
    connection.sendall(message)
"""
RECEIVES_LATE = """
import socket, sys, time
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
sys.stdin.readline()
left = 200_000
while left > 0:
    left -= len(connection.recv(1000))
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    connection.sendall(b"question")
    connection.recv(64)
"""


def start(code, *arguments):
    environment = {**os.environ, "LD_PRELOAD": LIBRARY, "EXS_SOCKETS": "on", "EXS_EXPLAIN": "yes"}
    return subprocess.Popen([sys.executable, "-c", code, *arguments], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


class Meeting(unittest.TestCase):
    def test_a_listener_that_is_closed_after_it_accepted_is_still_found(self):
        """FTP's data connections work so. The second server listens at the port of the first."""
        with start(SERVER) as server:
            self.addCleanup(server.kill)
            with start(CLIENT, server.stdout.readline().strip()) as client:
                self.addCleanup(client.kill)
                _, log = client.communicate(timeout=LIMIT_S)
            self.assertEqual(client.returncode, 0, log)
            server.communicate(timeout=LIMIT_S)
        sent = [int(count) for count in re.findall(r"sent (\d+) bytes by shared memory", log)]
        self.assertEqual(len(sent), 2, log)
        self.assertGreater(min(sent), 0, log)

    def play_late_caller(self, seconds):
        with start(SENDS_FIRST) as server:
            self.addCleanup(server.kill)
            with start(RECEIVES_LATE, server.stdout.readline().strip(), seconds) as client:
                self.addCleanup(client.kill)
                self.assertEqual(server.stdout.readline(), "sent\n")
                _, of_client = client.communicate("go\n", timeout=LIMIT_S)
            self.assertEqual(client.returncode, 0, of_client)
            _, of_server = server.communicate(timeout=LIMIT_S)
        return of_client + of_server

    def test_a_caller_that_comes_late_is_still_found(self):
        log = self.play_late_caller("1")
        sent = [int(count) for count in re.findall(r"sent (\d+) bytes by shared memory", log)]
        self.assertGreater(min(sent), 0, log)

    def test_ends_that_had_no_time_to_meet_do_not_blame_the_other_program(self):
        log = self.play_late_caller("0")
        reasons = re.findall(r"; ([a-z-]+): ", log)
        self.assertEqual(len(reasons), 2, log)
        self.assertLessEqual(set(reasons), {"short-lived", "asking"}, log)


if __name__ == "__main__":
    unittest.main()
