# SPDX-License-Identifier: BSD-2-Clause
"""A socket program without knowledge of exs: peer.py PLAY SIDE ADDRESS PORT. The called side first prints its port on a
line."""
import contextlib
import hashlib
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time

LARGEST = 400_000
ROUNDS = 40
BYTES = random.Random(1).randbytes(LARGEST)


def sizes():
    choice = random.Random(7)
    return [choice.choice([1, 3, 64, 1000, 1024, 1025, 5000, 65536, 70000, choice.randrange(1, LARGEST)]) for _ in range(ROUNDS)]


def receive(connection, count):
    parts, left = [], count
    while left > 0:
        part = connection.recv(min(left, 1 << 20))
        if not part:
            raise SystemExit(f"the end came {left} bytes of {count} early")
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def echo(connection, count):
    for i in range(count):
        connection.sendall(BYTES[i:i + 64])
        if receive(connection, 64) != BYTES[i:i + 64]:
            raise SystemExit(f"message {i} came back wrong")


def has_met():
    """True: the ends have a lane, where the test demands one. The play continues then."""
    with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
        return os.environ.get("EXS_TEST_MAPS", "") in maps.read()


def meet_by_echo(connection):
    end = time.monotonic() + 60
    while not has_met() and time.monotonic() < end:
        echo(connection, 50)
    echo(connection, 400)
    connection.sendall(b"rest" * 16)
    echo(connection, 50)
    print("met", flush=True)


def answer(connection, count):
    for _ in range(count):
        connection.sendall(receive(connection, 64))


def meet_by_answers(connection):
    while (message := receive(connection, 64)) != b"rest" * 16:
        connection.sendall(message)
    answer(connection, 50)


def transfers_called(connection):
    meet_by_answers(connection)
    digest = hashlib.sha256()
    for count in sizes():
        data = receive(connection, count)
        digest.update(data)
        connection.sendall(data[::-1])
    sender = in_thread(lambda: [connection.sendall(BYTES[:count]) for count in sizes()])
    for count in sizes():
        digest.update(receive(connection, count))
    sender.join()
    connection.sendall(digest.digest() + BYTES)
    connection.shutdown(socket.SHUT_WR)
    print("end", len(connection.recv(1)), digest.hexdigest())


def transfers_calling(connection):
    meet_by_echo(connection)
    digest = hashlib.sha256()
    for count in sizes():
        connection.sendall(BYTES[:count])
        digest.update(BYTES[:count])
        print(count, receive(connection, count) == BYTES[:count][::-1])
    sender = in_thread(lambda: [connection.sendall(BYTES[-count:]) for count in sizes()])
    for count in sizes():
        print(count, receive(connection, count) == BYTES[:count])
        digest.update(BYTES[-count:])
    sender.join()
    print(receive(connection, 32) == digest.digest(), receive(connection, LARGEST) == BYTES, len(connection.recv(1)))


def fork_called(connection):
    meet_by_answers(connection)
    if os.fork() != 0:
        os._exit(0)  # this also ends the thread that served the lane
    answer(connection, 40)
    print("end", len(connection.recv(1)), flush=True)


def fork_calling(connection):
    meet_by_echo(connection)
    echo(connection, 40)
    print("echoed")


def resume(connection, part):
    """Continues in another program, with the rest of a message unread, if there is one."""
    connection.sendall(part + receive(connection, 64 - len(part)))
    answer(connection, 40)
    print("end", len(connection.recv(1)), flush=True)


def exec_called(connection):
    meet_by_answers(connection)
    part = receive(connection, 24)
    connection.set_inheritable(True)
    os.execv(sys.executable, [sys.executable, __file__, "executed", "called", part.hex(), str(connection.fileno())])


def pass_called(connection):
    near, far = socket.socketpair()
    other = subprocess.Popen([sys.executable, __file__, "passed", "called", "", str(far.fileno())], pass_fds=[far.fileno()])
    meet_by_answers(connection)
    socket.send_fds(near, [receive(connection, 64)], [connection.fileno()])
    connection.close()
    raise SystemExit(other.wait())


def exec_calling(connection):
    meet_by_echo(connection)
    echo(connection, 41)
    print("echoed")


pass_calling = exec_calling


def idle_called(connection):
    meet_by_answers(connection)
    connection.sendall(b"last words" + str(os.getpid()).encode())
    receive(connection, 1)


