# SPDX-License-Identifier: BSD-2-Clause
"""Programs with libexs_sockets.so against a peer that breaks the layer's protocol on purpose. Each connection must end
in time, as one of TCP may, and leave nothing behind. EXS_SOCKETS_LIBRARY is the library; EXS_LONG_SECONDS lengthens the
scribbling."""
import array
import contextlib
import fcntl
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

import peer
from peer import ARMED, CAPACITY, DETACHED, RECEIVERS, SENDERS, Connection, Segment, memory_file

LIBRARY = os.environ["EXS_SOCKETS_LIBRARY"]
LONG_S = float(os.environ.get("EXS_LONG_SECONDS", "0"))
FOLDER = pathlib.Path(__file__).parent
WORDS = "after=1,ring=4k"
ENDS = ("Connection reset by peer", "Broken pipe")
END_OF_SHUTDOWN = "Transport endpoint is not connected"  # after sends into TCP's buffer, where plain TCP mostly reports it
ROLES = ("listen", "connect")
LIMIT_S = 60
END_LIMIT_S = 30  # only a hang takes this long, even on a busy machine


class Victim:
    """A run of victim.py, with its output."""

    def __init__(self, role, *options, words=WORDS, prefix=(), errors=None, **environment):
        self.role = role
        self.log_file = tempfile.TemporaryFile()
        self.listener = self.mark = None
        command = [sys.executable, str(FOLDER / "victim.py"), role]
        if role == "connect":
            self.listener = socket.create_server(("127.0.0.1", 0), backlog=16)
            self.listener.settimeout(LIMIT_S)
            port = self.listener.getsockname()[1]
            self.mark = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.mark.bind(peer.mark_name(port))
            command.append(str(port))
        layer = {"LD_PRELOAD": LIBRARY, "EXS_SOCKETS": words, "EXS_EXPLAIN": "yes", "EXS_SOCKETS_CONF": "/dev/null",
                 **environment}
        self.process = subprocess.Popen([*prefix, "/usr/bin/env", *(f"{name}={value}" for name, value in layer.items()),
                                         *command, *options], stdout=subprocess.PIPE,
                                        stderr=self.log_file if errors is None else errors, text=True)
        self.watch = threading.Timer(3 * LIMIT_S + LONG_S, self.process.kill)
        self.watch.start()
        self.port = int(self.process.stdout.readline()) if role == "listen" else 0

    def connection(self):
        if self.role == "listen":
            return Connection(socket.create_connection(("127.0.0.1", self.port), LIMIT_S), True)
        return Connection(self.listener.accept()[0], False)

    def plain(self):
        """Connects without a card."""
        return socket.create_connection(("127.0.0.1", self.port), LIMIT_S)

    def line(self):
        text = self.process.stdout.readline()
        if not text:
            raise AssertionError(f"the victim has ended with {self.process.wait()}: {self.log()}")
        return json.loads(text)

    def log(self):
        self.log_file.seek(0)
        return self.log_file.read().decode(errors="replace")[-4000:]

    def end(self):
        connection = self.connection()
        connection.send(b"q")
        connection.close()
        last = self.line()
        status = self.process.wait(LIMIT_S)
        return status, last

    def close(self):
        self.watch.cancel()
        self.process.kill()
        self.process.wait()
        for what in self.process.stdout, self.log_file, self.listener, self.mark:
            if what is not None:
                what.close()


class HostileTest(unittest.TestCase):
    def victim(self, role, *options, **environment):
        victim = Victim(role, *options, **environment)
        self.addCleanup(victim.close)
        return victim

    def expect_end(self, victim, what=""):
        """Returns the result of a connection, which must have ended in time as TCP may."""
        line = victim.line()
        self.assertLess(line["took"], END_LIMIT_S, what)
        if not isinstance(line["result"], int):
            self.assertIn(line["result"], (*ENDS, END_OF_SHUTDOWN, "end"), what)
        return line["result"]

    def expect_nothing_left(self, victim, kept=0):
        status, last = victim.end()
        self.assertEqual(status, 0, victim.log())
        self.assertLessEqual(last["numbers"], kept, "descriptors")

    def ring(self, connection, segment):
        """Rings the bell for bytes in the ring, if it is owed."""
        if segment.owe_bell():
            connection.send(bytes([segment.bell]))


