"""A peer that speaks the layer's protocol by hand, to break it: names, card, offer and segment of sockets/preload/."""
import array
import contextlib
import ctypes
import fcntl
import mmap
import os
import random
import socket
import struct
import time

MAGIC = 0x31306B636F737865
OFFER = struct.pack("=Q", 0x31726566666F7865)
HEADER = 4096
CAPACITY = 4096
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
OFFERED, JOINED = 0, 1
NO_TURN = (1 << 64) - 1
ARMED, DETACHED, BELL_OWED = 1, 2, 8
LIMIT_S = 10
# Of sockets/preload/segment.h and sockets/lane/direction.h.
MEETING, BELL = 16, 20
FROM_CALLED, FROM_CALLER = 64, 256
WORDS = {"written": (0, "Q"), "start": (8, "Q"), "mark": (16, "Q"), "turn": (24, "Q"), "epoch": (32, "I"), "final": (36, "I"),
         "put_ns": (48, "Q"),
         "consumed": (64, "Q"), "passed": (72, "I"), "ready": (76, "I"), "closed": (80, "I"), "sleep": (128, "I"), "claim": (132, "I")}
SENDERS = ("written", "start", "mark", "turn", "epoch", "final", "put_ns", "sleep", "claim")
RECEIVERS = ("consumed", "passed", "ready", "closed", "sleep", "claim")

COMPARE_EXCHANGE = ctypes.CDLL("libatomic.so.1").__atomic_compare_exchange_4
COMPARE_EXCHANGE.restype = ctypes.c_bool
SEQ_CST = 5


def part(name):
    host, port = name[:2]
    packed = b"\0" * 10 + b"\xff\xff" + socket.inet_aton(host) if ":" not in host else socket.inet_pton(socket.AF_INET6, host)
    return f"{packed.hex()}.{port}"


def card_name(caller, called):
    return f"\0exs-sock/1/{part(caller)}-{part(called)}"


def mark_name(port):
    return f"\0exs-sock/1/L/{port}"


def memory_file(capacity=CAPACITY, size=None, magic=MAGIC, told=None, seals=SEALS):
    number = os.memfd_create("hostile", os.MFD_ALLOW_SEALING)
    os.ftruncate(number, HEADER + 2 * capacity if size is None else size)
    os.pwrite(number, struct.pack("=QQII", magic, capacity if told is None else told, OFFERED, 7), 0)
    for direction in FROM_CALLED, FROM_CALLER:
        os.pwrite(number, struct.pack("=Q", NO_TURN), direction + WORDS["turn"][0])
        os.pwrite(number, struct.pack("=I", ARMED), direction + WORDS["sleep"][0])
    if seals:
        fcntl.fcntl(number, fcntl.F_ADD_SEALS, seals)
    return number


