# SPDX-License-Identifier: BSD-2-Clause
"""exs-sockets-agent against users of its host, and against strangers who want to stop it. EXS_SOCKETS_AGENT is the
agent. The test has a network of its own (tests/support/alone.cc), and so its own abstract names."""
import array
import contextlib
import encodings.idna  # noqa: F401  another user may not read Python's files
import os
import pathlib
import socket
import struct
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "hostile"))
from peer import card_name  # noqa: E402

AGENT = os.environ["EXS_SOCKETS_AGENT"]
NOBODY = 65534
LIMIT_S = 60
MAGIC = 0x3175716572737865
PLACED = 1
NAME = "\0exs-sock/1/agent"


def place(name):
    return bytes(10) + b"\xff\xff" + socket.inet_aton(name[0]) + struct.pack("=H", name[1])


def request(connection):
    """The request of a connection's calling end."""
    return (struct.pack("=Q", MAGIC) + place(connection.getsockname()) + place(connection.getpeername()) + place(("127.0.0.1", 1)) + bytes(2) +
            os.urandom(16))


def pair():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        calling = socket.create_connection(listener.getsockname())
        return calling, listener.accept()[0]


def lingering():
    """Returns a connection whose last close takes an hour, and its end that does not read."""
    ends = pair()
    ends[0].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 3600))
    ends[0].setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            ends[0].send(bytes(100000))
    return ends


class Agent(unittest.TestCase):
    def start(self):
        process = subprocess.Popen([AGENT, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, int(process.stdout.readline().split()[1])

    def ask(self, port, connection):
        with socket.create_connection(("127.0.0.1", port), LIMIT_S) as asking:
            asking.sendall(request(connection))
            return struct.unpack("=QII", asking.recv(16, socket.MSG_WAITALL))[1]

    def expect_service(self, port):
        calling, called = pair()
        with calling, called:
            self.assertEqual(self.ask(port, calling), PLACED)

    @unittest.skipIf(os.geteuid() != 0, "only root becomes other users")
    def test_what_a_user_leaves_takes_long_to_close(self):
        process, port = self.start()
        told, tell = os.pipe()
        child = os.fork()
        if child == 0:
            with contextlib.suppress(KeyboardInterrupt):
                os.setresuid(NOBODY, NOBODY, NOBODY)
                kept = []
                for count in 1, 20:
                    calling, called = pair()
                    kept += [calling, called]
                    self.ask(port, calling)
                    guest = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                    guest.connect(card_name(calling.getsockname(), calling.getpeername()))
                    for _ in range(3):
                        sending = [lingering() for _ in range(count)]
                        numbers = array.array("i", [one.fileno() for one, _ in sending])
                        guest.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers)])
                        for one, other in sending:
                            one.close()
                            kept.append(other)
                    guest.close()
                os.write(tell, b"x")
                time.sleep(LIMIT_S)
            os._exit(1)
        os.close(tell)
        try:
            self.assertEqual(os.read(told, 1), b"x")
            for _ in range(3):
                self.expect_service(port)
            process.terminate()
            self.assertEqual(process.wait(LIMIT_S), -15)
        finally:
            os.close(told)
            os.kill(child, 9)
            os.waitpid(child, 0)

    def test_strangers_who_are_silent(self):
        process, port = self.start()

        def used_s():
            words = pathlib.Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
            return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
        with contextlib.ExitStack() as silent:
            for _ in range(300):
                silent.enter_context(socket.create_connection(("127.0.0.1", port), LIMIT_S))
            used, began = used_s(), time.monotonic()
            self.expect_service(port)
            time.sleep(0.5)
            # On a busy machine the agent gets less time.
            self.assertLess(used_s() - used, (time.monotonic() - began) / 2)

    def test_its_name_is_taken(self):
        squatter = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        squatter.bind(NAME)
        process, port = self.start()
        self.assertIn("another process has the name", process.stderr.readline())
        self.expect_service(port)
        squatter.close()
        end = time.monotonic() + LIMIT_S
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as program:
            while True:
                with contextlib.suppress(ConnectionRefusedError):
                    program.connect(NAME)
                    break
                self.assertLess(time.monotonic(), end, "it does not take the name")
                time.sleep(0.01)


if __name__ == "__main__":
    unittest.main()
