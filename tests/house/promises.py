#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Every error that a header of TESTED promises is shown by a test of its folder, or excused here with a reason.

A test shows an error by a row {"exs_send", EPIPE, ... of a table of refusals, by a check_refused(exs_svc_ping(peer), EAGAIN), or by a line
    // shows: exs_send EPIPE EBUSY, exs_qwait EINTR, exs_send event ECONNRESET
above the case; such a list may go on over several comment lines.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from interface import ROOT, functions_of, header_errors, header_functions, text_of  # noqa: E402

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
    "exs_rpc_connect EHOSTUNREACH": "needs a network without the route",
    "exs_rpc_open EHOSTUNREACH": "needs a network without the route",
    "exs_rpc_connect EOPNOTSUPP": "as exs_rpc_open, which connects so",
    "exs_rpc_server_listen EACCES": "needs a port below 1024 and a user without the right to it",
    "exs_rpc_server_run EAGAIN": "needs a process with its maximum of threads",
    "exs_rpc_server_run EOPNOTSUPP": "needs a server from before a fork; that of a call: tests/rpc/stub_faults_test",
    "exs_sunrpc_attach EINVAL": "libtirpc's functions are replaced in a process of its own: tests/rpc/test_settings.py",
    "exs_sunrpc_attach EOPNOTSUPP": "as EINVAL",
    "exs_sunrpc_threads EINVAL": "as exs_sunrpc_attach",
    "exs_sunrpc_threads EBUSY": "no test: needs a server that asks again after a client has connected by exs",
    "exs_svc_node_open EACCES": "needs a port below 1024 and a user without the right to it",
    "exs_svc_node_open EAGAIN": "needs a process with its maximum of threads",
    "exs_svc_node_open EOPNOTSUPP": "needs a process that forked: tests/service/messages_test, and no provider: tests/api/choice_test",
    "EXS_SVC_EVT_LOST ECONNRESET": "needs a service that closes the connection instead of answering: tests/service/impostors_test",
    "EXS_SVC_EVT_SENT EOWNERDEAD": "no test: needs a service that starts again between a message and its long items",
    "EXS_SVC_EVT_MOVED EOWNERDEAD": "needs an adopter that is killed at the last step: tests/service/move_kills_test",
    "EXS_SVC_EVT_MOVED ECONNRESET": "needs an adopter that is killed: tests/service/move_kills_test",
    "EXS_SVC_EVT_MOVED EACCES": "needs an endpoint of another key under the derived name, which no key has",
    "EXS_SVC_EVT_MOVED EPROTO": "needs an endpoint of another key under the derived name, which no key has",
}


# A header, and the folder whose tests show what it promises. What exs.h and msg.h promise holds for every provider.
TESTED = {"exs.h": "tests/conformance", "msg.h": "tests/conformance", "rpc.h": "tests/rpc", "sunrpc.h": "tests/rpc", "service.h": "tests/service"}

# Of services, events have comments of their own: what stands behind "error:", and of a move behind "EOWNERDEAD:" and "error 0:".
def promised_of_events(header):
    for comment, event in re.findall(r"/\*((?:(?!\*/).)*)\*/\s+(EXS_SVC_EVT_\w+) =", text_of(header), flags=re.DOTALL):
        own = re.sub(r"as EXS_SVC_EVT_\w+", "", comment)
        for error in re.findall(r"\bE[A-Z][A-Z0-9]+\b(?!_)", own):
            if not error.startswith("EXS"):
                yield f"{event} {error}"


def promised():
    functions = header_functions() | {name: f for header in TESTED for name, f in functions_of(header).items()}
    for function in functions.values():
        errors = header_errors(function, functions)
        if errors is None:
            continue
        for error in errors[0]:
            yield f"{function.name} {error}"
        for error in errors[1]:
            yield f"{function.name} event {error}"
    yield from promised_of_events("service.h")


def shown():
    found = set()
    for path in (path for folder in sorted(set(TESTED.values())) for path in (ROOT / folder).rglob("*_test.cc")):
        text = path.read_text()
        found |= {f"{name} {error}" for name, error in re.findall(r'\{"(ex[sm]_\w+)", (E[A-Z0-9]+),', text)}
        found |= {f"{name} {error}" for name, error in re.findall(r"check_refused\(\s*(exs_svc_\w+)\((?:(?!check_refused).)*?, (E[A-Z0-9]+)\);", text,
                                                                  flags=re.DOTALL)}
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
        print(f"no test shows: {promise}")
    for excuse in needless:
        print(f"excused, but no header promises it: {excuse}")
    print(f"{len(promises)} errors promised, {len(promises & tests)} shown")
    return 1 if missing or needless else 0


if __name__ == "__main__":
    sys.exit(main())
