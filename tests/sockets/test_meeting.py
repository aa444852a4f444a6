"""Whether two ends of a connection find one another. EXS_SOCKETS_LIBRARY is the library."""
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


def start(code, *arguments):
    environment = {**os.environ, "LD_PRELOAD": LIBRARY, "EXS_SOCKETS": "on", "EXS_EXPLAIN": "yes"}
    return subprocess.Popen([sys.executable, "-c", code, *arguments], env=environment, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


class Meeting(unittest.TestCase):
    def test_a_listener_that_is_closed_after_it_accepted_is_still_found(self):
        """As for the data of FTP; the second one listens at the port of the first."""
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


if __name__ == "__main__":
    unittest.main()
