# SPDX-License-Identifier: BSD-2-Clause
"""Servers and loads of others, unmodified: iperf3, redis, nginx with wrk, PostgreSQL with pgbench, vsftpd with curl."""
import contextlib
import csv
import dataclasses
import functools
import os
import pathlib
import shutil
import signal
import time

from comparison.peers import iperf3_run, number_in
from comparison.processes import Failed, Missing, free_port, wait_until_listening
from sockets.place import TCP, user_of_this, wait_for_unix

HOST = "127.0.0.1"
LIMIT_S = 20


def find(program, package, folders=("/usr/sbin",)):
    path = shutil.which(program, path=os.pathsep.join([os.environ["PATH"], *map(str, folders)]))
    if path is None:
        raise Missing(f"there is no {program} (Debian: {package})")
    return path


@dataclasses.dataclass(frozen=True)
class Iperf3:
    """It counts whole seconds."""

    size_bytes: int
    figure: str = "bits_per_second"

    def measure(self, place, way, seconds):
        program, port = find("iperf3", "iperf3"), free_port()
        with place.server([program, "-s", "-1", "-p", port], way) as server:
            wait_until_listening(port, server)
            line = [program, "-c", HOST, "-p", port, "-l", self.size_bytes, "-t", max(1, round(seconds)), "-J"]
            return 8 * iperf3_run(place.output_of(line, way, LIMIT_S)).value


@dataclasses.dataclass(frozen=True)
class RedisGet:
    """So many requests for each second that it is measured: about as many as TCP serves."""

    clients: int
    pipeline: int
    requests: int
    figure: str = "messages_per_second"

    def measure(self, place, way, seconds):
        program, load = find("redis-server", "redis-server"), find("redis-benchmark", "redis-tools")
        port, path, folder = free_port(), place.new_path("redis"), place.new_folder("redis")
        line = [program, "--bind", HOST, "--port", port, "--unixsocket", path, "--dir", folder, "--save", "", "--appendonly", "no"]
        with place.server(line, way) as server:
            wait_until_listening(port, server)
            wait_for_unix(path, server)
            where = ["-s", path] if way.is_unix else ["-h", HOST, "-p", port]
            return redis_rate(place.output_of([load, *where, "-t", "get", "-c", self.clients, "-P", self.pipeline, "-n",
                                               round(self.requests * seconds), "--csv", "-q"], way, LIMIT_S))


def redis_rate(output):
    for words in csv.reader(output.splitlines()):
        if words[:1] == ["GET"]:
            return float(words[1])
    raise Failed(f"redis-benchmark: no figure in\n{output}")


NGINX = """daemon off; worker_processes 1; pid {folder}/pid; error_log stderr; user {user};
events {{ worker_connections 256; }}
http {{
  access_log off; keepalive_requests 1000000000; sendfile {sendfile}; tcp_nopush {sendfile};
  client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{ listen {host}:{port}; root {folder}; }}
}}
"""


@dataclasses.dataclass(frozen=True)
class Nginx:
    """A file over connections that are kept. wrk counts whole seconds. Debian's nginx sends files by sendfile(2)."""

    clients: int
    size_bytes: int = 1024
    by_sendfile: bool = False
    figure: str = "messages_per_second"

    def measure(self, place, way, seconds):
        program, load = find("nginx", "nginx-light"), find("wrk", "wrk")
        port, folder = free_port(), place.new_folder("nginx")
        (folder / "file").write_bytes(b"x" * self.size_bytes)
        sendfile = "on" if self.by_sendfile else "off"
        (folder / "conf").write_text(NGINX.format(folder=folder, host=HOST, port=port, user=user_of_this(), sendfile=sendfile))
        with place.server([program, "-e", "stderr", "-p", folder, "-c", folder / "conf"], way) as server:
            wait_until_listening(port, server)
            line = [load, "-t", 1, "-c", self.clients, "-d", f"{max(1, round(seconds))}s", f"http://{HOST}:{port}/file"]
            output = place.output_of(line, way, LIMIT_S)
        return wrk_rate(output)


def wrk_rate(output):
    """Of a run without errors."""
    errors = [line.strip() for line in output.splitlines() if "Socket errors" in line or "Non-2xx" in line]
    if errors:
        raise Failed(f"wrk: {'; '.join(errors)}")
    return number_in(r"Requests/sec:\s+([\d.]+)", output, "wrk")


