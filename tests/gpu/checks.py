"""Compares the rings of a job with what the job says it did. Every check returns a list of complaints; none = passed."""

import collections
import statistics

# In these, a start and an end are the time inside the operation on the GPU.
TIMED = ("gpu timer", "kernel window")
CLOCK_TIE_NS = 50_000
LATE_SHARE = 0.8  # of the operations in which the planted rank has to have waited least


def by_rank(rings):
    return {ring.rank: ring for ring in rings}


def check_ranks(rings, world):
    found = sorted(ring.rank for ring in rings)
    return [] if found == list(range(world)) else [f"rings of the ranks {found}, the job has {world}"]


def all_reduces(ring, payload):
    """The operations that the job counts: AllReduce with exactly this payload, which nothing else uses."""
    return [operation for operation in ring.operations if operation.kind == "AllReduce" and operation.bytes == payload]


def check_healthy(rings, truth):
    """`truth`: world, steps, payload. Everything was recorded once, finished, in order and timed."""
    complaints = check_ranks(rings, truth["world"])
    for ring in rings:
        who = f"rank {ring.rank}"
        operations = all_reduces(ring, truth["payload"])
        if len(operations) != truth["steps"]:
            complaints.append(f"{who}: {len(operations)} AllReduce of {truth['payload']} bytes, not {truth['steps']}")
        if ring.lost or not ring.is_accounting_exact():
            complaints.append(f"{who}: {ring.lost} lost, accounting exact: {ring.is_accounting_exact()}")
        unfinished = [operation for operation in operations if operation.state != "finished"]
        if unfinished:
            complaints.append(f"{who}: {len(unfinished)} of a finished job did not finish")
        for operation in operations:
            if not 0 < operation.enqueued_at_ns <= operation.finished_at_ns:
                complaints.append(f"{who}: ticket {operation.ticket} ends before it is enqueued")
        sequences = [operation.sequence for operation in operations]
        if sequences != sorted(set(sequences)):
            complaints.append(f"{who}: sequence numbers do not rise")
    identities = {tuple(sorted(c.id for c in ring.communicators.values() if c.size == truth["world"])) for ring in rings}
    if len(identities) > 1:
        complaints.append("the ranks do not agree on the ids of their communicators")
    return complaints


def least_waiting(rings, payload):
    """How often each rank spent the least time inside an operation, over operations that all ranks have timed."""
    inside = collections.defaultdict(dict)
    for ring in rings:
        for operation in all_reduces(ring, payload):
            if operation.state == "finished" and operation.timing in TIMED:
                inside[operation.sequence][ring.rank] = operation.finished_at_ns - operation.started_at_ns
    complete = [ranks for ranks in inside.values() if len(ranks) == len(rings)]
    return collections.Counter(min(ranks, key=ranks.get) for ranks in complete)


def check_slow(rings, truth):
    """`truth`: world, payload, slow_rank. The planted rank is the one that waits least; without GPU times: nobody is."""
    complaints = check_ranks(rings, truth["world"])
    least = least_waiting(rings, truth["payload"])
    if not least:
        if any(o.timing in TIMED for ring in rings for o in all_reduces(ring, truth["payload"])):
            complaints.append("no operation was timed on all ranks")
        return complaints
    share = least[truth["slow_rank"]] / sum(least.values())
    if share < LATE_SHARE:
        complaints.append(f"rank {truth['slow_rank']} waited least in only {share:.0%} of the operations: {dict(least)}")
    return complaints


def check_stuck(rings, truth):
    """`truth`: world, payload, stuck_rank, stuck_step (from 0). All but the planted rank are inside that operation."""
    complaints = check_ranks(rings, truth["world"])
    for ring in rings:
        who = f"rank {ring.rank}"
        operations = all_reduces(ring, truth["payload"])
        waiting = [operation for operation in operations if operation.state in ("enqueued", "started")]
        if ring.rank == truth["stuck_rank"]:
            if len(operations) != truth["stuck_step"] or waiting:
                complaints.append(f"{who}: is stuck outside, but shows {len(operations)} operations, {len(waiting)} open")
        elif len(operations) != truth["stuck_step"] + 1:
            complaints.append(f"{who}: waits in operation {truth['stuck_step'] + 1}, but shows {len(operations)}")
        elif any(o.timing in TIMED + ("unknown",) for o in operations) and len(waiting) != 1:
            complaints.append(f"{who}: the operation that hangs is not open in the ring")
        if not ring.is_accounting_exact():
            complaints.append(f"{who}: accounting is not exact")
    return complaints


def _quantiles(name, values_us):
    ordered = sorted(values_us)
    return {f"{name}_p50": ordered[len(ordered) // 2], f"{name}_p99": ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]}


def clock_errors(rings, results):
    """How far the times of the rings are from what the job's CUDA events say, in microseconds: of begins, ends and
    durations; and `tie`, how far off the events' own begins and ends may be. Begins and ends whose tie is not within
    CLOCK_TIE_NS are passed over, and so is the first operation, with which NCCL makes its communicator."""
    errors = collections.defaultdict(list)
    for ring in rings:
        job = next(result for result in results if result["rank"] == ring.rank)
        for operation, (begin, end, tie) in list(zip(all_reduces(ring, job["payload"]), job["on_gpu_ns"]))[1:]:
            if operation.state != "finished" or operation.timing not in TIMED:
                continue
            duration = operation.finished_at_ns - operation.started_at_ns
            errors["tie"].append(tie / 1000)
            errors["duration"].append(abs(duration - (end - begin)) / 1000)
            if tie <= CLOCK_TIE_NS:
                errors["begin"].append(abs(operation.started_at_ns - begin) / 1000)
                errors["end"].append(abs(operation.finished_at_ns - end) / 1000)
    return {key: value for name, values in sorted(errors.items()) for key, value in _quantiles(name, values).items()}


def overhead(without, recorded):
    """Of step times in seconds, one list per run: (median without, median with, difference as a share)."""
    plain = statistics.median(statistics.median(run) for run in without)
    more = statistics.median(statistics.median(run) for run in recorded)
    return plain, more, more / plain - 1
