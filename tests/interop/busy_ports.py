# SPDX-License-Identifier: BSD-2-Clause
"""In the guest: siw connects from the port that rdma_cm chose, which a TCP socket may have. Half of the few ports that there are to be had
are taken here, and every connection comes about all the same.

usage: busy_ports.py PING       the exs-ping to use
"""
import os
import pathlib
import socket
import subprocess
import sys

ADDRESS = os.environ['EXS_TEST_ADDRESS']
PORTS = range(50000, 50040)
CONNECTIONS = 8


def main():
    pathlib.Path('/proc/sys/net/ipv4/ip_local_port_range').write_text(f'{PORTS[0]} {PORTS[-1]}', encoding='ascii')
    taken = []
    for port in PORTS[::2]:
        taken.append(socket.socket())
        taken[-1].bind(('0.0.0.0', port))
    for _ in range(CONNECTIONS):
        subprocess.run([sys.argv[1], '--self', '--bind', ADDRESS, '--provider', 'verbs', '--kind', 'immediate', '--size', '64', '--count',
                        '5', '--wait', 'notify', '--verify', '--json'], stdout=subprocess.DEVNULL, timeout=60, check=True)


main()
