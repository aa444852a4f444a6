# SPDX-License-Identifier: BSD-2-Clause
"""Programs of a few calls, which must print the same plainly and with libexs_sockets.so. Each stands for a defect that
random scripts (twin) do not find, because it needs threads, stdio or other programs. EXS_SOCKETS_LIBRARY is the
library."""
import unittest

from compared import Compared


class Calls(Compared):
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

    def test_a_program_gets_a_connection_as_its_stdin(self):
        # Python's subprocess makes a child of vfork. The child duplicates a connection that is closed at exec.
        self.compare("""
near.sendall(b"unread, ")
child = subprocess.Popen(["cat"], stdin=far, stdout=subprocess.PIPE)
near.sendall(b"and more")
near.shutdown(socket.SHUT_WR)
print(child.communicate()[0], child.returncode)
""")

    def test_a_program_reads_a_connection_by_stdio(self):
        self.compare("""
near.sendall(b"unread\\nlines\\n")
child = subprocess.Popen(["sort"], stdin=far, stdout=subprocess.PIPE)
near.sendall(b"and more\\n")
near.shutdown(socket.SHUT_WR)
print(child.communicate()[0], child.returncode)
""")

    def test_who_closes_all_numbers_hands_over_what_is_unread(self):
        self.compare("""
near.sendall(b"unread, ")
reader, writer = os.pipe()
if os.fork() == 0:
    os.dup2(far.fileno(), 0)
    os.dup2(writer, 1)
    ctypes.CDLL(None).close_range(3, 4294967295, 0)
    os.execv("/bin/cat", ["cat"])
os.close(writer)
near.sendall(b"and more")
near.shutdown(socket.SHUT_WR)
print(open(reader, "rb").read(), os.wait()[1])
""")

    def test_a_program_gets_a_connection_as_its_stdout(self):
        self.compare("""
far.sendall(b"before, ")
print(subprocess.call(["echo", "by a program"], stdout=far))
far.sendall(b"after")
print(b"".join(near.recv(1) for _ in range(26)))
""")

    def test_a_spawned_program_gets_a_connection(self):
        self.compare("""
near.sendall(b"unread, ")
end, out = os.pipe()
child = os.posix_spawn("/bin/cat", ["cat"], os.environ, file_actions=[
    (os.POSIX_SPAWN_DUP2, far.fileno(), 0), (os.POSIX_SPAWN_DUP2, out, 1)])
os.close(out)
near.sendall(b"and more")
near.shutdown(socket.SHUT_WR)
print(open(end, "rb").read(), os.waitpid(child, 0)[1])
""")

    def test_stdio_reads_and_writes_a_connection(self):
        self.compare("""
libc = ctypes.CDLL(None)
near.sendall(b"unread\\n")
saved = os.dup(1)
os.dup2(far.fileno(), 0)
os.dup2(far.fileno(), 1)
line = ctypes.create_string_buffer(100)
libc.scanf(b"%99s", line)
libc.printf(b"by stdio %d\\n", 1)
libc.fflush(None)
os.write(1, b"by write\\n")
os.dup2(saved, 1)
near.sendall(b"later\\n")
later = ctypes.create_string_buffer(100)
libc.scanf(b"%99s", later)
print(line.value, later.value, b"".join(near.recv(1) for _ in range(20)))
""")

    def test_a_connection_may_be_number_zero(self):
        self.compare("""
libc = ctypes.CDLL(None)
os.close(0)
near, far = pair()
print(near.fileno())
def question():
    for _ in range(50):
        far.recv(100)
        far.sendall(b"answer\\n")
thread = threading.Thread(target=question)
thread.start()
line = ctypes.create_string_buffer(100)
for _ in range(50):
    near.sendall(b"question")
    libc.scanf(b"%99s", line)
thread.join()
print(line.value)
""")

    def test_asynchronous_io(self):
        self.compare("""
libc = ctypes.CDLL(None, use_errno=True)
class Control(ctypes.Structure):
    _fields_ = [("number", ctypes.c_int), ("operation", ctypes.c_int), ("priority", ctypes.c_int), ("memory", ctypes.c_void_p),
                ("bytes", ctypes.c_size_t), ("notice", ctypes.c_char * 64), ("own", ctypes.c_char * 200)]
def transfer(call, number, memory, bytes):
    control = Control(number=number, memory=ctypes.addressof(memory), bytes=bytes)
    control.notice = b"\\0" * 12 + b"\\1"  # SIGEV_NONE
    call(ctypes.byref(control))
    waiting = (ctypes.c_void_p * 1)(ctypes.addressof(control))
    libc.aio_suspend(waiting, 1, None)
    return libc.aio_error(ctypes.byref(control)), libc.aio_return(ctypes.byref(control))
memory = ctypes.create_string_buffer(b"words")
far.sendall(b"before, ")
print(transfer(libc.aio_write, far.fileno(), memory, 5), b"".join(near.recv(1) for _ in range(13)))
take_turns(near, far)
threading.Thread(target=near.sendall, args=(b"other",)).start()
print(transfer(libc.aio_read, far.fileno(), memory, 5), memory.value)
take_turns(near, far)
""")

    def test_a_child_of_clone_shares_a_connection(self):
        self.compare("""
libc = ctypes.CDLL(None, use_errno=True)
@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
def child(_):
    os.read(go, 1)
    far.sendall(b"by the child")
    far.close()
    os._exit(0)
go, gone = os.pipe()
stack = ctypes.create_string_buffer(1 << 20)
libc.clone.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
pid = libc.clone(child, ctypes.addressof(stack) + (1 << 20) - 64, 17, None)  # SIGCHLD
far.close()
os.write(gone, b"x")
near.sendall(b"unread")
print(near.recv(100), os.waitpid(pid, 0)[1])
""")

    def test_sends_to_a_peer_that_has_left_find_all_of_the_buffer(self):
        self.compare("""
one, other = socket.socketpair()
socket.send_fds(one, [b"x"], [far.fileno()])
print(sum(near.send(bytes(1000), socket.MSG_DONTWAIT) for _ in range(100)))
""")

    def test_a_send_to_a_killed_peer_is_not_cut_where_the_ring_is_full(self):
        self.compare('''
peer = subprocess.Popen([sys.executable, "-c", """
import socket, sys
near = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
while question := near.recv(100):
    near.sendall(question)
""", str(listener.getsockname()[1])])
far, _ = listener.accept()
for _ in range(100):
    far.sendall(b"question")
    far.recv(100)
while open(f"/proc/{peer.pid}/stat").read().rsplit(")", 1)[1].split()[0] != "S":
    pass
peer.kill()
peer.wait()
ports = ":%04X %s:%04X 08 " % (far.getsockname()[1], "0100007F", far.getpeername()[1])
while ports not in open("/proc/self/net/tcp").read():  # the end has come, and no call of this program has seen it
    pass
print(far.send(bytes(5000), socket.MSG_DONTWAIT))
''')

    def test_a_receive_at_an_end_steps_over_an_urgent_byte(self):
        self.compare("""
near, far = pair()
for end in near, far:  # both ends know that there is a lane
    try:
        end.recv(1, socket.MSG_DONTWAIT)
    except BlockingIOError:
        pass
near.send(b"12345", socket.MSG_OOB)
print(select.select([], [], [far]) == ([], [], [far]))
far.shutdown(socket.SHUT_RD)
print(far.recv(7), far.recv(1), select.select([], [], [far], 0)[2])
""")

    def test_a_receive_of_bytes_that_nobody_wants_keeps_the_error_behind_them(self):
        self.compare("""
reset_behind(34)
print(len(far.recv(10000, socket.MSG_TRUNC | socket.MSG_WAITALL)))
try:
    far.send(b"more")
except OSError as error:
    print(error)
""")

    def test_a_set_tells_of_an_error_that_came_behind_bytes(self):
        self.compare("""
waits = select.epoll()
waits.register(far.fileno(), select.EPOLLIN)
reset_behind(34)
print(len(far.recv(10000, socket.MSG_WAITALL)), [events for _, events in waits.poll(10)])
""")

    def test_a_program_that_is_executed_is_told_of_an_error_that_came_behind_bytes(self):
        self.compare('''
reset_behind(34)
print(len(far.recv(10000, socket.MSG_WAITALL)), flush=True)
os.set_inheritable(far.fileno(), True)
os.execv(sys.executable, [sys.executable, "-c", """
import socket, sys
try:
    socket.socket(fileno=int(sys.argv[1])).send(b"more")
except OSError as error:
    print(error)
""", str(far.fileno())])
''')

    def test_a_child_is_not_told_of_a_connection_that_its_parent_has_taken_out_of_their_set(self):
        self.compare("""
waits = select.epoll()
waits.register(far.fileno(), select.EPOLLIN)
near.sendall(b"first")
print(waits.poll(10) == [(far.fileno(), select.EPOLLIN)])
reader, writer = os.pipe()
pid = os.fork()
if pid == 0:
    os.read(reader, 1)
    print(waits.poll(0), waits.poll(0), far.recv(100), flush=True)
    os._exit(0)
waits.unregister(far.fileno())
os.write(writer, b"x")
print(os.waitpid(pid, 0)[1], waits.poll(0))
""")

    def test_a_poll_waits_for_as_many_bytes_as_the_low_water_mark(self):
        self.compare("""
near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
near.sendall(b"1234567")
while len(far.recv(100, socket.MSG_PEEK)) < 7:
    pass
far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 10)
print(select.select([far], [], [], 0)[0])
near.sendall(b"890")
print(select.select([far], [], [], 10)[0] == [far], far.recv(100))
""")

    def test_the_last_low_water_mark_counts(self):
        self.compare("""
near.sendall(b"unread")
for mark in 10, 1:
    far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, mark)
    print(far.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT))
print(far.recv(100), far.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT))
""")

    def test_the_time_to_linger_is_kept_while_nobody_lingers(self):
        self.compare("""
near.sendall(b"unread")
far.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 2)  # the ring is left, and what is unread comes along
for linger in b"\\1\\0\\0\\0\\3\\0\\0\\0", b"\\0\\0\\0\\0\\7\\0\\0\\0":
    far.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    print(far.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8))
print(far.recv(100), far.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8))
""")

    def test_a_set_that_a_child_has_put_a_connection_into_wakes_its_parent(self):
        self.compare("""
go, gone = os.pipe()
ready, made = os.pipe()
waits = select.epoll()
near.sendall(b"first")
pid = os.fork()
if pid == 0:
    os.read(go, 1)
    waits.register(far.fileno(), select.EPOLLIN)
    far.recv(100)
    os.write(made, b"x")
    os.read(go, 1)
    os._exit(0)
number = far.fileno()
far.close()
os.write(gone, b"x")
os.read(ready, 1)
near.sendall(b"second")
print(waits.poll(5) == [(number, select.EPOLLIN)])
os.write(gone, b"x")
print(os.waitpid(pid, 0)[1])
""")

    def test_a_child_waits_in_a_set_without_the_connections_in_it(self):
        self.compare("""
waits = select.epoll()
waits.register(far.fileno(), select.EPOLLIN)
near.sendall(b"first")
print(far.recv(100))
number = far.fileno()
closed, closes = os.pipe()
pid = os.fork()
if pid == 0:
    far.close()
    os.write(closes, b"x")
    os._exit(waits.poll(10) != [(number, select.EPOLLIN)])
os.read(closed, 1)
near.sendall(b"second")
print(os.waitpid(pid, 0)[1], far.recv(100))
""")

    def test_an_edge_tells_of_room_along_with_bytes(self):
        self.compare("""
silent = pair()
for _ in range(3):  # one end that has never sent
    silent[0].sendall(b"bytes")
    silent[1].recv(100)
for near, far in (near, far), silent:
    waits = select.epoll()
    waits.register(far.fileno(), select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
    near.sendall(b"first")
    far.recv(100)
    waits.poll(0)
    near.sendall(b"second")
    print([events for _, events in waits.poll()])
""")

    def test_what_the_kernel_refuses_it_refuses_first(self):
        self.compare("""
libc = ctypes.CDLL(None, use_errno=True)
read, recv, write = libc.read, libc.recv, libc.write
for call in read, recv, write:
    call.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
recv.argtypes = [*recv.argtypes, ctypes.c_int]
huge = (1 << 63) - 1
def told(result):
    return result, ctypes.get_errno() if result < 0 else 0
print(told(read(far.fileno(), None, huge)), told(write(far.fileno(), None, huge)))
near.shutdown(socket.SHUT_WR)
print(told(read(far.fileno(), None, 10)), told(read(far.fileno(), None, huge)), told(recv(far.fileno(), None, huge, 0)))
""")

    def test_a_receive_of_no_bytes_finds_an_urgent_one_before_an_error(self):
        self.compare("""
near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
far.sendall(b"unread")
near.send(b"123u", socket.MSG_OOB)
while select.select([], [], [far]) != ([], [], [far]):
    pass
near.close()
print(far.recv(4), far.recv(0, socket.MSG_DONTWAIT))
try:
    far.recv(1)
except OSError as error:
    print(error.errno)
""")

    def test_a_vector_of_no_bytes_tells_no_error(self):
        self.compare("""
far.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # so that TCP has the bytes before the end, too
far.sendall(b"unread")
near.close()
while True:
    try:
        print(os.writev(far.fileno(), [b"", b""]), far.send(b"bytes"))
    except OSError as error:
        print(error.errno, os.writev(far.fileno(), [b"", b""]))
        break
""")

    def test_bytes_behind_unread_ones_tell_an_edge(self):
        self.compare("""
waits = select.epoll()
near.sendall(b"first")
far.recv(100, socket.MSG_PEEK)
waits.register(far.fileno(), select.EPOLLIN | select.EPOLLET)
print(waits.poll(5) == [(far.fileno(), select.EPOLLIN)], waits.poll(0))
for _ in range(3):
    near.sendall(b"more")
    print(waits.poll(5) == [(far.fileno(), select.EPOLLIN)], waits.poll(0))
print(far.recv(100), waits.poll(0))
""")

    def test_a_program_that_is_executed_waits_with_the_sets_it_inherits(self):
        self.compare('''
waits = select.epoll()
near.sendall(b"first")
while len(far.recv(100, socket.MSG_PEEK)) < 5:
    pass
waits.register(far.fileno(), select.EPOLLIN)
near.sendall(b"second")
print(far.recv(3), waits.poll(5) == [(far.fileno(), select.EPOLLIN)], flush=True)
for number in waits.fileno(), far.fileno(), near.fileno():
    os.set_inheritable(number, True)
os.execv(sys.executable, [sys.executable, "-c", """
import select, socket, sys
waits, far = select.epoll.fromfd(int(sys.argv[1])), socket.socket(fileno=int(sys.argv[2]))
print(waits.poll(5) == [(far.fileno(), select.EPOLLIN)], far.recv(8, socket.MSG_WAITALL), waits.poll(0))
""", str(waits.fileno()), str(far.fileno())])
''')

    def test_bytes_that_lie_in_the_ring_have_arrived(self):
        self.compare("""
import fcntl, struct
near.sendall(b"x" * 5000)
def told(request):
    return struct.unpack("i", fcntl.ioctl(near, request, bytes(4)))[0]
while (told(0x5411), told(0x894B)) != (0, 0):  # SIOCOUTQ, SIOCOUTQNSD
    pass
print(len(far.recv(5000, socket.MSG_WAITALL)))
""")

    def test_bytes_are_counted_without_a_place_for_them(self):
        self.compare("""
recv = ctypes.CDLL(None, use_errno=True).recv
near.sendall(b"0123456789")
far.recv(10, socket.MSG_PEEK | socket.MSG_WAITALL)
for count in 100, 4, 1:
    print(recv(far.fileno(), None, count, socket.MSG_PEEK | socket.MSG_TRUNC))
print(far.recv(100), recv(far.fileno(), None, 100, socket.MSG_PEEK | socket.MSG_TRUNC | socket.MSG_DONTWAIT), ctypes.get_errno())
""")

    def test_a_splice_into_a_pipe_that_never_waits_waits_for_bytes(self):
        self.compare("""
into, out = os.pipe()
splice = ctypes.CDLL(None, use_errno=True).splice
def receive():
    print(splice(far.fileno(), None, out, None, 4096, 2), os.read(into, 100))  # SPLICE_F_NONBLOCK
thread = threading.Thread(target=receive)
thread.start()
await_sleep(thread)
near.sendall(b"bytes")
thread.join()
far.setblocking(False)
print(splice(far.fileno(), None, out, None, 4096, 0), ctypes.get_errno())
near.sendall(b"more")
select.select([far], [], [])
print(splice(far.fileno(), None, near.fileno(), None, 4096, 0), ctypes.get_errno(), far.recv(100))
""")

    def test_a_stream_is_opened_anew(self):
        self.compare("""
libc = ctypes.CDLL(None, use_errno=True)
libc.fdopen.restype = libc.freopen.restype = ctypes.c_void_p
stream = ctypes.c_void_p(libc.fdopen(far.fileno(), b"r+"))
print(libc.fwide(stream, 0), libc.fputs(b"by a stream", stream) > 0, libc.fflush(stream), near.recv(100))
number = os.dup(far.fileno())
stream = ctypes.c_void_p(libc.freopen(b"/dev/null", b"w", stream))
print(libc.fputs(b"x", stream) > 0, libc.fputwc(ord("x"), stream), libc.fclose(stream))
far.detach()
os.write(number, b"still there")
print(near.recv(100))
""")

    def test_a_thread_has_numbers_of_its_own(self):
        self.compare("""
libc = ctypes.CDLL(None, use_errno=True)
other = socket.create_server(("127.0.0.1", 0))
def own():
    print(libc.unshare(0x400))  # CLONE_FILES
    number = far.fileno()
    os.close(number)
    mine = socket.create_connection(other.getsockname())
    theirs = other.accept()[0]
    print(mine.fileno() == number)
    take_turns(mine, theirs)
    mine.sendall(b"of the thread")
    print(theirs.recv(100))
thread = threading.Thread(target=own)
thread.start()
thread.join()
take_turns(near, far)
near.sendall(b"of the process")
print(far.recv(100))
""")

    def test_a_call_moves_as_many_bytes_as_the_kernel_moves(self):
        self.compare("""
import mmap
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype, libc.write.restype = ctypes.c_void_p, ctypes.c_ssize_t
count = (1 << 31) + 16
anonymous, private, noreserve = 0x20, 2, 0x4000
memory = ctypes.c_void_p(libc.mmap(None, ctypes.c_size_t(count), mmap.PROT_READ, anonymous | private | noreserve, -1, 0))
received = []
def discard():
    recv = libc.recv
    recv.restype = ctypes.c_ssize_t
    while (got := recv(far.fileno(), None, 1 << 30, socket.MSG_TRUNC)) > 0:
        received.append(got)
thread = threading.Thread(target=discard)
thread.start()
print(libc.write(near.fileno(), memory, ctypes.c_size_t(count)))
near.close()
thread.join()
print(sum(received))
""")

    def test_waits_with_room_for_one_tell_of_all_in_turn(self):
        self.compare("""
waits = select.epoll()
pairs = [(near, far)] + [pair() for _ in range(3)]
for one in pairs:
    take_turns(*one)
    waits.register(one[1], select.EPOLLIN)
    one[0].sendall(b"x" * 1000)
into, out = os.pipe()
waits.register(into, select.EPOLLIN)
waits.register(listener, select.EPOLLIN)
for _ in range(3):
    for _, end in pairs:
        waits.poll(5, 1)
os.write(out, b"x")
caller = socket.create_connection(listener.getsockname())
told = {number: 0 for number in [end.fileno() for _, end in pairs] + [into, listener.fileno()]}
for _ in range(1200):
    for number, _ in waits.poll(5, 1):
        told[number] += 1
print([told[end.fileno()] > 100 for _, end in pairs], told[into] > 10, told[listener.fileno()] > 10)
""")

    def test_a_wait_tells_in_the_order_of_arrival(self):
        self.compare("""
waits = select.epoll()
pairs = [pair() for _ in range(8)]
names = {}
for name, one in enumerate(pairs):
    one[0].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    take_turns(*one)
    waits.register(one[1], select.EPOLLIN)
    names[one[1].fileno()] = name
def told(events):
    return [names[number] for number, _ in events]
for order in (5, 2, 7, 0, 3, 6, 1, 4), (0, 1, 2, 3, 4, 5, 6, 7), (3, 3, 1, 3):
    for name in order:
        pairs[name][0].sendall(b"x")
        pairs[name][1].recv(1, socket.MSG_PEEK)
    print(told(waits.poll(5)), told(waits.poll(5, 2)), told(waits.poll(5, 2)))
    for name in set(order):
        pairs[name][1].recv(100)
    waits.poll(0)
""")

    def test_bytes_with_and_without_a_bell_are_told_in_the_order_of_arrival(self):
        # Who slept for the last bytes of a connection gets a bell with the next ones.
        self.compare("""
def sleep_once(near, far):
    thread = threading.Thread(target=far.recv, args=(100,))
    thread.start()
    await_sleep(thread)
    near.sendall(b"x")
    thread.join()
def told(events):
    return [names[number] for number, _ in events]
for sleepers in (7,), (5, 2), (0, 2, 4, 6):
    waits = select.epoll()
    pairs = [pair() for _ in range(8)]
    names = {}
    for name, one in enumerate(pairs):
        one[0].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        take_turns(*one, 10)
        if name in sleepers:
            sleep_once(*one)
        waits.register(one[1], select.EPOLLIN)
        names[one[1].fileno()] = name
    for name in 5, 2, 7, 0, 3, 6, 1, 4:
        pairs[name][0].sendall(b"x")
        pairs[name][1].recv(1, socket.MSG_PEEK)
    print(told(waits.poll(5)), [told(waits.poll(5, 2)) for _ in range(12)])
""")

    def test_a_wait_tells_those_of_last_time_first(self):
        # From libzmq's test_spec_req: connections with and without a lane get bytes in turn, and must answer in that
        # order.
        self.compare("""
waits = select.epoll()
def told():
    events = waits.poll(5)
    while len(events) < len(ready):  # the kernel is asked now and then
        events = waits.poll(5)
    return [names[number] for number, _ in events]
names, ready, sources = {}, [], {}
for name in "abc":
    one = pair()
    one[0].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    take_turns(*one)
    names[one[1].fileno()] = name
    sources[name] = one
for name in "pqr":
    sources[name] = [os.fdopen(number, mode, 0) for number, mode in zip(os.pipe(), ("rb", "wb"))]
    names[sources[name][0].fileno()] = name
for number in names:
    waits.register(number, select.EPOLLIN)
for order in "paqbrc", "abpcqr", "pqrabc", "acbrqp":
    ready.clear()
    for name in order:
        if name in "abc":
            sources[name][0].sendall(b"x")
            sources[name][1].recv(1, socket.MSG_PEEK)
        else:
            sources[name][1].write(b"x")
        ready.append(name)
        print(told(), told())
    for name in order:
        sources[name][1].recv(100) if name in "abc" else sources[name][0].read(1)
    waits.poll(0)
""")

    def test_a_set_goes_on_with_a_connection_whose_number_is_closed(self):
        self.compare("""
waits = select.epoll()
waits.register(far, select.EPOLLIN)
number = far.fileno()
def turns(end):
    for _ in range(20):
        near.sendall(b"bytes")
        print(waits.poll(10) == [(number, select.EPOLLIN)], end.recv(100))
turns(far)
other = socket.socket(fileno=os.dup(number))
far.close()
turns(other)
print(os.open("/dev/null", os.O_RDONLY) == number)
turns(other)
print(waits.poll(0))
""")

    def test_bytes_with_more_behind_them_come_together(self):
        self.compare("""
far.settimeout(0.05)
near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for _ in range(3):
    for end in range(5):
        near.send(b"head", socket.MSG_MORE)
        print(select.select([far], [], [], 0)[0])  # for 0.2 s
        near.send(b"body")
        print(far.recv(100))
    take_turns(near, far, 5)
near.send(b"more, and ", socket.MSG_MORE)
near.close()
print(far.recv(100, socket.MSG_WAITALL))
""")

    def test_a_reader_that_takes_little_holds_up_no_writer_of_its_thread(self):
        self.compare("""
near.setblocking(False)
far.setblocking(False)
waits = select.epoll()
waits.register(near, select.EPOLLOUT)
waits.register(far, select.EPOLLIN)
sent = got = 0
piece = b"x" * (4 << 20)
while got < 20000000:
    for number, _ in waits.poll(10):
        if number == near.fileno() and sent < 20000000:
            try:
                sent += near.send(piece)
            except BlockingIOError:
                pass
        if number == far.fileno():
            got += len(far.recv(4096))
print(got >= 20000000)
""", {"by default": "on"})

    def test_a_file_is_sent(self):
        self.compare("""
import hashlib, tempfile
file = tempfile.TemporaryFile()
content = os.urandom(3000000)
file.write(content)
file.flush()
def receive(count):
    parts = []
    while count > 0 and (part := far.recv(count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
def send(*arguments):
    try:
        return os.sendfile(near.fileno(), *arguments)
    except OSError as error:
        return error.errno
for offset, count in (0, 10), (5, 100000), (2999990, 100), (3000000, 10), (4000000, 10), (0, 0), (-1, 10):
    sent = send(file.fileno(), offset, count)
    print(sent, offset < 0 or receive(sent) == content[offset:offset + count])
got = []
thread = threading.Thread(target=lambda: got.append(receive(len(content))))
thread.start()
print(send(file.fileno(), 0, 1 << 40), thread.join(), got[0] == content)
file.seek(7)
print(send(file.fileno(), None, 20), file.tell(), receive(20) == content[7:27])
write_only = os.open("/dev/null", os.O_WRONLY)
into, out = os.pipe()
os.write(out, b"of a pipe")
print(send(write_only, 0, 10), send(into, None, 100), send(-1, 0, 10))
near.setblocking(False)
count = 0
while (sent := send(file.fileno(), 0, 3000000)) != 11:
    count += sent
near.close()
print(len(receive(count + 1)) == count)
""")


if __name__ == "__main__":
    unittest.main()
