#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every error that exs.h promises is shown by a conformance test, or excused here with a reason.

A test shows an error by a row {"exs_send", EPIPE, ... of a table of refusals, or by a line
    // shows: exs_send EPIPE EBUSY, exs_qwait EINTR, exs_send event ECONNRESET
above the case; such a list may go on over several comment lines.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from interface import ROOT, header_errors, header_functions  # noqa: E402

# What no test can bring about here, or what another place shows.
EXCUSED = {
    "ENOMEM": "memory, or kernel descriptors, would have to run out for everybody; tests/api brings it about where it can",
    "EMFILE": "tests/api/socket_test and queue_test bring it about, with a limit for the whole process",
    "ENFILE": "the whole machine would have to run out of descriptors",
    "EPERM": "the same of every function: tests/api/init_test",
    "EIO": "needs a broken disk",
    "exs_bind EACCES": "needs a port below 1024 and a user without the right to it",
    "exs_init EINVAL": "tests/api/init_test, which sets the environment",
    "exs_qcreate ENOSYS": "tests/provider shows the refusal of a backend",
    "exs_connect event EHOSTUNREACH": "needs a network without the route",
    "exs_connect event ENETUNREACH": "needs a network without the route",
    "exs_listen EACCES": "needs an RDMA device, a port below 1024 and a user without the right to it",
    "exs_listen EADDRNOTAVAIL": "needs an RDMA device that loses its address between two calls",
    "exs_listen EOPNOTSUPP": "needs a machine without RDMA devices: tests/api/choice_test",
    "exs_connect EOPNOTSUPP": "needs a kernel socket: tests/api/plain_test",
    "exs_connect event EOPNOTSUPP": "needs ends whose choices clash: tests/api/choice_test",
    "exs_connect event EPROTO": "needs a peer that is no exs: tests/api/connect_test",
    "exs_connect event EPROTONOSUPPORT": "needs a peer of another version: tests/api/connect_test",
    "exs_connect event ECONNRESET": "needs a peer that is no exs: tests/api/connect_test",
    "exs_send event EPROTO": "needs a hostile peer: tests/api/hostile_message_test",
    "exs_send_offset event EBUSY": "as exs_send: only persistent ones meet it",
    "exs_recv_offset event EBUSY": "as exs_recv: only persistent ones meet it",
    "exs_send_offset event EPROTO": "as exs_send",
    "exs_recv_offset event EPROTO": "as exs_recv",
    "exs_recv event EPROTO": "needs a hostile peer: tests/api/hostile_message_test",
    "exs_recv_pooled event EPROTO": "as exs_recv: what ends the connection ends it",
    "exm_init EPROTO": "needs a launcher that lies: tests/boot",
    "exm_init ECONNRESET": "needs a launcher that goes: tests/boot",
    "exm_finalize ETIMEDOUT": "takes ten seconds: tests/api/finalize_test has a shorter limit",
    "exm_finalize EPIPE": "needs a rank that leaves during the call: tests/api/finalize_test",
    "exm_finalize ECONNRESET": "needs a rank that dies during the call, as EPIPE",
    "exm_peer ENOSPC": "takes a million peers",
    "exm_group_create ENOSPC": "takes 2^29 groups",
    "exs_window_map event EPROTO": "as exs_recv: what ends the connection ends it",
    "exs_window_map event ETIMEDOUT": "as exs_recv: what ends the connection ends it",
    "exs_recv_pooled event ETIMEDOUT": "as exs_recv: what ends the connection ends it",
}


def promised():
    functions = header_functions()
    for function in functions.values():
        errors = header_errors(function, functions)
        if errors is None:
            continue
        for error in errors[0]:
            yield f"{function.name} {error}"
        for error in errors[1]:
            yield f"{function.name} event {error}"


def shown():
    found = set()
    for path in (ROOT / "tests/conformance").rglob("*_test.cc"):
        text = path.read_text()
        found |= {f"{name} {error}" for name, error in re.findall(r'\{"(ex[sm]_\w+)", (E[A-Z0-9]+),', text)}
        for block in re.findall(r"^ *// shows: ((?:.*)(?:\n *// .*)*)", text, flags=re.MULTILINE):
            words = re.sub(r"\n *// ", " ", block)
            for part in words.split(","):
                name, *rest = part.split()
                event = "event " if rest and rest[0] == "event" else ""
                found |= {f"{name} {event}{error}" for error in rest if error != "event"}
    return found


def is_excused(promise):
    return promise in EXCUSED or promise.split()[-1] in EXCUSED


def main():
    promises, tests = set(promised()), shown()
    missing = sorted(p for p in promises - tests if not is_excused(p))
    needless = sorted(e for e in EXCUSED if " " in e and e not in promises)
    for promise in missing:
        print(f"no conformance test shows: {promise}")
    for excuse in needless:
        print(f"excused, but exs.h does not promise it: {excuse}")
    print(f"{len(promises)} errors promised, {len(promises & tests)} shown")
    return 1 if missing or needless else 0


if __name__ == "__main__":
    sys.exit(main())
