# SPDX-License-Identifier: BSD-2-Clause
"""memcached, with a client that speaks its protocol."""
import unittest

from servers import ServerTest, free_port

PYTHON = "/usr/bin/python3"
CLIENT = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection, connection.makefile("rb") as answers:
    def ask(words, lines):
        connection.sendall(words)
        for _ in range(lines):
            sys.stdout.buffer.write(answers.readline())
    for number in range(300):
        value = (b"%d," % number) * (number * 7 % 3000)
        ask(b"set key%d 0 0 %d\\r\\n%s\\r\\n" % (number, len(value), value), 1)
    for number in range(300):
        ask(b"get key%d none\\r\\n" % number, 3)
    ask(b"get " + b" ".join(b"key%d" % number for number in range(30)) + b"\\r\\n", 61)
    ask(b"set count 0 0 1\\r\\n1\\r\\n" + b"incr count 5\\r\\n" * 500 + b"delete count\\r\\nnonsense\\r\\n", 503)
    connection.sendall(b"quit\\r\\n")
    sys.stdout.buffer.write(answers.read())
"""


class Memcached(ServerTest):
    def play(self, environment):
        port, folder = free_port(), self.folder()
        server = self.start(["memcached", "-u", "root", "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-t", "2"], environment,
                            port, folder)
        answers, log = self.client([PYTHON, "-c", CLIENT, str(port)], environment)
        return answers, log + server.end()

    def test_answers_are_the_same(self):
        self.needs("memcached", PYTHON)
        self.compare(self.play)


if __name__ == "__main__":
    unittest.main()
