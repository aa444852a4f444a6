# SPDX-License-Identifier: BSD-2-Clause
"""Programs without knowledge of exs, with a lane between hosts. Both ends run on one host that counts as two
(local=off). In the rig their bytes go by an RDMA device (EXS_TEST_ADDRESS). Elsewhere they go by exs over TCP, which
tests everything except the device. EXS_SOCKETS_LIBRARY and EXS_SOCKETS_AGENT are the library and exs-sockets-agent."""
import contextlib
import ctypes
import fcntl
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "servers"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from full_pipe import full_pipe  # noqa: E402
from servers import LIBRARY, LIMIT_S, ServerTest, free_port, ring_bytes  # noqa: E402
from test_ftp import CONFIGURATION  # noqa: E402

AGENT = os.environ["EXS_SOCKETS_AGENT"]
ADDRESS = os.environ.get("EXS_TEST_ADDRESS", "127.0.0.1")
PATH = "rdma" if "EXS_TEST_ADDRESS" in os.environ else "any"
PEER = str(pathlib.Path(__file__).with_name("peer.py"))
BETWEEN = "by RDMA to another host"
ROUNDS = 4 + int(os.environ.get("EXS_LONG_SECONDS", "0")) // 4
# Short rings and forced turns change the lane often.
WORDS = {"default": "on", "short": "ring=4k", "turning": "turn=3000"}


def await_state(pid, state):
    end = time.monotonic() + LIMIT_S
    while pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] != state:
        if time.monotonic() > end:
            raise TimeoutError(f"a process does not get into state {state}")


def copy_of(process, number):
    """Copies a child's socket. The connection lives as long as the copy."""
    pidfd_getfd = 438
    with open(os.pidfd_open(process.pid), "rb") as one:
        copy = ctypes.CDLL(None, use_errno=True).syscall(pidfd_getfd, one.fileno(), int(number), 0)
    if copy < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")
    return socket.socket(fileno=copy)


def await_unread(connection):
    end = time.monotonic() + LIMIT_S
    while struct.unpack("i", fcntl.ioctl(connection, termios.FIONREAD, bytes(4)))[0] == 0:
        if time.monotonic() > end:
            raise TimeoutError("no byte comes by TCP")


@contextlib.contextmanager
def held_up(process, call):
    """Delays each such call of the process by seconds."""
    command = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", f"inject={call}:delay_enter=2s", "-p", str(process.pid)]
    with subprocess.Popen(command) as tracer:
        try:
            end = time.monotonic() + LIMIT_S
            while not all(f"TracerPid:\t{tracer.pid}\n" in (thread / "status").read_text(encoding="ascii")
                          for thread in pathlib.Path(f"/proc/{process.pid}/task").iterdir()):
                if time.monotonic() > end or tracer.poll() is not None:
                    raise TimeoutError("strace does not attach")
            yield
        finally:
            tracer.terminate()


