# SPDX-License-Identifier: BSD-2-Clause
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


FIELDS = ('iwarp_rdma.opcode', 'iwarp_mpa.ulpdulength', 'iwarp_mpa.crc_check', '_ws.malformed', 'tcp.analysis.lost_segment',
          'tcp.analysis.ack_lost_segment')


def packets(capture):
    """The values of FIELDS in each packet, a list for each field."""
    columns = [word for field in FIELDS for word in ('-e', field)]
    for line in tshark(capture, '-T', 'fields', *columns).splitlines():
        yield [column.split(',') if column else [] for column in line.split('\t')]


def check_crcs(capture, all_fpdus):
    # Whether a CRC is right is told in words only.
    words = tshark(capture, '-Y', 'iwarp_mpa', '-V')
    good, bad = words.count('Good CRC32'), words.count('Bad CRC32')
    assert (good, bad) == (all_fpdus, 0), f'{good} good CRCs and {bad} bad ones in {all_fpdus} FPDUs'


def dissect(capture, expected):
    counts = collections.Counter()
    payload = collections.Counter()
    for opcodes, lengths, checked, malformed, *lost in packets(capture):
        assert not malformed, 'a malformed packet'
        assert not any(lost), 'the capture has a gap'
        assert expected['crc'] or not checked, 'a CRC where none was agreed'
        for opcode, length in zip(opcodes, lengths, strict=True):
            name = OPCODES.get(int(opcode, 16), f'opcode {opcode}')
            behind_header = int(length) - TAGGED_HEADER_BYTES
            if name == 'write' and behind_header == 0:
                name = 'nudge'
            counts[name] += 1
            payload[name] += behind_header
    print(f'{expected["name"]}: {dict(sorted(counts.items()))}', flush=True)
    if expected['crc']:
        check_crcs(capture, sum(counts.values()))
    assert 'terminate' not in counts, 'a terminate'
    for name, count in expected.get('counts', {}).items():
        assert counts[name] == count, f'{counts[name]} of {name}, not {count}'
    for name, count in expected.get('payload', {}).items():
        assert payload[name] == count, f'{payload[name]} bytes of {name}, not {count}'
    for names, count in expected.get('at_least', {}).items():
        seen = sum(payload[name] for name in names.split('+'))
        assert seen >= count, f'{seen} bytes of {names}, not {count} or more'


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
