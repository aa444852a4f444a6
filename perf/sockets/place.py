# SPDX-License-Identifier: BSD-2-Clause
"""Where and how programs are run: in a temporary folder, with the layer or without it, and ended whatever happens."""
import contextlib
import dataclasses
import os
import pathlib
import pwd
import select
import shutil
import signal
import subprocess
import tempfile
import time

from comparison import processes
from comparison.processes import Failed, text_of

STOP_LIMIT_S = 5


@dataclasses.dataclass(frozen=True)
class Way:
    """That bytes go between two programs. The layer is preloaded if `settings` is not None; EXS_SOCKETS then is that."""

    name: str
    settings: str = None
    is_unix: bool = False


TCP, UNIX = Way("TCP"), Way("Unix", is_unix=True)
LAYER, ASLEEP = Way("exs", ""), Way("exs, spin=0", "spin=0")


class Place:
    """A folder that all users may enter, with copies of the layer and of our program, so that a build beside a measurement does not
    change it; and one in memory. Cores are not chosen: the layer does not look before it sleeps in a process that may use one core
    only."""

    def __init__(self, binaries, library, folder, memory):
        self.binaries, self.folder, self.memory = binaries.resolve(), folder, memory
        self.library = pathlib.Path(shutil.copy(library, folder))
        self.load = pathlib.Path(shutil.copy(binaries / "sockets-load", folder))
        self.numbers = 0

    def environment(self, way):
        if way.settings is None:
            return {}
        return {"LD_PRELOAD": str(self.library), **({"EXS_SOCKETS": way.settings} if way.settings else {})}

    def new_path(self, name):
        """Of a file or socket that is there at most once."""
        self.numbers += 1
        return self.folder / f"{name}-{self.numbers}"

    def new_folder(self, name):
        path = self.new_path(name)
        path.mkdir()
        path.chmod(0o755)
        return path

    @contextlib.contextmanager
    def server(self, line, way, user=None, stop=signal.SIGTERM):
        """Runs while the block does. What it started ends with it."""
        process = start(line, self.environment(way), user)
        try:
            yield process
        finally:
            if process.returncode is None:  # it may be dead, but its number is still its own
                end_group(process.pid, stop)
            processes.end(process)

    def output_of(self, line, way, limit_s, user=None):
        """What it prints."""
        process = start(line, self.environment(way), user)
        try:
            output = process.communicate(timeout=limit_s)[0]
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{text_of(line)}: hung for {limit_s:g} s") from late
        finally:
            processes.end(process)
        if process.returncode != 0:
            raise Failed(f"{text_of(line)}: exit {process.returncode}\n{output}")
        return output


def start(line, environment, user):
    """In a process group of its own."""
    return processes.start(line, None, environment, user, own_group=True)


def end_group(pid, stop):
    """The leader ends itself, if it can; what is left of its group ends by force."""
    os.kill(pid, stop)
    exit_of = os.pidfd_open(pid)
    select.select([exit_of], [], [], STOP_LIMIT_S)
    os.close(exit_of)
    os.killpg(pid, signal.SIGKILL)


@contextlib.contextmanager
def temporary_folder(parent=None):
    with tempfile.TemporaryDirectory(prefix="exs-sockets-", dir=parent) as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        yield folder


def wait_for_unix(path, server):
    """Until something listens there."""
    limit = time.monotonic() + processes.START_LIMIT_S
    while not any(words[-1] == str(path) and words[3] == "00010000" for words in unix_sockets()):
        if server.poll() is not None or time.monotonic() > limit:
            raise Failed(f"{text_of(server.args)} does not listen")
        time.sleep(0.01)


def unix_sockets():
    return [line.split() for line in pathlib.Path("/proc/net/unix").read_text().splitlines()[1:]]


def user_of_this():
    return pwd.getpwuid(os.geteuid()).pw_name
