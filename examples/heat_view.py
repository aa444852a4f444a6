#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The blocking calls of exs from Python: prints ten whole steps of a running heat.

usage: heat_view.py PORT [ADDRESS]
ADDRESS is 127.0.0.1 by default.
The exit status is 0, 1 after an error, or 2 without arguments."""
import ctypes
import os
import socket
import struct
import sys

if sys.argv[1:] in ([], ["--help"]):
    print(__doc__, file=sys.stderr if not sys.argv[1:] else sys.stdout)
    sys.exit(0 if sys.argv[1:] else 2)

EXS_VERSION, SIDE = 1, 128
exs = ctypes.CDLL("libexs.so.0", use_errno=True)
exs.exs_recv_snapshot.restype = ctypes.c_ssize_t
exs.exs_recv_snapshot.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_uint64,
                                  ctypes.c_uint64, ctypes.c_void_p, ctypes.c_int64]
plate = ctypes.create_string_buffer(16 + SIDE * SIDE * 4)  # step, width, height, a grid of floats: as in heat.c


def check(result):
    if result == -1:
        sys.exit(os.strerror(ctypes.get_errno()))
    return result


port, host = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1"
address = struct.pack("=H2s4s8x", socket.AF_INET, struct.pack("!H", port), socket.inet_aton(host))
check(exs.exs_init(EXS_VERSION))
region = check(exs.exs_mregister(plate, ctypes.c_size_t(len(plate)), 0))
heat = check(exs.exs_socket(socket.AF_INET, socket.SOCK_SEQPACKET, 0))
check(exs.exs_connect_sync(heat, address, len(address)))
for _ in range(10):
    check(exs.exs_recv_snapshot(heat, plate, len(plate), region, 0, 0, None, 30_000_000_000))
    step, width, height, *cells = struct.unpack(f"=QII{SIDE * SIDE}f", plate)
    assert (width, height) == (SIDE, SIDE) and all(0 <= heat_here <= 100 for heat_here in cells)
    print(f"step {step}: {min(cells):.1f} to {max(cells):.1f}, mean {sum(cells) / len(cells):.2f}")
check(exs.exs_fini())
