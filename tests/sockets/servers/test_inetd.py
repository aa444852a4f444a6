# SPDX-License-Identifier: BSD-2-Clause
"""openbsd-inetd, which accepts connections for programs that it starts, and starts others that accept themselves."""
import os
import pathlib
import pwd
import unittest

from servers import LAYERED, ServerTest, free_port, layer

# Reads a line by stdio and answers by stdio. The program that takes its place reads on where it stopped.
SCRIPT = """#!/bin/sh
read -r line
echo "first: $line"
exec cat
"""
# Accepts one connection at inetd's listening socket. inetd starts the program again for the next one.
WAITING = """
import socket
with socket.socket(fileno=0) as listener, listener.accept()[0] as connection:
    while data := connection.recv(100_000):
        connection.sendall(data)
"""
# Takes turns with the server at first, and then sends while it receives.
CLIENT = """
import socket, sys, threading
words = sys.stdin.buffer.read()
turns = 10_000
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
    def send(first, last):
        for at in range(first, last, 1000):
            connection.sendall(words[at:at + 1000])
    answer = bytearray()
    for at in range(0, turns, 1000):
        send(at, at + 1000)
        while len(answer) < at + 1000:
            answer += connection.recv(100_000)
    def send_rest():
        send(turns, len(words))
        connection.shutdown(socket.SHUT_WR)
    sender = threading.Thread(target=send_rest)
    sender.start()
    while data := connection.recv(100_000):
        answer += data
    sender.join()
sys.stdout.buffer.write(answer)
"""
PYTHON = "/usr/bin/python3"
WORDS = "".join(f"line {number}\n" for number in range(8_000)).encode()


class Inetd(ServerTest):
    options = ["-E"]  # programs get its environment

    def play(self, environment):
        folder = pathlib.Path(self.folder())
        for name, text in (("first", SCRIPT), ("waiting.py", WAITING)):
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        cat, first, waiting = (free_port() for _ in range(3))
        user = pwd.getpwuid(os.geteuid()).pw_name
        (folder / "inetd.conf").write_text(
            f"127.0.0.1:{cat} stream tcp nowait {user} /bin/cat cat\n"
            f"127.0.0.1:{first} stream tcp nowait {user} {folder}/first first\n"
            f"127.0.0.1:{waiting} stream tcp wait {user} {PYTHON} python3 {folder}/waiting.py\n")
        server = self.start(["/usr/sbin/inetd", *self.options, "-i", str(folder / "inetd.conf")], environment, waiting, folder)
        server.await_port(cat)
        server.await_port(first)
        answers, log = [], ""
        for port in (cat, first, waiting, waiting):
            answer, more = self.client([PYTHON, "-c", CLIENT, str(port)], environment, WORDS)
            answers.append(answer)
            log += more
        return answers, log + server.end()

    def test_programs_answer_the_same(self):
        self.needs("inetd", PYTHON)
        self.compare(self.play)

    def test_programs_that_are_not_preloaded_answer_the_same(self):
        self.needs("inetd", PYTHON)
        self.options = []
        expected, _ = self.play({})
        for name, words in LAYERED.items():
            with self.subTest(layer=name):
                self.assertEqual(self.play(layer(words))[0], expected)


if __name__ == "__main__":
    unittest.main()
