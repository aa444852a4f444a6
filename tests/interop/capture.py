# SPDX-License-Identifier: BSD-2-Clause
"""In the guest: dumpcap on the loopback interface; captured.py dissects outside, where that takes less time."""
import json
import os
import pathlib
import socket
import subprocess
import time

WAIT_LIMIT_S = 120
TAIL_BYTES = 4096


def until(condition, what):
    """Polls for a condition that something else brings about."""
    give_up = time.monotonic() + WAIT_LIMIT_S
    while not condition():
        if time.monotonic() > give_up:
            raise TimeoutError(what)
        time.sleep(0.01)


class Capture:
    """All TCP there while the context lasts (`port` is for marks in it), and what is expected to be seen: a name, whether
    there are CRCs, how many FPDUs of a kind and bytes of payload exactly (`counts`, `payload`) or at least (`at_least`;
    kinds with a + between them: of all of them together)."""

    def __init__(self, port, **expected):
        self.port = port
        self.expected = expected
        self.path = pathlib.Path(os.environ['EXS_RIG_OUT']) / f'{port}.pcapng'

    def __enter__(self):
        self.dumpcap = subprocess.Popen(
            ['dumpcap', '-q', '-i', 'lo', '-f', f'tcp or udp port {self.port}', '-B', '64', '-w', self.path],
            stderr=subprocess.DEVNULL)
        # It has begun when it sees a first datagram, and it has seen all when it has seen the last.
        self._mark(b'the capture begins')
        return self

    def __exit__(self, kind, failure, trace):
        try:
            if kind is None:
                self._mark(b'the capture ends')
                self.path.with_suffix('.json').write_text(json.dumps(self.expected), encoding='ascii')
        finally:
            self.dumpcap.terminate()
            self.dumpcap.wait(WAIT_LIMIT_S)

    def _mark(self, words):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            def arrived():
                sender.sendto(words, ('127.0.0.1', self.port))
                return words in self._tail()
            until(arrived, 'dumpcap')

    def _tail(self):
        if not self.path.exists():
            return b''
        with open(self.path, 'rb') as file:
            file.seek(max(0, self.path.stat().st_size - TAIL_BYTES))
            return file.read()
