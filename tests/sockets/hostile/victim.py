"""An ordinary program, whose peer is hostile. It accepts connections (listen), or makes them (connect PORT), and each begins with
echoes of single bytes, until the peer says by another byte what comes next:
  r  receive to the end, by blocking calls       p  the same, by poll and calls that do not wait
  k  the same, each byte looked at first         s  send, to a peer that may not receive
  a  connect the same socket again, to the port of the next line, and receive from there
  q  end
A line of JSON for each connection, and one at the end. Options: limit=NAME:MORE for setrlimit, beyond what is used; user=ID to become another one."""
import json
import os
import resource
import select
import socket
import sys
import time

SENT = bytes(range(256)) * 1024
LIMIT_S = 5


def receive(connection):
    count = 0
    while data := connection.recv(65536):
        count += len(data)
    return count


def receive_by_poll(connection, flags=0):
    connection.setblocking(False)
    count = vain = 0
    waiting = select.poll()
    waiting.register(connection, select.POLLIN)
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        if not waiting.poll(LIMIT_S * 1000):
            continue
        try:
            if flags:
                connection.recv(4096, flags)
            data = connection.recv(4096)
        except BlockingIOError:
            vain += 1
            if vain > 1000:
                raise TimeoutError("readable for ever, with nothing to read") from None
            continue
        if not data:
            return count
        count += len(data)
    raise TimeoutError("no end")


def send(connection):
    connection.settimeout(LIMIT_S)
    connection.sendall(SENT)
    connection.shutdown(socket.SHUT_WR)
    return receive(connection)


def connect_again(connection):
    port = b""
    while not port.endswith(b"\n"):
        port += connection.recv(1)
    try:
        receive(connection)
    except ConnectionResetError:
        pass
    connection.connect(("127.0.0.1", int(port)))
    return connection.recv(4096).decode(errors="replace")


def serve(connection):
    connection.settimeout(None)
    while True:
        what = connection.recv(1)
        if what in (b"e", b"E"):
            connection.sendall(what)
        elif what == b"":
            return "end"
        else:
            break
    if what == b"q":
        return None
    return {b"p": receive_by_poll, b"k": lambda c: receive_by_poll(c, socket.MSG_PEEK), b"s": send,
            b"a": connect_again}.get(what, receive)(connection)


def numbers():
    return len(os.listdir("/proc/self/fd"))


def memory():
    with open("/proc/self/statm") as words:
        return int(words.read().split()[0]) * resource.getpagesize()


def main():
    socket.getaddrinfo("127.0.0.1", 1)  # what it loads it has before there is a limit
    listener = socket.create_server(("127.0.0.1", 0)) if sys.argv[1] == "listen" else None
    if listener is not None:
        print(listener.getsockname()[1], flush=True)
    for word in sys.argv[2:]:
        name, _, value = word.partition("=")
        if name == "limit":
            name, _, value = value.partition(":")
            which = getattr(resource, f"RLIMIT_{name}")
            used = {"NOFILE": numbers, "AS": memory}.get(name, int)()
            resource.setrlimit(which, (used + int(value), resource.getrlimit(which)[1]))
        elif name == "user":
            os.setresuid(int(value), int(value), int(value))
    before = None
    while True:
        if listener is not None:
            connection, _ = listener.accept()
        else:
            connection = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
        began = time.monotonic()
        with connection:
            try:
                result = serve(connection)
            except OSError as error:
                result = type(error).__name__ if error.errno is None else os.strerror(error.errno)
        if before is None:
            before = numbers()
        took = time.monotonic() - began
        if result is None:
            break
        print(json.dumps({"result": result, "took": took, "numbers": numbers() - before}), flush=True)
    print(json.dumps({"numbers": numbers() - before}), flush=True)


main()