class Lines(HostileTest):
    """The layer writes two lines for each broken connection, on a standard error with little room."""
    CONNECTIONS = 100

    def play(self, break_pipe):
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        victim = self.victim("listen", "sigpipe", errors=writer)
        os.close(writer)
        if break_pipe:
            os.close(reader)
        for _ in range(self.CONNECTIONS):
            connection = victim.connection()
            segment = connection.meet()
            segment.set(segment.incoming, "ready", 1)
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.send(b"r")
                segment.begin_stretch(connection.sent)
                segment.put(b"x")
                segment.set(segment.outgoing, "written", 1 << 63)
                self.ring(connection, segment)
            connection.close()
            self.expect_end(victim)
        self.expect_nothing_left(victim)
        if break_pipe:
            return b""
        with open(reader, "rb") as said:
            return said.read()

    def test_nobody_reads_them(self):
        self.assertLessEqual(self.play(False).count(b" is reset: "), 16)  # eight in ten seconds

    def test_their_reader_is_gone(self):
        self.play(True)


class HostileWords(HostileTest):
    VALUES = (0, 2, CAPACITY + 1, 1 << 63, (1 << 64) - 1)

    def break_sending(self, victim, how, word, value, warm):
        connection = victim.connection()
        segment = connection.meet()
        segment.set(segment.incoming, "ready", 1)
        with contextlib.suppress(*(BrokenPipeError, ConnectionResetError)):
            connection.send(how)
            if warm:
                segment.begin_stretch(connection.sent)
                segment.put(b"x" * 100)
                self.ring(connection, segment)
            segment.set(segment.outgoing, word, value)
            connection.send(b"more")
        connection.close()
        self.expect_end(victim, what=f"{how} {word}={value:#x} {warm}")

    def break_receiving(self, victim, word, value, warm):
        connection = victim.connection()
        segment = connection.meet()
        if not warm:
            segment.set(segment.incoming, word, value)
        segment.set(segment.incoming, "ready", 1)
        connection.send(b"s")
        if warm:
            segment.set(segment.incoming, word, value)
        connection.close()
        self.expect_end(victim, what=f"{word}={value:#x} {warm}")

    def test_each_word_with_each_wrong_value(self):
        for role in ROLES:
            with self.subTest(role):
                victim = self.victim(role)
                for value in self.VALUES:
                    for warm in False, True:
                        for word in SENDERS:
                            for how in b"r", b"p":
                                self.break_sending(victim, how, word, value, warm)
                        for word in RECEIVERS:
                            self.break_receiving(victim, word, value, warm)
                self.expect_nothing_left(victim)

    def test_scribbling_over_all_of_it(self):
        for role in ROLES:
            with self.subTest(role):
                victim = self.victim(role)
                for turn in range(4 + int(4 * LONG_S)):
                    connection = victim.connection()
                    segment = connection.meet()
                    segment.set(segment.incoming, "ready", 1)
                    with contextlib.suppress(OSError):
                        connection.send((b"r", b"p", b"s", b"k")[turn % 4])
                        segment.begin_stretch(connection.sent)
                        segment.scribble(0.1, peer.dice(turn))
                        connection.tcp.setblocking(False)
                        connection.send(b"more")
                    connection.close()
                    self.expect_end(victim, what=f"turn {turn}")
                self.expect_nothing_left(victim)

    def test_a_byte_that_is_no_bell_does_not_keep_it_readable(self):
        for bell in True, False:
            with self.subTest(value_of_a_bell=bell):
                victim = self.victim("listen")
                connection = victim.connection()
                segment = connection.meet()
                connection.send(b"p")
                segment.begin_stretch(connection.sent)
                segment.put(b"x" * 10)
                self.ring(connection, segment)
                while segment.get(segment.outgoing, "consumed") < 10:
                    pass
                connection.send(bytes([segment.bell if bell else segment.bell ^ 1]) * 3)
                self.assertIn(self.expect_end(victim), ENDS)
                connection.close()
                self.expect_nothing_left(victim)

    def test_what_was_told_is_not_taken_back(self):
        """A poll reports bytes, and then they are gone. A program that trusts poll would wait for ever."""
        victim = self.victim("listen", words="after=1,ring=4k,spin=1ms")
        connection = victim.connection()
        segment = connection.meet()
        connection.send(b"p")
        segment.begin_stretch(connection.sent)
        segment.put(b"x" * 10)
        self.ring(connection, segment)
        with contextlib.suppress(OSError):
            for count in range(10, 3000):  # one byte more, when the victim looks
                end = peer.time.monotonic() + 0.0004
                while peer.time.monotonic() < end:
                    segment.set(segment.outgoing, "written", count + 1)
                    segment.set(segment.outgoing, "written", count)
                if segment.get(segment.outgoing, "sleep") & ARMED:
                    segment.put(b"x")
                    self.ring(connection, segment)
                connection.tcp.send(b"", socket.MSG_DONTWAIT)
        connection.close()
        self.assertIn(self.expect_end(victim), ENDS)
        self.expect_nothing_left(victim)

    def test_a_sender_does_not_believe_what_was_read(self):
        """The peer leaves the ring and claims to have read more than was written. The connection must be reset, without
        an errno that TCP does not have."""
        for claim in 0, 2, 77:
            victim = self.victim("listen")
            connection = victim.connection()
            segment = connection.meet()
            segment.set(segment.incoming, "ready", 1)
            segment.set(segment.incoming, "claim", claim)
            connection.send(b"s")
            while segment.get(segment.incoming, "written") == 0:
                pass
            segment.set(segment.incoming, "consumed", 1 << 40)
            segment.set(segment.incoming, "sleep", DETACHED)
            segment.set(segment.incoming, "passed", segment.get(segment.incoming, "epoch"))
            with contextlib.suppress(OSError):
                while connection.tcp.recv(1 << 20):
                    pass
            connection.close()
            self.expect_end(victim)
            self.expect_nothing_left(victim)

    def test_a_connection_of_the_same_number_gets_its_own_bytes(self):
        victim = self.victim("connect")
        honest = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(honest.close)
        connection = victim.connection()
        segment = connection.meet()
        connection.send(b"a%d\n" % honest.getsockname()[1])
        segment.begin_stretch(connection.sent)
        segment.set(segment.outgoing, "written", 1 << 40)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the victim may have looked before it is rung
            self.ring(connection, segment)
        other, _ = honest.accept()
        segment.set(segment.outgoing, "written", 0)
        segment.set(segment.outgoing, "epoch", 1)
        segment.put(b"stolen " * 10)
        other.sendall(b"honest")
        other.close()
        self.assertEqual(victim.line()["result"], "honest")
        connection.close()
        self.expect_nothing_left(victim)


