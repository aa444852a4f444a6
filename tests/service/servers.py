# SPDX-License-Identifier: BSD-2-Clause
"""Every daemon and server of ours as a program, and an honest client of each, for tests of all of them. EXS_TOOLS is their folder."""
import concurrent.futures
import contextlib
import functools
import os
import pathlib
import socket
import struct
import subprocess
import tempfile

BIN = pathlib.Path(os.environ["EXS_TOOLS"])
SUNRPC = os.environ.get("EXS_SUNRPC_LIBRARY")
LIMIT_S = 120
AT_A_TIME = 4  # servers: most of them wait most of the time
GREETING = b"\x00\x2c\x01\x00EXSD\x00\x01\x00\x00" + bytes(32)
FIND = b"\x00\x14\x05\x00" + bytes(16)
RECORD = 8
LISTENING = "0A"
NOBODY = b"\x00\x14\x09\x00" + bytes(16)


def run(*command, limit_s=LIMIT_S, **environment):
    return subprocess.run([BIN / command[0], *map(str, command[1:])], capture_output=True, text=True, timeout=limit_s, check=False,
                          env={**os.environ, **environment})


def descriptors_of(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def links_of(process):
    links = []
    for name in os.listdir(f"/proc/{process.pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(f"/proc/{process.pid}/fd/{name}"))
    return links


def running_threads(process):
    """Those that run, or would if they had a processor."""
    running = []
    for name in os.listdir(f"/proc/{process.pid}/task"):
        with contextlib.suppress(OSError):
            words = pathlib.Path(f"/proc/{process.pid}/task/{name}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
            if words[0] == "R":
                running.append(name)
    return running


def memory_of(process):
    return int(pathlib.Path(f"/proc/{process.pid}/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")


class Server:
    """A program that serves, until stop(). `ask(self)` is whether an honest client is served by it; `crowd` says who takes its places."""
    name = None
    crowd = "exs"
    providers = ("shm", "iwarp")
    environment = {}
    limit_s = LIMIT_S

    def __init__(self, provider, folder, descriptors=None, environment=None, output=subprocess.PIPE, errors=None, prepare=None):
        """`prepare`: what the process does before it executes the program; not beside threads."""
        self.folder = folder
        self.environment = {**self.environment, "EXS_PROVIDER": provider, "EXS_SVC_MULTICAST": "off", "EXS_LOG": "off",
                            **(environment or {})}
        self.provider = provider
        limit = [] if descriptors is None else ["prlimit", f"--nofile={descriptors}:{descriptors}", "--"]
        command = [*self.wrap(), *limit, BIN / self.name, *self.arguments()]
        with open(folder / "errors", "wb") as file:
            self.process = subprocess.Popen(command, stdout=output, stderr=errors or file, text=True, preexec_fn=prepare,
                                            env={**os.environ, **self.environment})
        self.line = self.process.stdout.readline().strip() if self.process.stdout else f"port {self.await_port()}"

    def wrap(self):
        return []

    def arguments(self):
        return []

    def starts(self):
        return bool(self.line)

    @property
    def port(self):
        return int(self.line.replace(":", " ").split()[-1])

    def await_port(self):
        """Of one that cannot say it."""
        while self.process.poll() is None:
            owned = {os.path.basename(link) for link in links_of(self.process)}
            for table in "tcp", "tcp6":
                for row in pathlib.Path(f"/proc/{self.process.pid}/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
                    words = row.split()
                    if words[3] == LISTENING and f"socket:[{words[9]}]" in owned:
                        return int(words[1].rsplit(":", 1)[1], 16)
        return 0

    def stop(self):
        self.process.kill()
        self.process.wait(LIMIT_S)
        if self.process.stdout:
            self.process.stdout.close()

    def serves(self, limit_s=LIMIT_S):
        """An honest client, that long at most."""
        self.limit_s = limit_s
        try:
            return self.ask()
        except (OSError, subprocess.TimeoutExpired):
            return False

    def client(self, *command):
        return run(*command, limit_s=self.limit_s, **self.environment)

    def told(self):
        return (self.folder / "errors").read_text(errors="replace")[-2000:]


class Directory(Server):
    name = "exs-directory"
    crowd = "tcp"
    providers = ("tcp",)

    def arguments(self):
        return ["--verbose", "--bind", "127.0.0.1", "--port", "0", "--file", str(self.folder / "file")]

    def ask(self):
        with socket.create_connection(("127.0.0.1", self.port), self.limit_s) as asking:
            asking.sendall(GREETING + FIND)
            heard = b""
            while len(heard) < len(GREETING) + len(NOBODY):
                more = asking.recv(4096)
                if not more:
                    return False
                heard += more
            return heard[len(GREETING):] == NOBODY


class FullDisk(Directory):
    """With its file on a disk of its own, which has no room."""

    def wrap(self):
        self.disk = self.folder / "disk"
        self.disk.mkdir()
        return ["unshare", "-m", "--", "sh", "-c",
                'mount -t tmpfs -o size=16k none "$0" && { dd if=/dev/zero of="$0/all" bs=1k 2>/dev/null; exec "$@"; }', str(self.disk)]

    def arguments(self):
        return ["--bind", "127.0.0.1", "--port", "0", "--file", str(self.disk / "file")]

    def make_room(self):
        os.unlink(f"/proc/{self.process.pid}/root{self.disk}/all")

    def knows(self, ident):
        with socket.create_connection(("127.0.0.1", self.port), self.limit_s) as asking:
            asking.sendall(GREETING + FIND[:4] + bytes.fromhex(ident.removeprefix("exs:")))
            asking.recv(len(GREETING), socket.MSG_WAITALL)
            return asking.recv(4, socket.MSG_WAITALL)[2] == RECORD


class Agent(Server):
    name = "exs-sockets-agent"
    crowd = "tcp"
    providers = ("tcp",)

    def arguments(self):
        return ["--verbose", "--bind", "127.0.0.1", "--port", "0"]

    def ask(self):
        def place(name):
            return bytes(10) + b"\xff\xff" + socket.inet_aton(name[0]) + struct.pack("=H", name[1])
        with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as calling, \
                socket.create_connection(("127.0.0.1", self.port), self.limit_s) as asking:
            called = listener.accept()[0]
            with called:
                asking.sendall(struct.pack("=Q", 0x3175716572737865) + place(calling.getsockname()) + place(calling.getpeername()) +
                               place(("127.0.0.1", 1)) + bytes(2) + os.urandom(16))
                answer = asking.recv(16, socket.MSG_WAITALL)
        return len(answer) == 16 and struct.unpack("=QII", answer)[1] == 1


class Ping(Server):
    name = "exs-ping"

    def arguments(self):
        return ["-s", "--bind", "127.0.0.1", "--port", "0"]

    def ask(self):
        return self.client(self.name, "127.0.0.1", "-p", self.port, "--provider", self.provider, "--count", 10).returncode == 0


class Blast(Ping):
    name = "exs-blast"


class Service(Server):
    name = "service"

    def arguments(self):
        return [str(self.folder / "key")]

    def starts(self):
        if not self.line:
            return False
        told = self.client("exs-services", self.line)
        self.line = f"{self.line} {told.stdout.split(':')[-1].strip()}"
        return True

    def ask(self):
        return self.client(self.name, self.line.split()[0], "hello").returncode == 0


class ServiceCounter(Service):
    name = "service_counter"

    def ask(self):
        return self.client(self.name, self.line.split()[0], 3).returncode == 0


class Stubs(Server):
    name = "directory_stub_server"

    def ask(self):
        return self.client("directory_stub_client", self.port).returncode == 0


class Coroutines(Stubs):
    name = "directory_coroutine_server"

    def __init__(self, provider, folder, *given, **options):
        self.behind = [Stubs(provider, folder) for _ in range(2)]
        super().__init__(provider, folder, *given, **options)

    def arguments(self):
        return [str(one.port) for one in self.behind]

    def stop(self):
        super().stop()
        for one in self.behind:
            one.stop()


class SunRpc(Server):
    name = "directory_server"
    environment = {"LD_PRELOAD": SUNRPC or ""}

    def ask(self):
        return self.client("directory_client", self.port).returncode == 0


SERVERS = {one.name: one for one in (Directory, Agent, Ping, Blast, Service, ServiceCounter, Stubs, Coroutines, SunRpc)}


def each_server(test):
    """Of all servers, some side by side."""
    def of_one(self, kind, provider):
        with contextlib.ExitStack() as stack:
            test(self, functools.partial(start, stack, kind, provider))

    def of_all(self):
        kinds = [kind for kind in SERVERS.values() if (BIN / kind.name).exists() and (kind is not SunRpc or SUNRPC)]
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            tests = {(kind, provider): pool.submit(of_one, self, kind, provider) for kind in kinds for provider in kind.providers}
        for (kind, provider), one in tests.items():
            with self.subTest(server=kind.name, provider=provider):
                one.result()
    return of_all


def start(stack, kind, provider, *given, **options):
    server = kind(provider, pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory())), *given, **options)
    stack.callback(server.stop)
    return server
