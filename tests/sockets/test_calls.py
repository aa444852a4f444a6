"""Programs of a few calls, run plainly and with libexs_sockets.so: they must print the same. Each stands for a defect that random
scripts (twin) do not find, because they need threads, stdio or other programs.
EXS_SOCKETS_LIBRARY is the library."""
import os
import subprocess
import sys
import unittest

LIBRARY = os.environ["EXS_SOCKETS_LIBRARY"]
LIMIT_S = 30
PYTHON = "/usr/bin/python3"
# spin: a thread that looks for bytes finds them, however busy the machine is.
LAYERED = {"spinning": "after=1,spin=10ms", "not spinning": "after=1,spin=0,ring=4k"}

# near, far: the two ends of a connection of this process, which have met.
COMMON = """
import ctypes, os, select, socket, subprocess, sys, threading
listener = socket.create_server(("127.0.0.1", 0))  # says that this process is preloaded
def pair():
    near = socket.create_connection(listener.getsockname())
    return near, listener.accept()[0]
def take_turns(near, far, times=100):
    def answer():
        for _ in range(times):
            far.sendall(far.recv(100))
    thread = threading.Thread(target=answer)
    thread.start()
    for _ in range(times):
        near.sendall(b"question")
        near.recv(100)
    thread.join()
def await_sleep(thread):
    while open(f"/proc/self/task/{thread.native_id}/stat").read().rsplit(")", 1)[1].split()[0] != "S":
        pass
near, far = pair()
take_turns(near, far)
"""


class Calls(unittest.TestCase):
    def run_program(self, program, environment):
        done = subprocess.run([PYTHON, "-c", COMMON + program], env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=LIMIT_S, check=False)
        return done.returncode, done.stdout, done.stderr

    def compare(self, program):
        expected = self.run_program(program, {})
        self.assertEqual(expected[0], 0, expected)
        for name, words in LAYERED.items():
            with self.subTest(layer=name):
                found = self.run_program(program, {"LD_PRELOAD": LIBRARY, "EXS_SOCKETS": words})
                self.assertEqual(found, expected)

    def test_registering_wakes_who_sleeps_in_the_set(self):
        self.compare("""
near.sendall(b"unread")
waits = select.epoll()
def wait():
    print(waits.poll(10) == [(far.fileno(), select.EPOLLIN)], far.recv(100))
thread = threading.Thread(target=wait)
thread.start()
await_sleep(thread)
waits.register(far.fileno(), select.EPOLLIN)
thread.join()
print(waits.poll(0))
""")

    def test_registering_for_one_event_tells_one(self):
        self.compare("""
near.sendall(b"unread")
waits = select.epoll()
waits.register(far.fileno(), select.EPOLLIN | select.EPOLLONESHOT)
print([len(waits.poll(limit)) for limit in (10, 0, 0)], far.recv(100))
near.sendall(b"more")
print(len(waits.poll(0)))
waits.modify(far.fileno(), select.EPOLLIN | select.EPOLLONESHOT)
print([len(waits.poll(limit)) for limit in (10, 0, 0)], far.recv(100))
""")


if __name__ == "__main__":
    unittest.main()