class BetweenTest(ServerTest):
    def setUp(self):
        self.start_agent()
        self.addCleanup(self.end_agent)

    def start_agent(self, *options, errors=subprocess.DEVNULL):
        self.agent = subprocess.Popen([AGENT, "--port", "0", *options], stdout=subprocess.PIPE, stderr=errors)
        self.agent_port = int(self.agent.stdout.readline().split()[1])

    def end_agent(self):
        self.agent.kill()
        self.agent.wait()
        self.agent.stdout.close()

    def layer(self, words="on", maps="/memfd:exs-sockets (deleted)"):
        return {"LD_PRELOAD": LIBRARY, "EXS_EXPLAIN": "yes", "EXS_TEST_MAPS": maps,
                "EXS_SOCKETS": f"after=1,local=off,between=on,path={PATH},agent={self.agent_port},{words}"}

    def play_peer(self, name, environment, during=None, seed=0):
        """Returns the output of both sides, their exit statuses, and their lines about the connection."""
        everything = {**os.environ, **environment, "EXS_TEST_SEED": str(seed)}
        # Unbuffered, so that communicate() still gets the bytes behind a line that was read here.
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "env": everything, "bufsize": 0}
        with subprocess.Popen([sys.executable, PEER, name, "called", ADDRESS, "0"], **pipes) as called:
            self.addCleanup(called.kill)
            port = called.stdout.readline().decode().strip()
            with subprocess.Popen([sys.executable, PEER, name, "calling", ADDRESS, port], **pipes) as calling:
                self.addCleanup(calling.kill)
                if during is not None:
                    during(calling, called)
                told, log = calling.communicate(timeout=LIMIT_S * 2)
            told_by_called, log_of_called = called.communicate(timeout=LIMIT_S)
        logs = (log + log_of_called).decode(errors="replace")
        return (told, calling.returncode, told_by_called, called.returncode), logs

    def assert_went_between(self, logs):
        self.assertIn(BETWEEN, logs, logs[-3000:])
        self.assertGreater(ring_bytes(logs), 0, logs[-3000:])
        self.assertNotIn("is reset", logs)


class Peers(BetweenTest):
    def compare_peers(self, name, words, during=None, seed=0):
        expected, _ = self.play_peer(name, {}, during, seed)
        self.assertEqual(expected[1], 0)
        found, logs = self.play_peer(name, self.layer(words), during, seed)
        self.assertEqual(found, expected, logs[-3000:])
        self.assert_went_between(logs)

    def test_transfers(self):
        for name, words in WORDS.items():
            with self.subTest(layer=name):
                self.compare_peers("transfers", words)

    def test_agent_whose_lines_nobody_reads(self):
        self.end_agent()
        self.start_agent("--verbose", errors=self.enterContext(full_pipe()))
        for _ in range(3):
            self.compare_peers("fork", "on")

    def test_fork(self):
        self.compare_peers("fork", "on")

    def test_exec(self):
        self.compare_peers("exec", "on")

    def test_descriptor_is_passed(self):
        self.compare_peers("pass", "on")

    def test_peer_is_killed(self):
        self.compare_peers("idle", "on")

    def test_peer_is_killed_while_bytes_are_under_way(self):
        for seed in range(ROUNDS):
            for name in "source", "sink":
                with self.subTest(play=name, seed=seed):
                    expected, _ = self.play_peer(name, {}, seed=seed)
                    self.assertEqual(expected[1], 0)
                    for _ in range(3):  # on a busy machine the ends may miss each other; TCP gives the same results
                        found, logs = self.play_peer(name, self.layer(("on", "ring=4k")[seed % 2]), seed=seed)
                        self.assertEqual(found, expected, logs[-3000:])
                        if BETWEEN in logs:
                            break
                    self.assertIn(BETWEEN, logs)

    @unittest.skipUnless(shutil.which("strace"), "there is no strace, which holds up a call")
    @unittest.skipUnless(pathlib.Path("/proc/self/syscall").exists(), "the kernel does not tell what a thread is at")
    def test_calls_while_the_connection_is_reset(self):
        """Some steps lie between the lane's end and TCP's. In them, an unread bell must not become a byte of the
        program, and nothing may be sent."""
        def play(calling, called):
            self.assertEqual(calling.stdout.readline(), b"met\n")
            with copy_of(called, called.stdout.readline()) as peers, copy_of(calling, calling.stdout.readline()) as own, \
                    held_up(calling, "connect"):
                await_unread(own)
                called.kill()  # its TCP connection lives, so bytes may be lost
                told.extend(calling.stdout.readline() for _ in range(2))
                peers.setblocking(False)
                with contextlib.suppress(ConnectionResetError, BlockingIOError):
                    while part := peers.recv(64):
                        sent.extend(part)
        for seed, expected in enumerate(([b"reset\n", b"reset\n"], [b"reset\n", b"b''\n"])):
            with self.subTest(first=("receive", "send")[seed]):
                told, sent = [], bytearray()
                _, logs = self.play_peer("reset", self.layer("spin=0"), play, seed)
                self.assertEqual(told, expected, logs[-3000:])
                self.assertNotIn(b"more", sent)
                self.assertIn("is reset: the path between the hosts broke", logs)

    def test_peer_is_stopped_for_a_while(self):
        def go_on(calling, called):
            await_state(called.pid, "T")
            await_state(calling.pid, "S")  # its bytes lie where nothing takes them
            called.send_signal(signal.SIGCONT)
        for seed in range(2):
            with self.subTest(seed=seed):
                self.compare_peers("stop", ("on", "ring=4k")[seed], go_on, seed)

    def test_agent_is_killed_at_any_moment(self):
        """The kill comes at a random moment of a whole play; each round has a new agent."""
        expected, _ = self.play_peer("transfers", {})
        began = time.monotonic()
        self.play_peer("transfers", self.layer(maps=""))
        whole = time.monotonic() - began
        choice = random.Random(3)
        for _ in range(ROUNDS):
            delay = choice.uniform(0, whole)
            with self.subTest(delay=delay):
                timer = threading.Timer(delay, self.agent.kill)
                found, logs = self.play_peer("transfers", self.layer(maps=""), lambda *_, timer=timer: timer.start())
                timer.join()
                self.assertEqual(found, expected, logs[-3000:])
                self.assertNotIn("is reset", logs)
            self.end_agent()
            self.start_agent()

    def test_agent_is_killed_after_the_ends_met(self):
        def kill(calling, _):
            self.assertEqual(calling.stdout.readline(), b"met\n")
            self.agent.send_signal(signal.SIGKILL)
        expected, _ = self.play_peer("transfers", {}, lambda calling, _: calling.stdout.readline())
        found, logs = self.play_peer("transfers", self.layer(), kill)
        self.assertEqual(found, expected, logs[-3000:])
        self.assert_went_between(logs)

    def test_agent_is_killed_while_they_meet(self):
        expected, _ = self.play_peer("transfers", {})
        found, logs = self.play_peer("transfers", self.layer(maps=""), lambda *_: self.agent.send_signal(signal.SIGKILL))
        self.assertEqual(found, expected, logs[-3000:])
        self.assertNotIn("is reset", logs)

    def test_no_agent(self):
        self.end_agent()
        expected, _ = self.play_peer("fork", {})
        found, logs = self.play_peer("fork", self.layer(maps="libexs.so"))
        self.assertEqual(found, expected, logs[-3000:])
        self.assertIn("no agent answers on the peer's host", logs)


