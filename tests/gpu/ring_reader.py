"""Reads a recorder's ring (docs/recorder-format.md, layout 1) with nothing but Python's standard library.

Written from the page alone, so that it also checks the page. Consistent only for rings that nobody writes at the moment,
or whose slots are read twice: read_ring() takes a slot only if its version is even and the same in two reads of the file.
"""

import dataclasses
import struct

MAGIC = b"LOCKRING"
LAYOUT_VERSION = 1
HEADER = struct.Struct("<8sIIIIII Q IIIi Q qq iiii 48s64s128s32s II QQ II 112x 5Q 24x 64x QQ6I4Q56x 256x")
COMMUNICATOR = struct.Struct("<IiiiQq64sQQQq")
TRANSFER_BYTES = 64
OPERATION = struct.Struct("<IBBBBQQQqqqIiIHBBqI44x")
NO_COMMUNICATOR = 0xFFFFFFFF
TRANSFER_CAPACITY = 28  # index of a field of HEADER

RECORDER_KINDS = ("unknown", "mpi", "nccl-profiler", "nccl-preload")
RECORDER_STATES = ("initializing", "active", "finalized", "disabled")
OPERATION_KINDS = ("Unknown", "AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce", "AllToAll", "Gather",
                   "Scatter", "Barrier", "Send", "Recv")
OPERATION_STATES = ("empty", "enqueued", "started", "finished")
TIMING_QUALITIES = ("unknown", "gpu timer", "kernel window", "proxy envelope", "host call", "host enqueue")


class NotARing(Exception):
    """The file is no ring, or one of a layout that this reader does not know."""


@dataclasses.dataclass(frozen=True)
class Communicator:
    id: int
    name: str
    size: int
    rank: int
    nodes: int
    freed: bool
    enqueued: int
    started: int
    finished: int


@dataclasses.dataclass(frozen=True)
class Operation:
    ticket: int
    kind: str
    state: str
    timing: str
    sequence: int
    bytes: int
    enqueued_at_ns: int
    started_at_ns: int
    finished_at_ns: int
    communicator: int  # index; None = did not fit into the table
    peer: int
    datatype_bytes: int
    channels: int


@dataclasses.dataclass(frozen=True)
class Ring:
    kind: str
    state: str
    disabled_reason: int
    library_version: int
    abi_version: int
    pid: int
    rank: int
    world_size: int
    local_rank: int
    job: str
    active_mask: int
    enqueued: int
    finished: int
    lost: int
    communicators_dropped: int
    events_ignored: int
    callbacks: int           # of an NCCL recorder, and the time spent inside them
    callback_ns: int
    governor_level: int
    gpu_clock_error_ns: int  # 0 = no GPU times yet
    communicators: dict  # by index
    operations: list     # by ticket

    def in_flight(self):
        return [operation for operation in self.operations if operation.state in ("enqueued", "started")]

    def is_accounting_exact(self):
        return self.enqueued == self.finished + len(self.in_flight()) + self.lost


def text(field):
    return field.split(b"\0", 1)[0].decode("utf-8", "replace")


def word(words, number):
    return words[number] if number < len(words) else "unknown"


def _check(fields, size):
    magic, layout, header_bytes, communicator_bytes, communicators, operation_bytes, operations, total = fields[:8]
    if magic != MAGIC:
        raise NotARing("no magic number")
    if layout != LAYOUT_VERSION:
        raise NotARing(f"layout {layout}, this reader knows {LAYOUT_VERSION}")
    if (header_bytes, communicator_bytes, operation_bytes) != (HEADER.size, COMMUNICATOR.size, OPERATION.size):
        raise NotARing("record sizes that do not belong to the layout")
    if operations == 0 or operations & (operations - 1):
        raise NotARing(f"{operations} operations are no power of two")
    transfers = fields[TRANSFER_CAPACITY]
    expected = (header_bytes + communicators * communicator_bytes + operations * operation_bytes
                + transfers * TRANSFER_BYTES)
    if total != expected or size < expected:
        raise NotARing(f"{size} bytes where the header promises {expected}")


def _communicators(data, count):
    found = {}
    for index in range(count):
        ready, size, rank, nodes, identity, _, name, enqueued, started, finished, _ = COMMUNICATOR.unpack_from(
            data, HEADER.size + index * COMMUNICATOR.size)
        if ready != 0:
            found[index] = Communicator(identity, text(name), size, rank, nodes, ready == 2, enqueued, started, finished)
    return found


def _operations(first, second, offset, capacity):
    found = []
    for index in range(capacity):
        at = offset + index * OPERATION.size
        if first[at:at + OPERATION.size] != second[at:at + OPERATION.size]:
            continue
        (version, state, kind, timing, _, ticket, sequence, size, enqueued, started, finished, communicator, peer,
         datatype, channels, _, _, _, _) = OPERATION.unpack_from(first, at)
        if version % 2 == 1 or state == 0 or state >= len(OPERATION_STATES):
            continue
        found.append(Operation(ticket, word(OPERATION_KINDS, kind), OPERATION_STATES[state],
                               word(TIMING_QUALITIES, timing), sequence, size, enqueued, started, finished,
                               None if communicator == NO_COMMUNICATOR else communicator, peer, datatype, channels))
    return sorted(found, key=lambda operation: operation.ticket)


def read_ring(path):
    with open(path, "rb") as file:
        first = file.read()
        file.seek(0)
        second = file.read()
    if len(first) < HEADER.size or len(second) < len(first):
        raise NotARing("shorter than a header")
    fields = HEADER.unpack_from(first)
    _check(fields, len(first))
    (_, _, _, _, communicator_capacity, _, operation_capacity, _, kind, library, abi, pid, _, _, _, rank, world, local, _,
     _, _, job, _, state, disabled, mask, _, communicator_count, _, enqueued, finished, lost, dropped, ignored, callbacks, callback_ns,
     governor_level, _, _, _, gpu_clock_error, *_) = fields
    offset = HEADER.size + communicator_capacity * COMMUNICATOR.size
    return Ring(word(RECORDER_KINDS, kind), word(RECORDER_STATES, state), disabled, library, abi, pid, rank, world, local,
                text(job), mask, enqueued, finished, lost, dropped, ignored, callbacks, callback_ns, governor_level,
                gpu_clock_error,
                _communicators(first, min(communicator_count, communicator_capacity)),
                _operations(first, second, offset, operation_capacity))