class Segment:
    """The words that the two ends share, of which the hostile end is the caller or the called one."""

    def __init__(self, number, is_caller):
        self.memory = mmap.mmap(number, os.fstat(number).st_size)
        self.capacity = (len(self.memory) - HEADER) // 2
        self.outgoing, self.incoming = (FROM_CALLER, FROM_CALLED) if is_caller else (FROM_CALLED, FROM_CALLER)
        self.ring = HEADER + (self.capacity if is_caller else 0)

    def set(self, direction, word, value):
        offset, kind = WORDS[word]
        struct.pack_into("=" + kind, self.memory, direction + offset, value & ((1 << 64) - 1 if kind == "Q" else (1 << 32) - 1))

    def get(self, direction, word):
        offset, kind = WORDS[word]
        return struct.unpack_from("=" + kind, self.memory, direction + offset)[0]

    def set_meeting(self, value):
        struct.pack_into("=I", self.memory, MEETING, value)

    def owe_bell(self):
        """Whether the victim wants a bell. It counts those that are owed to it, so this has to be one step."""
        word = ctypes.c_uint32.from_buffer(self.memory, self.outgoing + WORDS["sleep"][0])
        seen = ctypes.c_uint32(word.value)
        while seen.value & ARMED:
            owed = ctypes.c_uint32(seen.value - ARMED + BELL_OWED)
            if COMPARE_EXCHANGE(ctypes.byref(word), ctypes.byref(seen), owed, SEQ_CST, SEQ_CST):
                return True
        return False

    @property
    def bell(self):
        return struct.unpack_from("=I", self.memory, BELL)[0] & 0xFF

    def begin_stretch(self, mark):
        self.set(self.outgoing, "mark", mark)
        self.set(self.outgoing, "turn", NO_TURN)
        self.set(self.outgoing, "epoch", self.get(self.outgoing, "epoch") + 1)

    def put(self, data):
        """Bytes for the victim's program; the ring is empty."""
        written = self.get(self.outgoing, "written")
        self.set(self.outgoing, "start", written)
        self.memory[self.ring:self.ring + len(data)] = data
        self.set(self.outgoing, "written", written + len(data))

    def scribble(self, seconds, dice):
        """Wrong values everywhere, as fast as it goes."""
        end = time.monotonic() + seconds
        near = [0, 1, 2, 3, self.capacity, self.capacity + 1, NO_TURN]
        while time.monotonic() < end:
            for _ in range(200):
                direction = dice.choice((self.outgoing, self.incoming))
                word = dice.choice(tuple(WORDS))
                base = self.get(direction, dice.choice(("written", "consumed", "epoch", "passed", "mark")))
                value = dice.choice((dice.getrandbits(64), base + dice.choice(near), base - dice.choice(near), dice.choice(near)))
                self.set(direction, word, value)
            self.memory[HEADER:] = bytes(len(self.memory) - HEADER)


class Connection:
    """A TCP connection to a victim, and the meeting beside it."""

    def __init__(self, tcp, is_caller):
        self.tcp, self.is_caller = tcp, is_caller
        self.sent = 0
        tcp.settimeout(LIMIT_S)
        own, peer = tcp.getsockname(), tcp.getpeername()
        self.card_name = card_name(own, peer) if is_caller else card_name(peer, own)
        self.card = None
        if is_caller:
            self.card = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.card.settimeout(LIMIT_S)
            self.card.bind(self.card_name)
            self.card.listen(1)

    def send(self, data):
        self.tcp.sendall(data)
        self.sent += len(data)

    def echo(self):
        """A call or two of the victim."""
        self.send(b"e")
        answer = self.tcp.recv(1)
        if answer != b"e":
            raise AssertionError(f"an echo of {answer}")

    def guest(self):
        """A Unix socket at the victim's card."""
        for _ in range(50):
            guest = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            try:
                guest.connect(self.card_name)
                return guest
            except ConnectionRefusedError:
                guest.close()
                self.echo()
        raise AssertionError("the victim leaves no card")

    def offer(self, numbers, messages=(OFFER,)):
        """Of the called end."""
        guest = self.guest()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", numbers))] if numbers else []
        for message in messages:
            with contextlib.suppress(BrokenPipeError):  # the victim has read one message, which was enough
                guest.sendmsg([message], rights)
            rights = []
        return guest

    def meet(self, number=None):
        """An honest meeting; the segment."""
        if self.is_caller:
            self.echo()
            guest, _ = self.card.accept()
            _, rights, _, _ = guest.recvmsg(64, socket.CMSG_SPACE(4))
            number = array.array("i", rights[0][2])[0]
            segment = Segment(number, True)
            segment.set_meeting(JOINED)
            os.close(number)
            guest.close()
            self.echo()
            return segment
        number = memory_file() if number is None else number
        segment = Segment(number, False)
        guest = self.offer([number])
        os.close(number)
        for _ in range(50):
            self.echo()
            if struct.unpack_from("=I", segment.memory, MEETING)[0] == JOINED:
                guest.close()
                return segment
        raise AssertionError("the victim does not join")

    def close(self):
        if self.card is not None:
            self.card.close()
        self.tcp.close()


def dice(seed):
    return random.Random(seed)
