# SPDX-License-Identifier: BSD-2-Clause
"""Calls with invalid arguments, or with memory that is not there. They must return the kernel's errors and leave the
connection unchanged. EXS_SOCKETS_LIBRARY is the library."""
import os
import subprocess
import unittest

from compared import LIBRARY, LIMIT_S, PYTHON, Compared

# C(name, arguments...) makes a call on a new pair, of which far has ten bytes to receive, and prints the result.
# `nowhere`, `wall` and `cut` are places without memory: at an address that no process has, in a protected page, and
# beyond the end of a truncated file. `edge` has four bytes before the wall.
BEFORE = """
import mmap, resource, struct
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
good = libc.mmap(None, 12288, 3, 0x22, -1, 0)
libc.mprotect(ctypes.c_void_p(good + 4096), 4096, 0)
wall, edge, nowhere = good + 4096, good + 4092, 2**64 - 1
file = os.memfd_create("shorter")
os.ftruncate(file, 8192)
cut = libc.mmap(None, 8192, 3, 1, file, 0) + 4096
os.ftruncate(file, 4096)
def parts(*pairs):
    return ctypes.create_string_buffer(b"".join(struct.pack("QQ", place, count) for place, count in pairs))
def message(name=0, name_length=0, list=0, list_length=1, control=0, control_length=0):
    return struct.pack("QI4xQQQQI4x", name, name_length, list, list_length, control, control_length, 0)
kept = []
def at(memory):
    kept.append(ctypes.create_string_buffer(memory) if isinstance(memory, bytes) else memory)
    return ctypes.addressof(kept[-1])
four = at(parts((good, 4)))
DONTWAIT, PEEK, TRUNC = 0x40, 2, 0x20
def C(name, *arguments, of="far"):
    near, far = pair()
    near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    take_turns(near, far, 3)
    near.sendall(b"0123456789")
    while len(far.recv(10, socket.MSG_PEEK)) < 10:
        pass
    function = getattr(libc, name)
    function.restype = ctypes.c_ssize_t
    ctypes.set_errno(0)
    number = (near if of == "near" else far).fileno()
    result = function(*[ctypes.c_long(number if one == "it" else one) if not isinstance(one, bytes) else one for one in arguments])
    if result == 2**32 - 1:  # of an int
        result = -1
    error = ctypes.get_errno() if result < 0 else 0
    poll = select.poll()
    poll.register(near)
    poll.register(far)
    events = sorted((number == far.fileno(), what) for number, what in poll.poll(0))
    left = []
    for end in near, far:
        try:
            left.append(end.recv(100, socket.MSG_DONTWAIT))
        except OSError as refused:
            left.append(refused.errno)
    print(name, arguments[1:] if "mmsg" not in name else "", result, error, events, left)
"""


