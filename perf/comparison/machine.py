# SPDX-License-Identifier: BSD-2-Clause
"""Where a report comes from: the machine, the commit, the time."""
import datetime
import os
import pathlib
import platform
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHES = pathlib.Path("/sys/devices/system/cpu/cpu0/cache")


def describe(command):
    return {"machine": machine(), "commit": commit(), "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "command": command}


def machine():
    cpu_info = pathlib.Path("/proc/cpuinfo").read_text()
    name = re.search(r"(?m)^model name\s*: (.*)$", cpu_info)
    return {"cpu": name[1] if name else platform.machine(), "cores": len(os.sched_getaffinity(0)), "caches": caches(),
            "virtual": bool(re.search(r"(?m)^flags\s*:.*\bhypervisor\b", cpu_info)), "kernel": platform.release(),
            "load_before": os.getloadavg()[0]}


def caches():
    """Those of the first processor: "L2 1024K", and how many processors share it."""
    found = []
    for index in sorted(CACHES.glob("index*")):
        level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            found.append(f"L{level} {size} of {(index / 'shared_cpu_list').read_text().strip()}")
    return found


def commit():
    """With "+" where the tree differs from it; None outside of git."""
    def git(*words):
        return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    head = git("rev-parse", "--short", "HEAD")
    if head.returncode != 0:
        return None
    # A report that is written into the tree is no change of what was measured.
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!perf/results").stdout.strip()
    return head.stdout.strip() + ("+" if changed else "")


def machine_text(report):
    found = report["machine"]
    kind = "virtual machine" if found["virtual"] else "machine"
    return (f"{kind}, {found['cpu']}, {found['cores']} cores, caches {', '.join(found['caches'])}, Linux {found['kernel']}, "
            f"commit {report['commit']}, {report['date']}")
