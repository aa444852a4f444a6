# SPDX-License-Identifier: BSD-2-Clause
"""A test that has a network, mounts and processes of its own, with rpcbind in them. Who may not have these skips (77)."""
import os
import pathlib
import socket
import subprocess
import sys
import time

import peers

INSIDE = "EXS_TEST_RPC_INSIDE"
RPCBIND = "/usr/sbin/rpcbind"
RPCINFO = "/usr/sbin/rpcinfo"


def enter():
    """Runs the script again, inside."""
    if INSIDE in os.environ:
        return
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    words = ["unshare", *user, "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if subprocess.run([*words, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        print("skipped: no namespaces here")
        sys.exit(77)
    os.environ[INSIDE] = "yes"
    # What libtirpc and rpcgen's stubs allocate and leave is not ours; test_matrix.py and test_faults.py look for leaks.
    os.environ["ASAN_OPTIONS"] = f"{os.environ.get('ASAN_OPTIONS', '')} detect_leaks=0"
    os.execvp(words[0], [*words, sys.executable, *sys.argv])


def prepare():
    """The loopback interface, and what lies in /run and /dev/shm, are the test's own. The programs may lie in /tmp."""
    for folder in ("/run", "/dev/shm"):
        subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=True)
    pathlib.Path("/run/rpcbind").mkdir()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def start_rpcbind():
    process = subprocess.Popen([RPCBIND, "-f"], stderr=subprocess.DEVNULL)
    end = time.monotonic() + peers.LIMIT_S
    while not answers(111):
        if process.poll() is not None:
            print(f"skipped: rpcbind ends here with status {process.returncode}")
            sys.exit(77)
        if time.monotonic() > end:
            raise TimeoutError("rpcbind does not answer")
    return process


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def listed():
    """What rpcbind knows, without addresses that change."""
    output = subprocess.run([RPCINFO], capture_output=True, text=True, check=True).stdout
    return sorted(tuple(line.split()[:3]) for line in output.splitlines()[1:])


def await_listed(program, netid):
    end = time.monotonic() + peers.LIMIT_S
    while not any(entry[0] == str(program) and entry[2] == netid for entry in listed()):
        if time.monotonic() > end:
            raise TimeoutError(f"no program {program} of {netid} is listed")