class Arguments(Compared):
    def compare_calls(self, program):
        # The addresses differ between runs.
        self.compare(BEFORE.replace("arguments[1:] if \"mmsg\" not in name else \"\"", "len(arguments)") + program)

    def test_of_receives(self):
        self.compare_calls("""
for place in nowhere, wall, cut, 0, 8:
    C("read", "it", place, 4)
    C("recv", "it", place, 4, DONTWAIT)
    C("recv", "it", place, 4, PEEK)
    C("readv", "it", at(parts((good, 4), (place, 8))), 2)
    C("readv", "it", place, 1)
    C("recvmsg", "it", place, 0)
    C("recvmsg", "it", at(message(list=place)), 0)
    C("recvmsg", "it", at(message(list=at(parts((place, 4))))), 0)
    C("recvmmsg", "it", place, 2, DONTWAIT, 0)
    C("recvmmsg", "it", at((message(list=four) + bytes(8)) + message(list=place) + bytes(8)), 2, DONTWAIT, 0)
C("read", "it", edge, 100)
C("recv", "it", edge, 100, 0)
C("recvfrom", "it", good, 4, 0, good, nowhere)
C("recv", "it", 0, 4, TRUNC | DONTWAIT)
C("recv", "it", 0, 40, TRUNC | PEEK)
C("readv", "it", four, -1)
C("readv", "it", four, 5000)
C("readv", "it", at(parts((good, -1 & (2**64 - 1)))), 1)
C("recvmsg", "it", at(message(list=four, list_length=5000)), 0)
C("recvmsg", "it", at(message(name=good, name_length=2**32 - 1, list=four)), DONTWAIT)
""")

    def test_of_sends(self):
        self.compare_calls("""
for place in nowhere, wall, cut, 0, 8:
    C("write", "it", place, 4, of="near")
    C("send", "it", place, 4, 0, of="near")
    C("writev", "it", at(parts((good, 4), (place, 8))), 2, of="near")
    C("writev", "it", place, 1, of="near")
    C("sendmsg", "it", place, 0, of="near")
    C("sendmsg", "it", at(message(list=place)), 0, of="near")
    C("sendmsg", "it", at(message(list=four, control=place, control_length=64)), 0, of="near")
    C("sendmmsg", "it", at((message(list=four) + bytes(8)) + message(list=place) + bytes(8)), 2, 0, of="near")
for place in nowhere, wall, good:
    for length in 16, 200, -1:
        C("sendto", "it", good, 4, 0, place, length, of="near")
        C("sendmsg", "it", at(message(name=place, name_length=length & (2**32 - 1), list=four)), 0, of="near")
C("write", "it", edge, 100, of="near")
C("writev", "it", four, 5000, of="near")
C("sendfile", "it", file, nowhere, 4, of="near")
C("splice", "it", nowhere, "it", 0, 4, 0, of="near")
""")

    def test_of_other_calls(self):
        self.compare_calls("""
for place in nowhere, wall:
    for request in 0x541B, 0x5421, 0x8905, 0x5411:  # FIONREAD, FIONBIO, SIOCATMARK, SIOCOUTQ
        C("ioctl", "it", request, place)
    for level, name in (1, 18), (1, 13), (1, 20), (6, 1), (6, 31), (1, 29):
        C("setsockopt", "it", level, name, place, 16)
        C("getsockopt", "it", level, name, place, at(struct.pack("I", 16)))
        C("getsockopt", "it", level, name, good, place)
    C("connect", "it", place, 16)
    C("epoll_wait", "it", place, 1, 0)
    C("poll", place, 1, 0)
    C("select", 10, place, 0, 0, 0)
    C("execve", at(b"/bin/true"), place, 0)
    C("execve", place, 0, 0)
    C("execve", at(b"/bin/true"), 0, place)
C("poll", good, -1, 0)
""")

    def test_waits_with_nowhere_to_tell_of(self):
        self.compare(BEFORE + """
waits = select.epoll()
waits.register(far, select.EPOLLIN)
near.sendall(b"unread")
for place in nowhere, wall, 0, wall - 6:
    print(libc.epoll_wait(waits.fileno(), ctypes.c_void_p(place), 1, 10000), ctypes.get_errno())
print(waits.poll(10) == [(far.fileno(), select.EPOLLIN)], far.recv(100))
""")

    def test_a_program_has_its_own_handlers(self):
        self.compare(BEFORE + """
import faulthandler, signal
print(signal.getsignal(signal.SIGSEGV), libc.recv(far.fileno(), ctypes.c_void_p(wall), 4, DONTWAIT))
told = []
print(signal.signal(signal.SIGSEGV, lambda number, _: told.append(number)), signal.getsignal(signal.SIGSEGV) != signal.SIG_DFL)
near.sendall(b"unread")
far.recv(6, socket.MSG_PEEK | socket.MSG_WAITALL)
print(libc.recv(far.fileno(), ctypes.c_void_p(wall), 4, DONTWAIT), told)
os.kill(os.getpid(), signal.SIGSEGV)
print(told, far.recv(100))
signal.signal(signal.SIGSEGV, signal.SIG_IGN)
os.kill(os.getpid(), signal.SIGSEGV)
signal.signal(signal.SIGSEGV, signal.SIG_DFL)
for how in (lambda: ctypes.string_at(wall, 1)), (lambda: ctypes.string_at(cut, 1)), (lambda: os.kill(os.getpid(), signal.SIGBUS)):
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        how()
        os._exit(0)
    print(os.waitpid(child, 0)[1])
""")

    def test_a_thread_that_blocks_the_signals_of_faults(self):
        # The mask is set directly, inherited at the start, or set by old functions.
        self.compare_calls("""
import signal
def faults():
    for place in nowhere, wall, cut:
        for name, *rest in ("recv", place, 4, DONTWAIT), ("read", place, 4), ("recvmsg", at(message(list=at(parts((place, 4))))), 0):
            C(name, "it", *rest)
        for name, *rest in ("send", place, 4, 0), ("writev", at(parts((good, 4), (place, 8))), 2):
            C(name, "it", *rest, of="near")
        C("ioctl", "it", 0x541B, place)
    C("recv", "it", good, 4, 0)
    C("ioctl", "it", 0x541B, good)
    take_turns(near, far)
def told():
    return [sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ()))]
for both in {signal.SIGSEGV, signal.SIGBUS}, {signal.SIGBUS}, set(signal.valid_signals()):
    before = signal.pthread_sigmask(signal.SIG_BLOCK, both)
    faults()
    child = threading.Thread(target=faults)
    child.start()
    child.join()
    print(told())
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    faults()
libc.sighold(signal.SIGSEGV)
faults()
libc.sigrelse(signal.SIGSEGV)
faults()
print(told())
""")

    def test_a_program_without_connections_keeps_its_actions(self):
        program = """
import ctypes, re, select, socket, struct
into, out = socket.socketpair()
out.send(b"x")
poll, waits, libc = select.poll(), select.epoll(), ctypes.CDLL(None, use_errno=True)
poll.register(into)
waits.register(into, select.EPOLLIN)
print(len(poll.poll(0)), len(waits.poll(0)), len(select.select([into], [], [], 0)[0]), into.recvmsg(1)[0], out.sendmsg([b"y"]))
count = ctypes.c_int()
print(libc.ioctl(into.fileno(), 0x541B, ctypes.byref(count)), count.value)
for place in 0, 2**64 - 1:
    print(libc.sendmsg(out.fileno(), ctypes.c_void_p(place), 0), libc.poll(ctypes.c_void_p(place), 1, 0), libc.epoll_wait(waits.fileno(), ctypes.c_void_p(place), 1, 0))
print(re.findall("SigCgt.*", open("/proc/self/status").read()))
"""
        said = [subprocess.run([PYTHON, "-c", program], env={**os.environ, **more}, capture_output=True, text=True, timeout=LIMIT_S, check=True).stdout
                for more in ({}, {"LD_PRELOAD": LIBRARY})]
        self.assertEqual(said[0], said[1])


if __name__ == "__main__":
    unittest.main()