@dataclasses.dataclass(frozen=True)
class Pgbench:
    """Selects of a row each by one client. PostgreSQL refuses to be root, so then both are the user postgres."""

    figure: str = "messages_per_second"

    def measure(self, place, way, seconds):
        programs = postgres_folders()
        server_program, load = find("postgres", "postgresql-15", programs), find("pgbench", "postgresql-15", programs)
        user = "postgres" if os.geteuid() == 0 else None
        data, port = postgres_data(place, user), free_port()
        line = [server_program, "-D", data, "-p", port, "-k", data, "-c", f"listen_addresses={HOST}", "-c", "fsync=off"]
        with place.server(line, way, user, signal.SIGINT) as server:
            wait_until_listening(port, server)
            return self.asked(place, way, user, server, [load, "-h", data if way.is_unix else HOST, "-p", port, "-U", "postgres"], seconds)

    @staticmethod
    def asked(place, way, user, server, common, seconds):
        filled = pathlib.Path(place.folder, "pgbench-is-filled")
        wait_until_ready(place, user, server, common)
        if not filled.exists():
            place.output_of([*common, "-i", "-q", "postgres"], TCP, LIMIT_S, user)
            filled.touch()
        output = place.output_of([*common, "-S", "-n", "-c", 1, "-T", max(1, round(seconds)), "postgres"], way, LIMIT_S, user)
        return number_in(r"tps = ([\d.]+)", output, "pgbench")


def postgres_folders():
    return sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


@functools.lru_cache(maxsize=1)
def postgres_data(place, user):
    """Of a server for this place, made once."""
    folder = place.new_folder("postgres")
    if user is not None:
        shutil.chown(folder, user)
    program = find("initdb", "postgresql-15", postgres_folders())
    place.output_of([program, "-D", folder, "-U", "postgres", "-A", "trust", "-N", "--locale", "C"], TCP, LIMIT_S, user)
    return folder


def wait_until_ready(place, user, server, common):
    """It listens before it answers."""
    limit, line = time.monotonic() + LIMIT_S, [find("pg_isready", "postgresql-client-15", postgres_folders()), *common[1:]]
    while True:
        with contextlib.suppress(Failed):
            place.output_of(line, TCP, LIMIT_S, user)
            return
        if server.poll() is not None or time.monotonic() > limit:
            raise Failed("postgres does not answer")


VSFTPD = """listen=YES
listen_address={host}
listen_port={port}
background=NO
anonymous_enable=YES
anon_root={folder}
secure_chroot_dir={folder}
run_as_launching_user=YES
seccomp_sandbox=NO
isolate=NO
isolate_network=NO
"""


@dataclasses.dataclass(frozen=True)
class Ftp:
    """Of a file from memory to memory, as the client counts it: without connecting and logging in."""

    size_bytes: int
    figure: str = "bits_per_second"

    def measure(self, place, way, _seconds):
        program, load, port = find("vsftpd", "vsftpd"), find("curl", "curl"), free_port()
        source, into = file_in_memory(place, self.size_bytes), place.memory / "received"
        settings = place.new_path("vsftpd")
        settings.write_text(VSFTPD.format(host=HOST, port=port, folder=source.parent))
        with place.server([program, settings], way) as server:
            wait_until_listening(port, server)
            output = place.output_of([load, "-sS", "-o", into, "-w", "%{time_pretransfer} %{time_total}",
                                      f"ftp://{HOST}:{port}/{source.name}"], way, LIMIT_S)
        if into.stat().st_size != self.size_bytes:
            raise Failed(f"curl: {into.stat().st_size} bytes of {self.size_bytes}")
        began, ended = map(float, output.split())
        return 8 * self.size_bytes / (ended - began)


@dataclasses.dataclass(frozen=True)
class Copy:
    """The same without a network."""

    size_bytes: int
    figure: str = "bits_per_second"

    def measure(self, place, _way, _seconds):
        source = file_in_memory(place, self.size_bytes)
        began = time.monotonic()
        place.output_of([find("cp", "coreutils"), source, place.memory / "received"], TCP, LIMIT_S)
        return 8 * self.size_bytes / (time.monotonic() - began)


def file_in_memory(place, size_bytes):
    """Made once, in a folder that nobody may write into: what vsftpd shows to anybody."""
    folder = place.memory / "files"
    path = folder / str(size_bytes)
    if not path.exists():
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
        block = os.urandom(1 << 20)
        path.write_bytes((block * (size_bytes // len(block) + 1))[:size_bytes])
    folder.chmod(0o555)
    return path
