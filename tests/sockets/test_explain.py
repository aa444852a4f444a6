# SPDX-License-Identifier: BSD-2-Clause
"""exs-explain --sockets on programs with libexs_sockets.so and without: its report must be true. EXS_SOCKETS_LIBRARY is
the library, EXS_TOOLS the folder of the programs."""
import ast
import itertools
import json
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

LIBRARY = os.environ["EXS_SOCKETS_LIBRARY"]
EXPLAIN = pathlib.Path(os.environ["EXS_TOOLS"], "exs-explain")
LIMIT_S = 60
NOBODY = 65534
SO_ZEROCOPY = 60
SVG = "{http://www.w3.org/2000/svg}"
LETTER_PX = 7.23
CONNECTION_KEYS = ["descriptors", "local", "remote", "tcp_state", "peer_pid", "peer_program", "side", "stage", "sends_by",
                   "receives_by", "ring_bytes", "ring_sent_bytes", "tcp_sent_bytes", "ring_received_bytes", "tcp_received_bytes",
                   "unread_bytes", "peer_unread_bytes", "turns", "bells", "sleeps", "looks_found", "looks_missed", "processes",
                   "reason", "fact", "cure"]
PROCESS_KEYS = ["pid", "program", "served", "reason", "fact", "cure", "connections"]
# Executes each line and answers with `result`.
PROGRAM = """
import os, socket, sys
names = {"os": os, "socket": socket}
for line in sys.stdin:
    names["result"] = None
    exec(line, names)
    print(repr(names["result"]), flush=True)
"""
# Sets `fd` to the memory of the program's family.
FAMILY = """fd = next(int(number) for number in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{number}")
    and "exs-sockets-family" in os.readlink(f"/proc/self/fd/{number}"))""".replace("\n", "")


