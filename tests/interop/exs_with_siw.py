# SPDX-License-Identifier: BSD-2-Clause
"""In the guest: two exs processes, one on the iwarp provider, one on the kernel's siw (provider verbs): each connects to the
other, with and without CRC, and every kind of transfer is checked byte by byte.

usage: exs_with_siw.py BLAST       the exs-blast to use
"""
import contextlib
import os
import signal
import subprocess
import sys

from capture import Capture

ADDRESS = os.environ['EXS_TEST_ADDRESS']
COUNT = 10
DEPTH = 4
LONG = 100_000
# (kind, bytes): messages, windows and bytes, on both sides of the small maximum.
TRANSFERS = (('normal', 64), ('normal', LONG), ('immediate', 1000), ('persistent', 64), ('persistent', LONG),
             ('persistent-receive', LONG), ('transaction', 100), ('stream', 100), ('stream', LONG))
DIRECTIONS = (('iwarp', 'verbs'), ('verbs', 'iwarp'))   # who connects, who listens


def environment(provider, crc):
    return {**os.environ, 'EXS_PROVIDER': provider, 'EXS_IWARP_CRC': str(int(crc))}


@contextlib.contextmanager
def server(blast, port, provider, crc):
    serving = subprocess.Popen([blast, '-s', '--bind', ADDRESS, '-p', str(port), '--provider', provider],
                               env=environment(provider, crc), stdout=subprocess.PIPE, text=True)
    try:
        assert 'listening' in serving.stdout.readline()
        yield
        serving.send_signal(signal.SIGINT)
        told = serving.communicate(timeout=120)[0]
        assert f'served {len(TRANSFERS)} clients, 0 failed' in told, told
    finally:
        serving.kill()
        serving.wait()


def transfer(blast, port, provider, crc, kind, size):
    subprocess.run([blast, ADDRESS, '-p', str(port), '--provider', provider, '--kind', kind, '--size', str(size),
                    '--count', str(COUNT), '--depth', str(DEPTH), '--verify', '--wait', 'notify', '--json'],
                   env=environment(provider, crc), stdout=subprocess.DEVNULL, timeout=60, check=True)


def main():
    blast = sys.argv[1]
    port = 7400
    for connecting, listening in DIRECTIONS:
        for crc in (False, True):
            port += 1
            name = f'{connecting} connects to {listening}, CRC {"on" if crc else "off"}'
            # What is sent before the offer of a persistent receive has come is read in place of written: at most what may be
            # under way by then.
            seen = {'read response': 3 * COUNT * LONG, 'write': (COUNT - DEPTH) * LONG, 'read response+write': 4 * COUNT * LONG}
            with Capture(port, name=name, crc=crc, at_least=seen), server(blast, port, listening, crc):
                for kind, size in TRANSFERS:
                    transfer(blast, port, connecting, crc, kind, size)


main()
