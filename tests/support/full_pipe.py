# SPDX-License-Identifier: BSD-2-Clause
"""A pipe that nobody reads, for programs whose output may not hold them up."""
import contextlib
import os


def fill(pipe):
    """`pipe`: its writing end, unbuffered; it waits again afterwards."""
    os.set_blocking(pipe.fileno(), False)
    while pipe.write(bytes(4096)):
        pass
    os.set_blocking(pipe.fileno(), True)


@contextlib.contextmanager
def full_pipe():
    """The writing end. Whoever has it finds no room."""
    reader, writer = os.pipe()
    with open(reader, "rb"), open(writer, "wb", buffering=0) as pipe:
        fill(pipe)
        yield pipe