class Agent(BetweenTest):
    def ask(self, request):
        with socket.create_connection((ADDRESS, self.agent_port), LIMIT_S) as connection:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            while part := connection.recv(64):
                answer += part
        return answer

    def request(self, caller, called, magic=b"exsrequ1"):
        def place(address, port):
            return b"\0" * 10 + b"\xff\xff" + socket.inet_aton(address) + struct.pack("<H", port)
        return magic + place(*caller) + place(*called) + place(*caller) + b"\0\0" + bytes(16)

    def verdict(self, request):
        answer = self.ask(request)
        self.assertEqual(answer[:8], b"exsrequ1")
        return struct.unpack("<I", answer[8:12])[0]

    @unittest.skipIf(":" in ADDRESS, "of IPv4")
    def test_answers(self):
        with socket.socket() as listener:
            listener.bind((ADDRESS, 0))
            listener.listen()
            called = listener.getsockname()
            with socket.create_connection(called) as connection, listener.accept()[0]:
                caller = connection.getsockname()
                self.assertEqual(self.verdict(self.request(caller, called)), 1)
                self.assertEqual(self.verdict(self.request((caller[0], caller[1] ^ 1), called)), 3, "no such connection")
                self.assertEqual(self.verdict(self.request(("192.0.2.1", caller[1]), called)), 4, "not the caller's host")
                self.assertEqual(self.verdict(self.request(caller, called, b"exsrequ9")), 4, "another magic")

    def test_half_a_request_does_no_harm(self):
        self.assertEqual(self.ask(b"exsrequ1"), b"")
        self.assertIsNone(self.agent.poll())


