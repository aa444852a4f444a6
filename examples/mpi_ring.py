# SPDX-License-Identifier: BSD-2-Clause
"""A number goes round the ranks of an MPI job, then the ranks add up arrays.

usage: mpirun -n RANKS python3 -m mpi4py mpi_ring.py
run-mpi_ring.sh starts it over exs.
The exit status is 0, 1 after an error, or 2 if there are other arguments."""
import sys

if sys.argv[1:]:
    is_question = sys.argv[1:] == ["--help"]
    print(__doc__, file=sys.stdout if is_question else sys.stderr)
    sys.exit(0 if is_question else 2)

import numpy  # noqa: E402  pylint: disable=wrong-import-position
from mpi4py import MPI  # noqa: E402  pylint: disable=wrong-import-position

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()

if rank == 0:
    world.send(1, dest=1 % size)
    number = world.recv(source=(rank - 1) % size)
else:
    number = world.recv(source=rank - 1)
    world.send(number + 1, dest=(rank + 1) % size)

mine = numpy.full(1_000_000, rank + 1, dtype="d")
total = numpy.empty_like(mine)
world.Allreduce(mine, total)
assert (total == size * (size + 1) / 2).all()

if rank == 0:
    print(f"{size} ranks; the number is {number}, the sum {total[0]:.0f}")
