# SPDX-License-Identifier: BSD-2-Clause
"""Ends a measurement by SIGINT while it measures."""
import os
import signal
import subprocess
import time

from tools import BIN

LIMIT_SECONDS = 300


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def interrupt(*command, both=False):
    """Its output, errors and exit status. `both`: its children get the signal, too, as by a terminal."""
    process = subprocess.Popen([BIN / command[0], *command[1:], "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    try:
        # It has begun to measure when it has computed for a while: to begin takes a hundredth of that.
        while process.poll() is None and cpu_ticks(process.pid) < os.sysconf("SC_CLK_TCK"):
            time.sleep(0.01)
        if both:
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=LIMIT_SECONDS)
    finally:
        process.kill()
    return output, errors, process.returncode
