"""Runs a script in the rig that captures iWARP traffic (capture.py), then has tshark, whose dissectors are not ours, read
the captures: no frame is malformed, no packet is missing, every CRC is right, and the FPDUs are those that were expected.

usage: captured.py SCRIPT ARGUMENTS...      ends with the status of tests/rig/run when that is not 0
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RIG = HERE.parent / 'rig' / 'run'
# RPC over RDMA guesses at every payload, and calls those too short for it malformed.
TSHARK = ['tshark', '--enable-heuristic', 'iwarp_mpa_tcp', '--disable-protocol', 'rpcordma',
          '-o', 'tcp.try_heuristic_first:TRUE']
TAGGED_HEADER_BYTES = 14
OPCODES = {0: 'write', 1: 'read request', 2: 'read response', 3: 'send', 7: 'terminate'}


def tshark(capture, *arguments):
    return subprocess.run([*TSHARK, '-r', capture, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          check=True, text=True).stdout


def fpdus(capture):
    """(opcode, bytes behind a tagged header) of every FPDU."""
    lines = tshark(capture, '-Y', 'iwarp_mpa.ulpdulength', '-T', 'fields', '-e', 'iwarp_rdma.opcode',
                   '-e', 'iwarp_mpa.ulpdulength')
    for line in lines.splitlines():
        opcodes, lengths = (field.split(',') for field in line.split('\t'))
        for opcode, length in zip(opcodes, lengths, strict=True):
            yield int(opcode, 16), int(length) - TAGGED_HEADER_BYTES


def dissect(capture, expected):
    malformed = tshark(capture, '-Y', '_ws.malformed')
    assert not malformed, malformed
    lost = tshark(capture, '-Y', 'tcp.analysis.lost_segment or tcp.analysis.ack_lost_segment')
    assert not lost, f'the capture has gaps:\n{lost}'
    counts = collections.Counter()
    payload = collections.Counter()
    for opcode, length in fpdus(capture):
        name = OPCODES.get(opcode, f'opcode {opcode}')
        if opcode == 0 and length == 0:
            name = 'nudge'
        counts[name] += 1
        payload[name] += length
    print(f'{expected["name"]}: {dict(sorted(counts.items()))}', flush=True)
    checks = tshark(capture, '-Y', 'iwarp_mpa', '-V')
    good, bad = checks.count('Good CRC32'), checks.count('Bad CRC32')
    assert bad == 0, f'{bad} bad CRCs'
    assert good == (sum(counts.values()) if expected['crc'] else 0), f'{good} good CRCs'
    assert 'terminate' not in counts, 'a terminate'
    for name, count in expected.get('counts', {}).items():
        assert counts[name] == count, f'{counts[name]} of {name}, not {count}'
    for name, count in expected.get('payload', {}).items():
        assert payload[name] == count, f'{payload[name]} bytes of {name}, not {count}'
    for name, count in expected.get('at_least', {}).items():
        assert payload[name] >= count, f'{payload[name]} bytes of {name}, not {count} or more'


def main():
    with tempfile.TemporaryDirectory() as folder:
        status = subprocess.run([RIG, 'siw', '--', sys.executable, HERE / sys.argv[1], *sys.argv[2:]],
                                env={**os.environ, 'EXS_RIG_OUT': folder}, check=False).returncode
        if status != 0:
            return status
        captures = sorted(pathlib.Path(folder).glob('*.pcapng'))
        assert captures, 'nothing was captured'
        for capture in captures:
            dissect(capture, json.loads(capture.with_suffix('.json').read_text(encoding='ascii')))
    return 0


sys.exit(main())
