# SPDX-License-Identifier: BSD-2-Clause
"""Loads of our own: the program sockets-load, and rpc-empty, which is compiled when it is asked for."""
import dataclasses
import json
import pathlib
import select

from comparison.peers import compiled
from comparison.processes import Failed, text_of
from sockets.place import TCP

HERE = pathlib.Path(__file__).resolve().parent
LIMIT_S = 20


@dataclasses.dataclass(frozen=True)
class Served:
    """A load of sockets-load with a server. `figure` is a key of what the client prints, as in words.py."""

    load: str
    figure: str
    size_bytes: int = 64
    combines: bool = False

    def measure(self, place, way, seconds):
        common = [place.load, self.load, "--size", self.size_bytes, *(["--combine"] if self.combines else [])]
        return served(place, way, [*common, "--serve", "--at"], [*common, "--time", seconds, "--at"])[self.figure]


@dataclasses.dataclass(frozen=True)
class EmptyCall:
    """Of a remote procedure by libtirpc, with a string of so many bytes; 0: without an argument."""

    size_bytes: int
    figure: str = "call_us"

    def measure(self, place, way, seconds):
        program = compiled("rpc-empty", "libtirpc", "libtirpc-dev", place.binaries, HERE)
        return served(place, way, [program, "serve"], [program, "call", self.size_bytes, seconds])[self.figure]


@dataclasses.dataclass(frozen=True)
class Start:
    """Of a program that does nothing, by one that is not preloaded."""

    figure: str = "start_us"

    def measure(self, place, way, seconds):
        preload = [] if way.settings is None else ["--preload", place.library]
        line = [place.load, "start", "--time", seconds, *preload]
        return json.loads(place.output_of(line, TCP, LIMIT_S))[self.figure]


@dataclasses.dataclass(frozen=True)
class File:
    """Calls that concern no socket."""

    figure: str = "call_ns"

    def measure(self, place, way, seconds):
        line = [place.load, "file", "--time", seconds]
        return json.loads(place.output_of(line, way, LIMIT_S))[self.figure]


def served(place, way, server_line, client_line):
    """What the client prints. Both get the address as the last word; the server prints the one that clients take."""
    where = f"unix:{place.new_path('socket')}" if way.is_unix else "tcp"
    with place.server([*server_line, where], way) as server:
        if not select.select([server.stdout], [], [], LIMIT_S)[0]:
            raise Failed(f"{text_of(server_line)}: no address for {LIMIT_S} s")
        address = server.stdout.readline().strip()
        if not address.startswith(("tcp:", "unix:")):
            raise Failed(f"{text_of(server_line)}: {address} {server.stdout.read()}")
        return json.loads(place.output_of([*client_line, address], way, LIMIT_S))