def idle_calling(connection):
    """The called side is killed after its last words have arrived."""
    meet_by_echo(connection)
    told = connection.recv(64)
    while len(told) < 11:
        told += connection.recv(64)
    os.kill(int(told[10:]), 9)
    try:
        print("end", connection.recv(1))
        connection.sendall(b"more")
        for _ in range(100):
            connection.sendall(b"x" * 1000)
        print("the kernel takes what nobody reads")
    except (ConnectionResetError, BrokenPipeError):
        print("gone")


def random_count():
    return random.Random(int(os.environ["EXS_TEST_SEED"])).randrange(1, 4 * LARGEST)


def source_called(connection):
    """Sends for ever."""
    meet_by_answers(connection)
    connection.sendall(b"%10d" % os.getpid())
    while True:
        connection.sendall(BYTES)


def source_calling(connection):
    """The called side is killed after a number of bytes. The bytes that still arrive must be right, and an end must
    follow."""
    meet_by_echo(connection)
    called, count, left = int(receive(connection, 10)), 0, random_count()
    try:
        while part := connection.recv(min(left, 50_000) if left > 0 else 50_000):
            at = count % LARGEST
            if part != (BYTES + BYTES)[at:at + len(part)]:
                raise SystemExit(f"wrong bytes behind {count}")
            count += len(part)
            left -= len(part)
            if left == 0:
                os.kill(called, 9)
    except ConnectionResetError:
        pass
    print("ended" if left <= 0 else "early")


def sink_called(connection):
    """Dies after a number of bytes."""
    meet_by_answers(connection)
    receive(connection, random_count())
    os.kill(os.getpid(), 9)


def sink_calling(connection):
    meet_by_echo(connection)
    try:
        while True:
            connection.sendall(BYTES)
    except (ConnectionResetError, BrokenPipeError):
        print("gone")


def stop_called(connection):
    """Stops after a number of bytes."""
    meet_by_answers(connection)
    digest = hashlib.sha256(receive(connection, random_count()))
    os.kill(os.getpid(), signal.SIGSTOP)
    while part := connection.recv(1 << 20):
        digest.update(part)
    print(digest.hexdigest())


def stop_calling(connection):
    meet_by_echo(connection)
    for _ in range(40):
        connection.sendall(BYTES)
    print(hashlib.sha256(BYTES * 40).hexdigest())


def reset_called(connection):
    """Sends a byte, and so a bell, to a side that does not receive. Then prints its number for the connection."""
    meet_by_answers(connection)
    connection.sendall(b"x")
    print(connection.fileno(), flush=True)
    signal.pause()


def is_reset_held_up():
    """True: a thread of this process is inside connect, by which the layer makes the kernel reset the connection."""
    connect = f"{42 if os.uname().machine == 'x86_64' else 203} "
    for thread in pathlib.Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # a thread that has ended
            if (thread / "syscall").read_text(encoding="ascii").startswith(connect):
                return True
    return False


def reset_calling(connection):
    """Makes calls while the layer is about to reset the connection. strace delays the layer's system call."""
    meet_by_echo(connection)
    print(connection.fileno(), flush=True)
    end = time.monotonic() + 60
    while not is_reset_held_up():
        if time.monotonic() > end:
            raise SystemExit("no reset is held up")
    calls = [lambda: connection.recv(64), lambda: connection.send(b"more")]
    for call in reversed(calls) if os.environ["EXS_TEST_SEED"] == "1" else calls:
        try:
            print(call(), flush=True)
        except (ConnectionResetError, BrokenPipeError):
            print("reset", flush=True)


def main():
    play, side, address, port = sys.argv[1:]
    if play == "executed":
        return resume(socket.socket(fileno=int(port)), bytes.fromhex(address))
    if play == "passed":
        part, numbers, _, _ = socket.recv_fds(socket.socket(fileno=int(port)), 64, 1)
        return resume(socket.socket(fileno=numbers[0]), part)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    if side == "called":
        with socket.socket(family) as listener:
            listener.bind((address, int(port)))
            listener.listen()
            print(listener.getsockname()[1], flush=True)
            connection, _ = listener.accept()
    else:
        connection = socket.create_connection((address, int(port)))
    with connection:
        globals()[f"{play}_{side}"](connection)
    return None


main()