class Program:
    """A program that makes only the calls that the test requests."""

    def __init__(self, words, rules="/dev/null"):
        environment = {**os.environ, "LD_PRELOAD": LIBRARY, "EXS_SOCKETS": words, "EXS_SOCKETS_CONF": rules}
        if words is None:
            environment = {name: value for name, value in os.environ.items() if not name.startswith("EXS_SOCKETS")}
        self.process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environment)
        self.pid = self.process.pid

    def do(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return ast.literal_eval(self.process.stdout.readline())

    def kill(self):
        self.process.kill()
        self.process.communicate()


def explain(*words, status=0, **options):
    done = subprocess.run([EXPLAIN, "--sockets", *map(str, words)], capture_output=True, text=True, timeout=LIMIT_S, check=False,
                          **options)
    if done.returncode != status or done.stderr:
        raise AssertionError(f"status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def process_of(program, status=0, **options):
    found = json.loads(explain(program.pid, "--json", status=status, **options))
    assert list(found) == ["tool", "version", "schema", "processes", "processes_out_of_reach"], found
    (process,) = found["processes"]
    assert list(process) == PROCESS_KEYS and process["pid"] == program.pid, process
    return process


def connection_of(program):
    (connection,) = process_of(program)["connections"]
    assert list(connection) == CONNECTION_KEYS, connection
    return connection


class SocketsTest(unittest.TestCase):
    def start(self, words="after=1"):
        program = Program(words)
        self.addCleanup(program.kill)
        return program

    def connect(self, client, server):
        """Both ends name the connection `own`."""
        port = server.do('listener = socket.create_server(("127.0.0.1", 0)); result = listener.getsockname()[1]')
        client.do(f'own = socket.create_connection(("127.0.0.1", {port}))')
        server.do("own = listener.accept()[0]")

    def exchange(self, client, server, times=20):
        for _ in range(times):
            for sender, receiver in (client, server), (server, client):
                sender.do("own.sendall(bytes(100))")
                self.assertEqual(receiver.do("result = len(own.recv(100, socket.MSG_WAITALL))"), 100)

    def two_ends(self, words="after=1", times=20):
        client, server = self.start(words), self.start(words)
        self.connect(client, server)
        self.exchange(client, server, times)
        return client, server

    def assert_lanes(self, connection, sends, receives, stage, reason):
        self.assertEqual((connection["sends_by"], connection["receives_by"], connection["stage"], connection["reason"]),
                         (sends, receives, stage, reason), connection)


class Connections(SocketsTest):
    def test_by_ring(self):
        client, server = self.two_ends()
        of_client, of_server = connection_of(client), connection_of(server)
        for connection in of_client, of_server:
            self.assert_lanes(connection, "ring", "ring", "lane", "")
            self.assertEqual((connection["fact"], connection["cure"]), ("", ""))
            self.assertEqual(connection["ring_bytes"], 4 << 20)
            self.assertEqual(connection["ring_sent_bytes"] + connection["tcp_sent_bytes"], 2000)
            self.assertGreaterEqual(connection["ring_sent_bytes"], 1000)
            self.assertEqual((connection["unread_bytes"], connection["peer_unread_bytes"], connection["turns"]), (0, 0, 0))
            self.assertEqual((connection["processes"], connection["tcp_state"]), (1, "established"))
        for mine, other in (of_client, of_server), (of_server, of_client):
            self.assertEqual((mine["local"], mine["ring_sent_bytes"]), (other["remote"], other["ring_received_bytes"]))
            self.assertGreater(mine["bells"], 0)
        self.assertEqual((of_client["side"], of_server["side"]), ("connect", "listen"))
        self.assertEqual((of_client["peer_pid"], of_server["peer_pid"]), (server.pid, client.pid))
        self.assertEqual(of_client["local"], client.do('result = "%s:%d" % own.getsockname()'))
        self.assertEqual(of_client["descriptors"], [client.do("result = own.fileno()")])

    def test_bytes_that_lie_in_the_ring(self):
        client, server = self.two_ends()
        client.do("own.sendall(bytes(300))")
        self.assertEqual(connection_of(server)["unread_bytes"], 300)
        self.assertEqual(connection_of(client)["peer_unread_bytes"], 300)
        # Neither program has to run for the report.
        os.kill(server.pid, signal.SIGSTOP)
        self.assertEqual(connection_of(server)["unread_bytes"], 300)
        os.kill(server.pid, signal.SIGCONT)
        self.assertEqual(server.do("result = len(own.recv(1000))"), 300)
        self.assertEqual(connection_of(server)["unread_bytes"], 0)

    def test_several_numbers_are_one_connection(self):
        client, server = self.two_ends()
        numbers = client.do("other = own.dup(); result = sorted([own.fileno(), other.fileno()])")
        self.assertEqual(connection_of(client)["descriptors"], numbers)

    def test_too_short_to_meet(self):
        client, server = self.two_ends("after=40", times=1)
        connection = connection_of(client)
        self.assert_lanes(connection, "tcp", "tcp", "noted", "short-lived")
        self.assertIn("(2 calls)", connection["fact"])
        self.assertIn("after=1", connection["cure"])
        self.assertEqual((connection["ring_bytes"], connection["tcp_sent_bytes"]), (0, 100))

    def test_switched_off_for_its_port_without_a_call(self):
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as rules:
            rules.write("* * *:1 on\n* * * off\n")
            rules.flush()
            client, server = Program("after=1", rules.name), Program("after=1", rules.name)
            self.addCleanup(client.kill)
            self.addCleanup(server.kill)
            self.connect(client, server)
        for program in client, server:
            self.assert_lanes(connection_of(program), "tcp", "tcp", "plain", "off")

    def test_ends_that_are_about_to_meet(self):
        client, server = self.start(), self.start()
        self.connect(client, server)
        client.do("own.sendall(bytes(100))")
        self.assert_lanes(connection_of(client), "tcp", "tcp", "calling", "asking")
        server.do("own.recv(100)")
        self.assert_lanes(connection_of(server), "tcp", "tcp", "offered", "asking")
        server.do("own.sendall(bytes(100))")
        client.do("own.recv(100)")
        self.assert_lanes(connection_of(client), "tcp", "tcp", "lane", "starting")
        client.do("own.sendall(bytes(100))")
        self.assert_lanes(connection_of(client), "ring", "tcp", "lane", "")

    def test_the_other_end_is_not_preloaded(self):
        client, server = self.start(), self.start(None)
        self.connect(client, server)
        self.exchange(client, server, 2)
        connection = connection_of(client)
        self.assert_lanes(connection, "tcp", "tcp", "plain", "peer-not-preloaded")
        self.assertIn("exs-run", connection["cure"])
        self.assertEqual(connection["peer_pid"], server.pid)

    def test_an_option_that_tcp_alone_can_serve(self):
        client, server = self.two_ends()
        client.do(f"own.setsockopt(socket.SOL_SOCKET, {SO_ZEROCOPY}, 1)")
        self.assert_lanes(connection_of(client), "tcp", "tcp", "plain", "option")
        server.do("own.sendall(bytes(100))")
        left = connection_of(server)
        self.assert_lanes(left, "tcp", "tcp", "lane", "peer-left")
        self.assertIn("; there: option: ", left["fact"])  # the report of the other end

    def exchange_until_met(self, client, server, watched):
        for _ in range(1000):
            self.exchange(client, server, 1)
            if connection_of(watched)["stage"] == "lane":
                break
        self.exchange(client, server, 5)

    def send_slowly(self, program, milliseconds):
        """Nobody reads it, so it is few bytes: TCP blocks the sender when its buffers are full."""
        program.do(f"import time; [(own.send(b'x'), time.sleep(0.001)) for _ in range({milliseconds})]")

    def test_the_other_end_makes_no_call(self):
        client, server = self.start(), self.start()
        self.connect(client, server)
        # Longer than the scheduler delays a program.
        self.send_slowly(client, 100)
        client.do("result = [own.send(b'x') for _ in range(100)]")
        self.assert_lanes(connection_of(client), "tcp", "tcp", "calling", "asking")
        # The caller also waits for the other end.
        server.do("own.recv(100)")
        self.exchange_until_met(client, server, client)
        self.assert_lanes(connection_of(client), "ring", "ring", "lane", "")

    def test_an_end_that_calls_often_waits_for_the_other(self):
        client, server = self.start("after=100"), self.start()
        self.connect(client, server)
        server.do("result = [own.send(b'x') for _ in range(200)]")
        self.assert_lanes(connection_of(server), "tcp", "tcp", "noted", "short-lived")
        client.do("[own.recv(1) for _ in range(200)]")
        self.exchange_until_met(client, server, server)
        self.assert_lanes(connection_of(server), "ring", "ring", "lane", "")

    def test_a_caller_that_is_not_preloaded(self):
        client, server = self.start(None), self.start()
        self.connect(client, server)
        # By then the called end has stopped looking.
        self.send_slowly(server, 6000)
        connection = connection_of(server)
        self.assert_lanes(connection, "tcp", "tcp", "plain", "peer-not-preloaded")
        self.assertEqual(connection["peer_pid"], client.pid)

    def test_several_processes_have_it_before_the_ends_meet(self):
        client, server = self.start("after=10"), self.start()
        self.connect(client, server)
        server.do("ends = os.pipe(); child = os.fork() or (os.close(ends[1]), os._exit(len(os.read(ends[0], 1))))")
        self.exchange(client, server)
        self.assert_lanes(connection_of(client), "tcp", "tcp", "calling", "asking")
        connection = connection_of(server)
        self.assert_lanes(connection, "tcp", "tcp", "noted", "shared")
        self.assertIn("(2 have it now)", connection["fact"])
        # Like servers that fork for each connection: the other process closes it.
        server.do("os.write(ends[1], b'x'), os.waitpid(-1, 0)")
        self.exchange_until_met(client, server, client)
        self.assert_lanes(connection_of(server), "ring", "ring", "lane", "")

    def test_a_caller_that_has_forked(self):
        client, server = self.start(), self.start("after=1000")
        self.connect(client, server)
        client.do("own.send(b'x')")
        client.do("ends = os.pipe(); child = os.fork() or (os.close(ends[1]), os._exit(len(os.read(ends[0], 1))))")
        client.do("own.send(b'x')")
        self.assert_lanes(connection_of(client), "tcp", "tcp", "plain", "shared")
        server.do("own.recv(2)")
        connection = connection_of(server)
        self.assert_lanes(connection, "tcp", "tcp", "noted", "short-lived")
        self.assertIn("; there: shared: ", connection["fact"])
        client.do("os.write(ends[1], b'x'), os.waitpid(-1, 0)")

    def test_the_other_end_has_switched_it_off(self):
        client, server = self.start(), self.start("off")
        self.connect(client, server)
        self.exchange(client, server, 2)
        connection = connection_of(client)
        self.assert_lanes(connection, "tcp", "tcp", "plain", "peer-not-preloaded")
        self.assertIn("switched off", connection["fact"])

    def test_a_file_goes_by_the_ring(self):
        client, server = self.two_ends()
        before = connection_of(client)["tcp_sent_bytes"]
        client.do("file = os.memfd_create('file'); os.truncate(file, 5000); result = os.sendfile(own.fileno(), file, 0, 5000)")
        server.do("own.recv(5000, socket.MSG_WAITALL)")
        connection = connection_of(client)
        self.assert_lanes(connection, "ring", "ring", "lane", "")
        self.assertEqual(connection["tcp_sent_bytes"], before)

    def test_a_pipe_goes_by_the_kernel(self):
        client, server = self.two_ends()
        before = connection_of(client)["tcp_sent_bytes"]
        client.do("ends = os.pipe(); os.write(ends[1], bytes(500)); libc = __import__('ctypes').CDLL(None)")
        self.assertEqual(client.do("result = libc.splice(ends[0], None, own.fileno(), None, 500, 0)"), 500)
        connection = connection_of(client)
        self.assert_lanes(connection, "tcp", "ring", "lane", "kernel-send")
        self.assertEqual((connection["tcp_sent_bytes"] - before, connection["turns"]), (500, 0))
        server.do("own.recv(500, socket.MSG_WAITALL)")
        self.exchange(client, server, 1)
        self.assert_lanes(connection_of(client), "ring", "ring", "lane", "")

    def test_bytes_that_tcp_holds_back(self):
        client, server = self.two_ends()
        client.do("own.send(bytes(100), socket.MSG_MORE)")
        self.assert_lanes(connection_of(client), "tcp", "ring", "lane", "held-back")
        client.do("own.send(bytes(100))")
        server.do("own.recv(200, socket.MSG_WAITALL)")
        self.exchange(client, server, 1)
        self.assert_lanes(connection_of(client), "ring", "ring", "lane", "")

    def test_a_standard_stream(self):
        client, server = self.two_ends()
        client.do("os.dup2(own.fileno(), 2)")
        self.assert_lanes(connection_of(client), "tcp", "ring", "lane", "standard-stream")

    def test_what_was_unread_comes_along(self):
        client, server = self.two_ends()
        server.do("own.sendall(bytes(300))")
        client.do(f"own.setsockopt(socket.SOL_SOCKET, {SO_ZEROCOPY}, 1)")
        connection = connection_of(client)
        self.assert_lanes(connection, "tcp", "carried", "plain", "option")
        self.assertEqual(connection["unread_bytes"], 300)
        self.assertEqual(client.do("result = len(own.recv(100))"), 100)
        self.assertEqual(connection_of(client)["unread_bytes"], 200)

    def test_a_full_ring(self):
        client, server = self.two_ends("after=1,ring=4k,spin=0")
        client.do("own.sendall(bytes(6000))")
        of_client, of_server = connection_of(client), connection_of(server)
        self.assert_lanes(of_client, "tcp", "ring", "lane", "ring-full")
        self.assertEqual((of_client["turns"], of_client["peer_unread_bytes"], of_server["unread_bytes"]), (1, 4096, 4096))
        self.assertIn("4 KiB", of_client["fact"])
        self.assert_lanes(of_server, "ring", "tcp", "lane", "")

    def test_an_end_that_is_shut_down(self):
        client, server = self.two_ends()
        client.do("own.shutdown(socket.SHUT_WR)")
        self.assertEqual(server.do("result = own.recv(100)"), b"")
        self.assertEqual((connection_of(client)["reason"], connection_of(server)["reason"]), ("ended", "ended"))

    def test_a_child_shares_it(self):
        client, server = self.two_ends()
        child = client.do("ends = os.pipe(); result = os.fork() or (os.close(ends[1]), os._exit(len(os.read(ends[0], 1))))")
        (of_child,) = json.loads(explain(child, "--json"))["processes"][0]["connections"]
        of_parent = connection_of(client)
        self.assertEqual(of_child, of_parent)
        self.assert_lanes(of_child, "ring", "ring", "lane", "")
        self.assertEqual(of_child["processes"], 2)
        client.do("os.write(ends[1], b'x'), os.waitpid(-1, 0)")
        self.assertEqual(connection_of(client)["processes"], 1)

    def test_one_of_another_process(self):
        client, server = self.start(), self.start()
        self.connect(client, server)
        server.do("number = os.dup(own.fileno()); os.set_inheritable(number, True)")
        code = "import sys; print(flush=True); sys.stdin.read()"
        environment = {**os.environ, "LD_PRELOAD": LIBRARY}
        server.do(f"import subprocess; child = subprocess.Popen([{sys.executable!r}, '-c', {code!r}], stdin=subprocess.PIPE, "
                  f"stdout=subprocess.PIPE, close_fds=False, env={environment!r}); child.stdout.readline()")
        pid = server.do("result = child.pid")
        (connection,) = json.loads(explain(pid, "--json"))["processes"][0]["connections"]
        self.assert_lanes(connection, "tcp", "tcp", None, "not-known")
        self.assertIsNone(connection["ring_sent_bytes"])
        server.do("child.communicate()")

    def test_text(self):
        client, server = self.two_ends()
        lines = explain(client.pid).splitlines()
        number = client.do("result = own.fileno()")
        self.assertRegex(lines[0], rf"^{client.pid} python\S*: 1 TCP connection$")
        self.assertRegex(lines[1], rf"^  {number} 127.0.0.1:\d+ > 127.0.0.1:\d+ of {server.pid} \(python\S*\): sends by ring, ")
        self.assertRegex(lines[2], r"^    sent \d+ bytes by ring and \d+ by TCP, received \d+ and \d+$")
        self.assertRegex(lines[4], r"^    unread in rings of 4 MiB: 0 here, 0 at the peer$")
        self.assertEqual(len(lines), 5)
        short = explain(self.two_ends("after=40", times=1)[1].pid)
        self.assertIn("\n    short-lived: too few calls", short)
        self.assertIn("\n    cure: ", short)


def drawing(*words):
    return xml.etree.ElementTree.fromstring(explain(*words, "--svg", "-"))


class Rectangle:
    """Of a box, or of a text whose letters are as wide as those of the widest usual font."""

    def __init__(self, element):
        self.text = "".join(element.itertext()) if element.tag.endswith("text") else ""
        x, y = float(element.get("x")), float(element.get("y"))
        width, height = (LETTER_PX * len(self.text), 14) if self.text else (float(element.get("width")), float(element.get("height")))
        self.left, self.right = x, x + width
        self.top, self.bottom = (y - 11, y + 3) if self.text else (y, y + height)

    def meets(self, other):
        return self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom

    def holds(self, other):
        return self.left <= other.left and other.right <= self.right and self.top <= other.top and other.bottom <= self.bottom


class Map(SocketsTest):
    """Who talks to whom: --map as text, --svg as a drawing."""

    def connect_to_many(self, client, count):
        """To ends that no process has, as the listener never accepts: each is a peer of its own."""
        listener = self.start(None)
        ports = listener.do(f'listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range({count})]; '
                            "result = [each.getsockname()[1] for each in listeners]")
        client.do(f'many = [socket.create_connection(("127.0.0.1", port)) for port in {ports}]')
        return ports

    def test_the_two_ends_of_a_connection_are_one_line(self):
        client, server = self.two_ends()
        lines = [line for line in explain("--map").splitlines() if str(client.pid) in line or str(server.pid) in line]
        self.assertRegex(lines[0], rf"^{client.pid} python\S*$")
        self.assertRegex(lines[1], rf"^  > {server.pid} python\S* +1 connection +> ring, bytes: \d+ ring, \d+ tcp +< ring, bytes: ")
        self.assertEqual(len(lines), 2)
        # As seen from the other end alone. Columns are as wide as those of all connections of the machine.
        seen = explain(server.pid, "--map").splitlines()
        self.assertEqual([line.split() for line in seen], [line.split() for line in lines])

    def test_alike_ones_are_one_line_and_add_up(self):
        client, server = self.two_ends("after=1000", times=1)
        port = server.do("result = listener.getsockname()[1]")
        client.do(f'other = socket.create_connection(("127.0.0.1", {port})); other.sendall(bytes(11))')
        server.do("other = listener.accept()[0]; other.recv(100)")
        lines = explain(client.pid, "--map").splitlines()
        self.assertRegex(lines[1], rf"^  > {server.pid} python\S*  2 connections +> tcp, bytes: 0 ring, 111 tcp \(short-lived\) +< tcp, ")
        self.assertRegex(lines[2], "^short-lived: too few calls of its two ends[^(]*$")
        self.assertEqual(len(lines), 3)

    def test_processes_without_a_connection(self):
        alone, plain = self.start(), self.start(None)
        self.assertRegex(explain(alone.pid, "--map"), rf"^{alone.pid} python\S*: no TCP connections\n$")
        self.assertRegex(explain(plain.pid, "--map", status=1), rf"^{plain.pid} python\S*: not-loaded: ")

    def test_a_drawing_has_the_lines_of_the_map(self):
        client, server = self.two_ends()
        texts = ["".join(element.itertext()) for element in drawing(client.pid).iter(SVG + "text")]
        self.assertEqual([text.split()[0] for text in texts[1:] if "python" in text], [str(client.pid), str(server.pid)])
        self.assertTrue(any(re.fullmatch(r"> [\d. k]+B ring, \d+ B tcp  < [\d. k]+B ring, \d+ B tcp", text) for text in texts), texts)

    def test_names_are_escaped(self):
        client = self.two_ends()[0]
        client.do("open('/proc/self/comm', 'w').write('<b>&\"\\x1b\\xe9]]>')")
        texts = ["".join(element.itertext()) for element in drawing(client.pid).iter(SVG + "text")]
        self.assertIn(f"{client.pid} <b>&\"???]]>", texts)

    def test_nothing_lies_on_another(self):
        for count in (2, 10, 50):
            with self.subTest(count):
                client = self.start()
                ports = self.connect_to_many(client, count)
                shown = drawing(client.pid)
                texts = [Rectangle(element) for element in shown.iter(SVG + "text") if element.text]
                boxes = [Rectangle(element) for element in shown.iter(SVG + "rect") if element.get("x")]
                self.assertLessEqual({f"127.0.0.1:{port}" for port in ports}, {text.text for text in texts})
                self.assertEqual(len(boxes), count + 1)
                for shapes in texts, boxes:
                    for one, other in itertools.combinations(shapes, 2):
                        self.assertFalse(one.meets(other), (vars(one), vars(other)))
                for box, text in itertools.product(boxes, texts):
                    self.assertTrue(box.holds(text) or not box.meets(text), (vars(box), vars(text)))
                whole = float(shown.get("width")), float(shown.get("height"))
                self.assertTrue(all(shape.right <= whole[0] and shape.bottom <= whole[1] for shape in texts + boxes))

    def test_a_file_that_cannot_be_written(self):
        for name, words in (("/nowhere/x.svg", "No such file"), ("/dev/full", "No space left")):
            done = subprocess.run([EXPLAIN, "--sockets", "--svg", name], capture_output=True, text=True, timeout=LIMIT_S, check=False)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, f"^exs-explain: cannot write {name}: {words}")


class Processes(SocketsTest):
    def assert_unserved(self, program, reason, **options):
        process = process_of(program, status=1, **options)
        self.assertEqual((process["served"], process["reason"], process["connections"]), (False, reason, []))
        self.assertTrue(process["fact"])

    def test_without_the_library(self):
        program = self.start(None)
        self.assert_unserved(program, "not-loaded")
        self.assertIn("not-loaded: it was started without exs-run", explain(program.pid, status=1))

    def test_switched_off(self):
        program = self.start("off")
        self.connect(program, self.start(None))
        self.assert_unserved(program, "off")

    def test_one_that_has_made_no_connection(self):
        self.assertEqual(process_of(self.start())["connections"], [])

    def test_there_is_no_such_process(self):
        program = self.start()
        program.process.kill()
        os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)
        self.assert_unserved(program, "no-process")  # it is a zombie
        program.kill()
        self.assert_unserved(program, "no-process")

    @unittest.skipIf(os.geteuid() != 0, "only root becomes another user")
    def test_of_another_user(self):
        program = self.start()
        try:
            self.assert_unserved(program, "no-permission", user=NOBODY, group=NOBODY, extra_groups=[])
        except PermissionError:
            self.skipTest("the programs lie where others may not read")
        done = subprocess.run([EXPLAIN, "--sockets"], user=NOBODY, group=NOBODY, extra_groups=[], capture_output=True, text=True,
                              timeout=LIMIT_S, check=False)
        self.assertRegex(done.stdout, r"\n\d+ processes of others were left out\n$")
        self.assertNotIn(f"{program.pid} ", done.stdout)

    def test_all_of_them(self):
        client, server = self.two_ends()
        plain, off = self.start(None), self.start("off")
        found = {process["pid"]: process for process in json.loads(explain("--json"))["processes"]}
        self.assertEqual(found[client.pid], process_of(client))
        self.assertEqual(found[server.pid], process_of(server))
        self.assertNotIn(plain.pid, found)
        self.assertEqual(found[off.pid]["reason"], "off")

    def test_it_is_watched(self):
        program = self.start()
        watching = subprocess.Popen([EXPLAIN, "--sockets", str(program.pid), "--watch"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(watching.stdout.close)
        self.addCleanup(watching.kill)
        for _ in range(2):
            self.assertTrue(watching.stdout.readline().startswith(f"{program.pid} "))
            self.assertEqual(watching.stdout.readline(), "\n")
        watching.send_signal(signal.SIGINT)
        self.assertEqual(watching.wait(LIMIT_S), 0)

    def test_bad_usage(self):
        for words in (["x"], ["0"], ["-1"], ["1x"], ["99999999999999999999"], ["1", "--timeout", "1"],
                      ["--map", "--json"], ["--map", "--svg", "-"], ["--json", "--svg", "-"]):
            with self.subTest(words):
                done = subprocess.run([EXPLAIN, "--sockets", *words], capture_output=True, timeout=LIMIT_S, check=False)
                self.assertEqual(done.returncode, 2, done)


class Memory(SocketsTest):
    """The programs' memory for the report may hold anything."""

    def test_a_look_takes_no_memory(self):
        client, _ = self.two_ends()
        blocks = client.do(f"{FAMILY}; result = os.fstat(fd).st_blocks")
        connection_of(client)
        self.assertEqual(client.do("result = os.fstat(fd).st_blocks"), blocks)

    def test_of_another_version(self):
        client, _ = self.two_ends()
        client.do(FAMILY)
        for place in 8, 12, 16, 20:  # version, layout, size and number of slots
            with self.subTest(place):
                before = client.do(f"result = os.pread(fd, 4, {place}); os.pwrite(fd, bytes(4), {place})")
                process = process_of(client, status=1)
                self.assertEqual((process["served"], process["reason"]), (False, "other-version"))
                client.do(f"os.pwrite(fd, {before!r}, {place})")
        self.assertEqual(process_of(client)["reason"], "")

    def test_that_is_none(self):
        client, _ = self.two_ends()
        client.do(f"{FAMILY}; os.pwrite(fd, b'nonsense', 0)")
        self.assertEqual(process_of(client, status=1)["reason"], "damaged")
        empty = self.start()
        empty.do("fd = os.memfd_create('exs-sockets-family')")
        self.assertEqual(process_of(empty, status=1)["reason"], "damaged")

    def test_damaged_slots(self):
        client, server = self.two_ends()
        inode = struct.pack("<Q", client.do("result = os.fstat(own.fileno()).st_ino"))
        header = 64
        contents = client.do(f"{FAMILY}; result = os.pread(fd, 16384, {header})")
        place = contents.index(inode)
        chance = random.Random(1)
        stages = set()
        for _ in range(30):
            noise = bytearray(chance.randbytes(len(contents)))
            slot = next(at for at in range(0, place, 64) if contents[at:at + 4] == struct.pack("<I", 4))
            noise[place:place + len(inode)] = inode
            noise[slot:slot + 4] = struct.pack("<I", chance.randrange(1, 7))
            client.do(f"os.pwrite(fd, {bytes(noise)!r}, {header})")
            connection = connection_of(client)
            stages.add(connection["stage"])
            self.assertIn(connection["sends_by"], ("ring", "tcp"))
            explain(client.pid)
            # The report of the other end, which has this one as its peer, stays right.
            self.assertEqual(connection_of(server)["stage"], "lane")
        self.assertGreaterEqual(stages, {"noted", "calling", "offered", "lane", "plain"})


if __name__ == "__main__":
    unittest.main()