class Servers(BetweenTest):
    def compare_servers(self, play):
        expected, _ = play({})
        found, log = play(self.layer())
        self.assertEqual(found, expected)
        self.assert_went_between(log)

    def test_iperf3(self):
        def play(environment):
            port = str(free_port())
            server = self.start(["iperf3", "-s", "-B", ADDRESS, "-p", port], environment, int(port), self.folder())
            log = ""
            for direction in ([], ["-R"]):
                told, more = self.client(["iperf3", "-c", ADDRESS, "-p", port, "-t", "1", "-J", *direction], environment)
                result = json.loads(told)
                self.assertNotIn("error", result)
                self.assertGreater(result["end"]["sum_received"]["bytes"], 0)
                log += more
            return [], log + server.end()
        self.needs("iperf3")
        self.compare_servers(play)

    @unittest.skipIf(os.geteuid() != 0, "only root may start such a server")
    def test_ftp(self):
        """The server confines itself before it has data connections. These stay with TCP, and its files are the same."""
        def play(environment):
            port, folder = free_port(), self.folder()
            os.chmod(folder, 0o755)
            for name in ("files", "files/in", "empty"):
                pathlib.Path(folder, name).mkdir()
            os.chmod(f"{folder}/files/in", 0o777)
            pathlib.Path(folder, "files/out").write_bytes(random.Random(2).randbytes(3_000_000))
            settings = CONFIGURATION.format(port=port, folder=folder).replace("127.0.0.1", ADDRESS)
            pathlib.Path(folder, "vsftpd.conf").write_text(settings)
            self.start(["/usr/sbin/vsftpd", f"{folder}/vsftpd.conf"], environment, port, folder)
            address = f"ftp://{ADDRESS}:{port}"
            out, _ = self.client(["curl", "-sS", f"{address}/out"], environment)
            self.client(["curl", "-sS", "-T", f"{folder}/files/out", f"{address}/in/copy"], environment)
            return hashlib.sha256(out).digest(), hashlib.sha256(pathlib.Path(folder, "files/in/copy").read_bytes()).digest()
        self.needs("vsftpd", "curl")
        self.assertEqual(play(self.layer()), play({}))

    def test_redis(self):
        script = b"\n".join([*(b"SET key:%d %s" % (i, b"v" * (i * 37 % 9000)) for i in range(200)),
                             *(b"GET key:%d" % i for i in range(200)), b"DBSIZE", b""])

        def benchmark(port, environment, requests):
            log = ""
            for options in (["-c", "8", "-n", str(requests)], ["-c", "4", "-n", str(2 * requests), "-P", "16", "-d", "600"]):
                table, more = self.client(["redis-benchmark", "-h", ADDRESS, "-p", port, "-q", "--csv", "-t", "set,get", *options],
                                          environment)
                self.assertEqual(len([line for line in table.splitlines() if line.startswith((b'"SET', b'"GET'))]), 2, table)
                log += more
            return log

        def play(environment):
            port = str(free_port())
            folder = self.folder()
            server = self.start(["redis-server", "--port", port, "--bind", ADDRESS, "--protected-mode", "no", "--save", "",
                                 "--appendonly", "no", "--dir", folder], environment, int(port), folder)
            answers, log = self.client(["redis-cli", "-h", ADDRESS, "-p", port], environment, script)
            # A busy machine needs longer until connections meet, so they last longer in each round.
            for requests in (2000 << doubling for doubling in range(8)):
                log += benchmark(port, environment, requests)
                if not environment or BETWEEN in log:
                    break
            return answers, log + server.end()
        self.needs("redis-server", "redis-cli", "redis-benchmark")
        self.compare_servers(play)


if __name__ == "__main__":
    unittest.main()
