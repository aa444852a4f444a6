# SPDX-License-Identifier: BSD-2-Clause
"""Ways to a connection's bytes that bypass the names of the C library's functions. They must deliver only bytes of the
program. EXS_SOCKETS_LIBRARY is the library."""
import unittest

from compared import Compared


class Unseen(Compared):
    def test_by_the_handle_of_the_c_library(self):
        self.compare("""
libc = ctypes.CDLL("libc.so.6", use_errno=True)
near.sendall(b"0123456789")
far.recv(10, socket.MSG_PEEK | socket.MSG_WAITALL)
into = ctypes.create_string_buffer(64)
for name in "recv", "read", "write", "send", "epoll_wait", "close":
    assert getattr(libc, name), name
print(libc.recv(far.fileno(), into, 64, 0), into.value, libc.write(far.fileno(), b"abc", 3), near.recv(3))
def receive():
    print(libc.recv(far.fileno(), into, 64, 0), into.value[:5])
thread = threading.Thread(target=receive)
thread.start()
await_sleep(thread)
near.sendall(b"later")
thread.join()
try:
    libc.no_such_function
except AttributeError as error:
    print(error)
""")

    def test_by_a_library_that_looks_into_its_own_first(self):
        self.compare("""
near.sendall(b"unread")
far.recv(6, socket.MSG_PEEK | socket.MSG_WAITALL)
deep = ctypes.CDLL("libresolv.so.2", mode=8)  # RTLD_DEEPBIND
print(far.recv(100))
take_turns(near, far)
""")

    def test_with_as_much_unread_as_a_connection_holds(self):
        program = """
import hashlib
near.setblocking(False)
sent = hashlib.sha256()
count = 0
while True:
    piece = os.urandom(50000)
    try: sent.update(piece[:near.send(piece)])
    except BlockingIOError: break
    count += len(piece)
far.recv(1, socket.MSG_PEEK)
%s
near.setblocking(True)
near.shutdown(socket.SHUT_WR)
received = hashlib.sha256()
while piece := end.recv(100000):
    received.update(piece)
print(sent.digest() == received.digest())
"""
        for leave in ('ctypes.CDLL("libresolv.so.2", mode=8); end = far',
                      'end = socket.socketpair(); socket.send_fds(end[0], [b"x"], [far.fileno()]); '
                      'end = socket.socket(fileno=socket.recv_fds(end[1], 1, 1)[1][0])',
                      "far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 2); end = far"):
            self.compare(program % leave, {"by default": "on", "at once": "after=1"})

    def test_receiving_without_copies(self):
        self.compare("""
import mmap, struct
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
near.sendall(b"0123456789")
far.recv(10, socket.MSG_PEEK | socket.MSG_WAITALL)
place = libc.mmap(None, 1 << 16, mmap.PROT_READ, mmap.MAP_SHARED, far.fileno(), 0)
into = ctypes.create_string_buffer(100)
# address, length, recv_skip_hint, inq, err, copybuf_address, copybuf_len, flags
option = ctypes.create_string_buffer(struct.pack("QIIIiQiI", place, 1 << 16, 0, 0, 0, ctypes.addressof(into), 100, 0))
length = ctypes.c_uint(len(option.raw) - 1)
print(libc.getsockopt(far.fileno(), socket.IPPROTO_TCP, 35, option, ctypes.byref(length)), into.value)
""")

    def test_by_the_kernels_asynchronous_calls(self):
        self.compare("""
import struct
libc = ctypes.CDLL(None, use_errno=True)
near.sendall(b"0123456789")
far.recv(10, socket.MSG_PEEK | socket.MSG_WAITALL)
context = ctypes.c_ulong(0)
print(libc.syscall(206, 8, ctypes.byref(context)))  # io_setup
into = ctypes.create_string_buffer(16)
out = ctypes.create_string_buffer(b"abc")
def block(operation, memory, count):
    # data, key, rw_flags, lio_opcode, reqprio, fildes, buf, nbytes, offset, reserved2, flags, resfd
    return ctypes.create_string_buffer(struct.pack("QIIHhIQQqQII", 0, 0, 0, operation, 0, far.fileno(), ctypes.addressof(memory), count, 0, 0, 0, 0))
blocks = [block(0, into, 10), block(1, out, 3)]
pointers = (ctypes.c_void_p * 2)(*[ctypes.addressof(one) for one in blocks])
print(libc.syscall(209, context, 2, pointers), into.value, near.recv(3))  # io_submit
""")


if __name__ == "__main__":
    unittest.main()
