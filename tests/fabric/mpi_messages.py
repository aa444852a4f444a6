# SPDX-License-Identifier: BSD-2-Clause
"""MPI's point-to-point calls and collectives, each checked, by mpi4py: blocking, immediate, synchronous, ready, buffered, persistent,
probes and matched probes, wildcards, cancel, orders, derived types, one-sided windows, all collectives of numpy arrays."""
import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
right, left = (rank + 1) % size, (rank - 1) % size
LENGTHS = [0, 1, 17, 1000, 8192, 8193, 40_000, 1 << 20]


def bytes_of(length, seed):
    return ((numpy.arange(length) * 7 + seed) % 251).astype("u1")


def check(got, length, seed):
    assert (got == bytes_of(length, seed)).all(), (rank, length, seed)


# Each way of sending round the ring.
for tag, length in enumerate(LENGTHS):
    got = numpy.empty(length, "u1")
    for send in [world.Isend, world.Issend]:
        receive = world.Irecv(got, left, tag)
        sent = bytes_of(length, rank)
        request = send(sent, right, tag)
        MPI.Request.Waitall([receive, request])
        check(got, length, left)
    world.Sendrecv(bytes_of(length, rank + 9), right, tag, got, left, tag)
    check(got, length, left + 9)
    receive = world.Irecv(got, left, tag)
    world.Barrier()
    world.Rsend(bytes_of(length, rank + 3), right, tag)
    receive.Wait()
    check(got, length, left + 3)

# Buffered sends need no receive.
MPI.Attach_buffer(MPI.Alloc_mem(1 << 20))
for number in range(10):
    world.Bsend(bytes_of(1000, number), right, 50)
for number in range(10):
    got = numpy.empty(1000, "u1")
    world.Recv(got, left, 50)
    check(got, 1000, number)
MPI.Detach_buffer()

# Persistent requests.
sent, got = numpy.empty(5000, "u1"), numpy.empty(5000, "u1")
requests = [world.Recv_init(got, left, 60), world.Send_init(sent, right, 60)]
for number in range(5):
    sent[:] = bytes_of(5000, rank + number)
    MPI.Prequest.Startall(requests)
    MPI.Request.Waitall(requests)
    check(got, 5000, left + number)
for request in requests:
    request.Free()

# Wildcards and probes; a message that a matched probe has taken is nobody else's. Nobody sends anything else meanwhile.
world.Barrier()
requests = [world.Isend(bytes_of(300 + rank, 1), to, 70 + rank) for to in range(size)]
for _ in range(size):
    status = MPI.Status()
    message = world.Mprobe(MPI.ANY_SOURCE, MPI.ANY_TAG, status)
    source = status.Get_source()
    assert status.Get_tag() == 70 + source and status.Get_count(MPI.BYTE) == 300 + source
    assert not world.Iprobe(source, 70 + source)
    got = numpy.empty(300 + source, "u1")
    message.Recv(got)
    check(got, 300 + source, 1)
MPI.Request.Waitall(requests)
assert world.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG) is False
world.Barrier()

# A receive that is cancelled takes nothing.
got = numpy.empty(10, "u1")
request = world.Irecv(got, left, 5000)
request.Cancel()
status = MPI.Status()
request.Wait(status)
assert status.Is_cancelled(), (status.Get_source(), status.Get_tag(), status.Get_count(), status.Get_error())

# The thousandth message first.
requests = [world.Isend(numpy.full(1, number, "i4"), right, number) for number in range(1000)]
value = numpy.empty(1, "i4")
for number in range(999, -1, -1):
    world.Recv(value, left, number)
    assert value[0] == number
MPI.Request.Waitall(requests)

# A column of a matrix.
matrix = numpy.arange(100, dtype="d").reshape(10, 10)
column = MPI.DOUBLE.Create_vector(10, 1, 10).Commit()
got = numpy.zeros((10, 10))
world.Sendrecv([matrix.ravel()[3:], 1, column], right, 90, [got, 1, column], left, 90)
assert (got[:, 0] == matrix[:, 3]).all() and (got[:, 1:] == 0).all()
column.Free()

# Collectives, in communicators that overlap in time.
twin = world.Dup()
mine = numpy.full(10_000, rank + 1.0)
for communicator in [world, twin, world.Split(rank % 2, rank)]:
    members, place = communicator.Get_size(), communicator.Get_rank()
    total = numpy.empty_like(mine)
    gathered = numpy.empty((members, 10_000))
    communicator.Allgather(mine, gathered)
    communicator.Allreduce(mine, total)
    assert (total == gathered.sum(axis=0)).all()
    one = numpy.full(10_000, 5.0 if place == 0 else 0.0)
    communicator.Bcast(one, 0)
    assert (one == 5.0).all()
    exchanged = numpy.empty((members, 100), "i4")
    communicator.Alltoall(numpy.full((members, 100), place, "i4"), exchanged)
    assert (exchanged == numpy.arange(members)[:, None]).all()

# Windows: by messages, as this provider has no RMA.
memory = numpy.zeros(size, "i4")
window = MPI.Win.Create(memory, 4, comm=world)
window.Fence()
window.Put(numpy.full(1, rank + 1, "i4"), right, rank)
window.Fence()
assert memory[left] == left + 1 and memory.sum() == left + 1
window.Free()

world.Barrier()
if rank == 0:
    print("right")
