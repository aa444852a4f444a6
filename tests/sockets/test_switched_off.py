# SPDX-License-Identifier: BSD-2-Clause
"""A program that is switched off is executed by one that is not, and inherits a connection with unread bytes. It must
print the same plainly and with libexs_sockets.so. EXS_SOCKETS_LIBRARY is the library."""
import os
import pathlib
import tempfile
import unittest

from compared import LIBRARY, PYTHON, Compared

SIZES = 100, 300_000
# The first program has `far` unread, and becomes QUIET, which runs NEXT with the number of `far`.
BECOME = """
sent = bytes(number % 251 for number in range({size}))
thread = threading.Thread(target=near.sendall, args=(sent,))
thread.start()
far.recv(10, socket.MSG_WAITALL)
thread.join()
near.shutdown(socket.SHUT_WR)
os.set_inheritable(far.fileno(), True)
os.set_inheritable(near.fileno(), True)
{more}
os.execve({quiet!r}, [{quiet!r}, "-c", {next!r}, str(far.fileno())], {{**os.environ, **{words!r}}})
"""
NEXT = """
import os, select, socket, sys
far = socket.socket(fileno=int(sys.argv[1]))
print([name for name in os.environ if name.startswith("EXS_SOCKETS_FAMILY")])
def take():
    data = b""
    while part := far.recv(65536):
        data += part
    return len(data), data == bytes(number % 251 for number in range({size}))[-len(data):]
"""
WAYS = {
    "receives": "print(take())",
    "polls": "print(bool(select.select([far], [], [], 10)[0]), take())",
    "waits in a set": "waits = select.epoll(); waits.register(far.fileno(), select.EPOLLIN); print(len(waits.poll(10)), take())",
    "duplicates": "other = socket.socket(fileno=os.dup(far.fileno())); far.close(); far = other; print(take())",
    "has a child": """
if os.fork() == 0:
    print(take(), flush=True)
    os._exit(0)
print(os.wait()[1])
""",
    "becomes another": """
print(far.recv(20, socket.MSG_WAITALL) == bytes(range(10, 30)), flush=True)
os.set_inheritable(far.fileno(), True)
os.execv("/bin/sh", ["sh", "-c", f"cksum <&{far.fileno()}"])
""",
    "has connections of its own": """
listener = socket.create_server(("127.0.0.1", 0))
near = socket.create_connection(listener.getsockname())
near.sendall(b"more")
print(listener.accept()[0].recv(4, socket.MSG_WAITALL), take())
""",
}


class SwitchedOff(Compared):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())
        self.quiet = self.folder + "/quiet"
        os.symlink(PYTHON, self.quiet)
        self.rules = pathlib.Path(self.folder, "sockets.conf")

    def play(self, way, size, more, words, environment):
        program = BECOME.format(size=size, more=more, quiet=self.quiet, words=words, next=NEXT.format(size=size) + WAYS[way])
        return self.run_program(program, environment)

    def expect_same(self, rules, more="", words=None):
        self.rules.write_text(rules, encoding="utf-8")
        for size in SIZES:
            for way in WAYS:
                with self.subTest(way, size=size):
                    expected = self.play(way, size, more, {}, {})
                    self.assertEqual(expected[0], 0, expected)
                    layered = {"LD_PRELOAD": LIBRARY, "EXS_SOCKETS": "after=1", "EXS_SOCKETS_CONF": str(self.rules)}
                    self.assertEqual(self.play(way, size, more, words or {}, layered), expected)

    def test_by_a_rule(self):
        self.expect_same("quiet * * off\n")

    def test_by_its_environment(self):
        for words in "off", "off,ring=4k", "ring=4k,off":
            self.expect_same("", words={"EXS_SOCKETS": words})

    def test_by_a_rule_with_a_set_that_it_inherits(self):
        more = """
waits = select.epoll()
waits.register(far.fileno(), select.EPOLLIN)
os.set_inheritable(waits.fileno(), True)
"""
        self.expect_same("quiet * * off\n", more)


if __name__ == "__main__":
    unittest.main()
