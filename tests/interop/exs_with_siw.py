"""In the guest: two exs processes, one on the iwarp provider, one on the kernel's siw (provider verbs): each connects to the
other, with and without CRC, and every kind of transfer is checked byte by byte.

usage: exs_with_siw.py BLAST       the exs-blast to use
"""
import json
import os
import signal
import subprocess
import sys

from capture import Capture

ADDRESS = os.environ['EXS_TEST_ADDRESS']
COUNT = 10
LONG = 100_000
# (kind, bytes): messages, windows and bytes, on both sides of the small maximum.
TRANSFERS = (('normal', 64), ('normal', LONG), ('immediate', 1000), ('persistent', 64), ('persistent', LONG),
             ('persistent-receive', LONG), ('transaction', 100), ('stream', 100), ('stream', LONG))
DIRECTIONS = (('iwarp', 'verbs'), ('verbs', 'iwarp'))   # who connects, who listens


def environment(provider, crc):
    return {**os.environ, 'EXS_PROVIDER': provider, 'EXS_IWARP_CRC': str(int(crc))}


def blast_once(blast, port, client, server, crc, kind, size):
    serving = subprocess.Popen([blast, '-s', '--bind', ADDRESS, '-p', str(port), '--provider', server],
                               env=environment(server, crc), stdout=subprocess.PIPE, text=True)
    try:
        assert 'listening' in serving.stdout.readline()
        done = subprocess.run([blast, ADDRESS, '-p', str(port), '--provider', client, '--kind', kind, '--size', str(size),
                               '--count', str(COUNT), '--verify', '--wait', 'notify', '--json'],
                              env=environment(client, crc), stdout=subprocess.PIPE, text=True, timeout=60, check=True)
        return json.loads(done.stdout)
    finally:
        serving.send_signal(signal.SIGINT)
        serving.wait(timeout=30)


def main():
    blast = sys.argv[1]
    port = 7400
    for client, server in DIRECTIONS:
        for crc in (False, True):
            port += 1
            with Capture(port, name=f'{client} connects to {server}, CRC {"on" if crc else "off"}', crc=crc,
                         at_least={'read response': 2 * COUNT * LONG, 'write': COUNT * LONG}):
                for kind, size in TRANSFERS:
                    blast_once(blast, port, client, server, crc, kind, size)


main()
