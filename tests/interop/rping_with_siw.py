# SPDX-License-Identifier: BSD-2-Clause
"""In the guest: our rping-peer against rping on the kernel's siw, as client and as server, with and without CRC.

usage: rping_with_siw.py PEER pings          100 pings in each role and CRC setting, of two sizes
       rping_with_siw.py PEER connections N  N connections one after another, one ping each, all of which must complete
       rping_with_siw.py PEER survey N       the same with and without nudges, and how many needed one
"""
import contextlib
import os
import subprocess
import sys
import time

from capture import Capture, until

ADDRESS = os.environ['EXS_TEST_ADDRESS']
PINGS = 100
SIZES = (64, 60000)
ONE_SEGMENT = 1000
CONNECTIONS_LIMIT_S = 60
LISTENING = '0A'


def listens(port):
    """Whether a TCP socket, the kernel's own ones included, listens on the port."""
    with open('/proc/net/tcp', encoding='ascii') as table:
        rows = [row.split() for row in table.readlines()[1:]]
    return any(row[3] == LISTENING and int(row[1].split(':')[1], 16) == port for row in rows)


def peer_command(peer, role, port, *options):
    return [peer, role, ADDRESS, str(port), *map(str, options)]


def environment(crc):
    return {**os.environ, 'EXS_IWARP_CRC': str(int(crc)), 'EXS_LOG': 'info'}


def rping(role, port, *options, stderr=None):
    return subprocess.Popen(['rping', role, '-a', ADDRESS, '-p', str(port), *map(str, options)], stderr=stderr)


def end(process, what):
    status = process.wait(timeout=60)
    assert status == 0, f'{what} ended with {status}'


def ping_as_client(peer, port, size, crc):
    server = rping('-s', port, '-C', PINGS, '-S', size, '-V')
    try:
        until(lambda: listens(port), 'rping does not listen')
        client = subprocess.run(peer_command(peer, 'client', port, '--count', PINGS, '--size', size), env=environment(crc),
                                stdout=subprocess.PIPE, text=True, timeout=60, check=True)
        assert client.stdout == f'PINGS {PINGS} SILENT 0\n', client.stdout
        server.wait(timeout=60)
    finally:
        server.kill()
        server.wait()


def ping_as_server(peer, port, size, crc):
    server = subprocess.Popen(peer_command(peer, 'server', port, '--count', PINGS, '--size', size), env=environment(crc),
                              stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout.readline() == f'LISTENING {port}\n'
        end(rping('-c', port, '-C', PINGS, '-S', size, '-V'), 'rping -c')
        assert server.stdout.readline() == f'PINGS {PINGS}\n'
        end(server, 'rping-peer')
    finally:
        server.kill()
        server.wait()


def pings(peer):
    port = 7174
    for crc in (False, True):
        for role, run in (('client', ping_as_client), ('server', ping_as_server)):
            for size in SIZES:
                port += 1
                with Capture(port, name=f'as {role}, CRC {"on" if crc else "off"}, {size} bytes', crc=crc,
                             **expected(role, size)):
                    run(peer, port, size, crc)


def expected(role, size):
    """Of a ping: two messages each way, a read and a write. A responder never nudges."""
    counts = {'send': 4 * PINGS, 'read request': PINGS}
    if size < ONE_SEGMENT:
        counts |= {'write': PINGS, 'read response': PINGS}
    if role == 'server':
        counts['nudge'] = 0
    return {'counts': counts, 'payload': {'write': PINGS * size, 'read response': PINGS * size}}


def connect_often(peer, port, number, *options):
    """(connections that heard nothing, nudges, seconds): one ping each, one after another, with one rping."""
    server = rping('-s', port, '-P', stderr=subprocess.DEVNULL)  # it tells of each connection that ends
    try:
        until(lambda: listens(port), 'rping does not listen')
        begun = time.monotonic()
        client = subprocess.run(
            peer_command(peer, 'client', port, '--count', 1, '--connections', number, *options), env=environment(crc=False),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
        seconds = time.monotonic() - begun
    finally:
        server.kill()
        server.wait()
    assert client.returncode == 0, client.stderr
    words = client.stdout.split()
    assert words[0] == 'PINGS' and int(words[1]) + int(words[3]) == number, client.stdout
    return int(words[3]), client.stderr.count(': nudged'), seconds


def connections(peer, number):
    silent, nudges, seconds = connect_often(peer, 7300, number)
    print(f'{number} connections in {seconds:.1f} s, {nudges} nudges')
    assert silent == 0, f'{silent} connections heard nothing'
    assert seconds < CONNECTIONS_LIMIT_S, f'{number} connections took {seconds:.1f} s'


@contextlib.contextmanager
def somebody_computes():
    busy = subprocess.Popen([sys.executable, '-c', 'while True: pass'])
    try:
        yield
    finally:
        busy.kill()
        busy.wait()


def survey(peer, number):
    os.environ['EXS_RIG_OUT'] = '/tmp'
    for what, meanwhile in (('undisturbed', contextlib.nullcontext), ('while dumpcap looks on', lambda: Capture(7300)),
                            ('beside a process that computes', somebody_computes)):
        with meanwhile():
            silent, _, seconds = connect_often(peer, 7300, number, '--no-nudge', '--silence-ms', 300)
            print(f'{what}: without nudges {silent} of {number} connections heard nothing in 0.3 s ({seconds:.1f} s in all)')
            silent, nudges, seconds = connect_often(peer, 7301, number)
            print(f'{what}: with nudges {silent} of {number}, {nudges} nudges ({seconds:.1f} s in all)', flush=True)


def main():
    peer, what = sys.argv[1], sys.argv[2]
    if what == 'pings':
        pings(peer)
    elif what == 'connections':
        connections(peer, int(sys.argv[3]))
    else:
        survey(peer, int(sys.argv[3]))


main()
