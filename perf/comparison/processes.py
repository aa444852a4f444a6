# SPDX-License-Identifier: BSD-2-Clause
"""The two ends of a peer's test: started on a core each, waited for no longer than a limit, and ended whatever happens."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

START_LIMIT_S = 60
CORES = sorted(os.sched_getaffinity(0))


class Missing(Exception):
    """The side cannot be measured here; the text says why."""


class Failed(Exception):
    """A run did not end well, or did not end; the text says which."""


def find(program, package):
    path = shutil.which(program)
    if path is None:
        raise Missing(f"there is no {program}; scripts/setup --peers installs it (Debian: {package})")
    return path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_pair(server_line, client_line, port, limit_s, environment=None):
    """Output of client and server. The client starts when something listens on the port, and both end by themselves or by force."""
    server = start(server_line, 1, environment)
    try:
        wait_until_listening(port, server)
        client = start(client_line, 0, environment)
        try:
            output = client.communicate(timeout=limit_s)[0]
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{text_of(client_line)}: hung for {limit_s:g} s") from late
        finally:
            end(client)
    finally:
        end(server)
    if client.returncode != 0:
        raise Failed(f"{text_of(client_line)}: exit {client.returncode}\n{output}")
    return output


def start(line, core, environment, user=None, own_group=False):
    """Core None: the system chooses."""
    pin = None if core is None else lambda: os.sched_setaffinity(0, {CORES[core % len(CORES)]})
    return subprocess.Popen([str(word) for word in line], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, env={**os.environ, **(environment or {})}, user=user,
                            preexec_fn=pin, start_new_session=own_group)


def end(process):
    """Servers that serve for ever end by SIGTERM; who ignores that ends by SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            process.send_signal(number)
        try:
            process.communicate(timeout=2)
            return
        except subprocess.TimeoutExpired:
            continue


def wait_until_listening(port, server):
    limit = time.monotonic() + START_LIMIT_S
    while not is_listening(port):
        if server.poll() is not None or time.monotonic() > limit:
            raise Failed(f"{text_of(server.args)} does not listen")
        time.sleep(0.01)


def is_listening(port):
    wanted = f":{port:04X}"
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path("/proc/net", table).read_text().splitlines()[1:]:
            words = line.split()
            if words[1].endswith(wanted) and words[3] == "0A":
                return True
    return False


def text_of(line):
    return " ".join([pathlib.Path(line[0]).name, *map(str, line[1:])])