class HostileMeetings(HostileTest):
    def goes_on(self, victim, connection, kept=0):
        """The connection continues by TCP."""
        for _ in range(70):
            connection.echo()
        connection.close()
        line = victim.line()
        self.assertEqual(line["result"], "end")
        self.assertLessEqual(line["numbers"], kept, "descriptors")

    def offers(self):
        pipe = os.pipe()
        zero = os.open("/dev/zero", os.O_RDWR)
        yield "twenty descriptors", [memory_file() for _ in range(20)], (peer.OFFER,), 0
        yield "two descriptors", [memory_file() for _ in range(2)], (peer.OFFER,), 0
        yield "too small", [memory_file(size=HALF)], (peer.OFFER,), 0
        yield "no header", [memory_file(size=100)], (peer.OFFER,), 0
        yield "empty", [os.memfd_create("hostile", os.MFD_ALLOW_SEALING)], (peer.OFFER,), 0
        yield "not sealed", [memory_file(seals=0)], (peer.OFFER,), 0
        yield "may shrink", [memory_file(seals=peer.fcntl.F_SEAL_GROW)], (peer.OFFER,), 0
        yield "cannot be written", [memory_file(seals=peer.SEALS | peer.fcntl.F_SEAL_WRITE)], (peer.OFFER,), 0
        yield "no power of two", [memory_file(capacity=3 * 4096)], (peer.OFFER,), 0
        yield "odd", [memory_file(size=HALF * 2 + 1)], (peer.OFFER,), 0
        yield "huge", [memory_file(capacity=64 << 20)], (peer.OFFER,), 0
        yield "wrong magic", [memory_file(magic=1)], (peer.OFFER,), 0
        yield "wrong capacity", [memory_file(told=1 << 40)], (peer.OFFER,), 0
        yield "nothing", [], (peer.OFFER,), 0
        yield "wrong offer", [memory_file()], (b"\0" * 8,), 0
        yield "two messages", [memory_file()], (peer.OFFER[:4], peer.OFFER[4:]), 0
        yield "no bytes", [memory_file()], (b"",), 0
        yield "a long message", [memory_file()], (peer.OFFER * 100,), 0
        # Other files than memory files stay open, because their close could take long.
        yield "a pipe", [pipe[0]], (peer.OFFER,), 1
        yield "a device", [zero], (peer.OFFER,), 1

    def test_offers_that_are_none(self):
        victim = self.victim("connect")
        victim.connection().close()  # afterwards the victim has counted its descriptors
        victim.line()
        kept = 0
        for name, numbers, messages, more in self.offers():
            with self.subTest(name):
                connection = victim.connection()
                guest = connection.offer(numbers, messages)
                for number in numbers:
                    os.close(number)
                kept += more
                self.goes_on(victim, connection, kept)
                guest.close()
        self.expect_nothing_left(victim, kept)

    def test_offers_that_nobody_takes(self):
        """The program closes the connection before it sees the offer. Nothing may be kept, however often this happens."""
        victim = self.victim("connect")
        for _ in range(40):
            connection = victim.connection()
            connection.echo()
            number = memory_file()
            with contextlib.suppress(OSError), connection.guest() as guest:
                guest.sendmsg([peer.OFFER], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [number]))])
            connection.close()
            os.close(number)
            self.expect_end(victim)
        self.expect_nothing_left(victim)

    def test_who_never_answers(self):
        victim = self.victim("listen")
        victim.plain().close()
        victim.line()
        for name in "never accepts", "accepts and is silent", "accepts and goes", "writes garbage", "joins too late":
            with self.subTest(name):
                connection = victim.connection()
                connection.echo()
                guest = None
                if name != "never accepts":
                    guest, _ = connection.card.accept()
                    _, rights, _, _ = guest.recvmsg(64, socket.CMSG_SPACE(4))
                    number = array.array("i", rights[0][2])[0]
                    with self.assertRaises(PermissionError):
                        os.ftruncate(number, 0)  # the file is sealed
                    segment = Segment(number, True)
                    os.close(number)
                if name == "accepts and goes":
                    guest.close()
                if name == "writes garbage":
                    segment.set_meeting(77)
                for _ in range(70):
                    connection.echo()
                if name == "joins too late":
                    peer.time.sleep(5.1)  # the time limit for a peer, for any number of calls
                for _ in range(3):
                    connection.echo()
                if name == "joins too late":
                    segment.set_meeting(peer.JOINED)
                    segment.set(segment.incoming, "ready", 1)
                self.goes_on(victim, connection)
                if guest is not None:
                    guest.close()

    def test_who_takes_the_names(self):
        victim = self.victim("connect", words="after=10,ring=4k")
        connection = victim.connection()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as squatter:
            squatter.bind(connection.card_name)
            squatter.listen(8)
            squatter.setblocking(False)
            for _ in range(70):
                connection.echo()
            with self.assertRaises(BlockingIOError):
                squatter.accept()
        self.goes_on(victim, connection)
        with self.assertRaises(OSError):  # the mark accepts no messages
            victim = self.victim("listen")
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
                stranger.connect(peer.mark_name(victim.port))
                stranger.send(b"x")

    def lingering(self):
        """Returns a socket whose last close takes twenty seconds."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            sender = socket.create_connection(listener.getsockname())
            silent, _ = listener.accept()
        self.addCleanup(silent.close)
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 20))
        sender.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                sender.send(b"x" * 100_000)
        return sender

    def leave(self, guest, message):
        """Sends the last descriptor of a lingering socket in a message."""
        sender = self.lingering()
        try:
            guest.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [sender.fileno()]))])
        except OSError:  # the victim has already closed the guest, so this side closes the socket
            sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("=ii", 1, 0))
        os.close(sender.detach())

    def test_what_strangers_leave_delays_nobody(self):
        for message in peer.OFFER, b"", b"other":
            victim = self.victim("connect")
            for guests in 1, 2:
                connection = victim.connection()
                for _ in range(guests):  # the second waits behind the first
                    with contextlib.suppress(AssertionError), connection.guest() as guest:
                        self.leave(guest, message)
                for _ in range(3):
                    connection.echo()
                connection.close()
                self.expect_end(victim, message)
            self.expect_nothing_left(victim, kept=6)  # each guest and what it left

    def test_strangers_take_no_more_than_sixteen_descriptors(self):
        victim = self.victim("connect")
        for _ in range(20):
            connection = victim.connection()
            with contextlib.suppress(AssertionError):  # the victim leaves no more cards
                zero = os.open("/dev/zero", os.O_RDWR)
                connection.offer([zero]).close()
                for _ in range(3):
                    connection.echo()
            os.close(zero)
            connection.close()
            self.expect_end(victim)
        self.expect_nothing_left(victim, kept=16)
        self.assertIn("strangers send descriptors", victim.log())


HALF = peer.HEADER

if __name__ == "__main__":
    unittest.main()
