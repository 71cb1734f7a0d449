#!/usr/bin/env python3
"""Jobs that neither simulator plays: layers that all make calls of one size, and whose gradients are reduced one by one,
beside the backward pass, and waited for at the end of the step. Written without looking at either.

    layered_jobs.py LOCKSTEP [--jobs N] [--first SEED] [--lost SHARE]

Plays N jobs of each shape and fault, has `lockstep diagnose` judge the records, and says what was wrong. Exit status 0 if
all were right: the sick host alone is accused, or nobody in a healthy job.
"""

import argparse
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile

RANKS, GPUS_PER_HOST, STEPS = 64, 8, 30
BYTES = 1 << 23
HEADER = "job,host,gpu,rank,comm,comm_rank,comm_size,seq,op,peer,bytes,enqueue_ns,start_ns,end_ns\n"
FAULTS = ("healthy", "gpu", "host")


def groups(name, members):
    return [(f"{name}{number}", ranks) for number, ranks in enumerate(members)]


WORLD = groups("world", [list(range(RANKS))])
HOSTS = groups("host", [list(range(first, first + GPUS_PER_HOST)) for first in range(0, RANKS, GPUS_PER_HOST)])
ACROSS = groups("across", [list(range(place, RANKS, GPUS_PER_HOST)) for place in range(GPUS_PER_HOST)])
PAIRS = groups("pair", [[first, first + 1] for first in range(0, RANKS, 2)])
ACROSS_PAIRS = groups("data", [list(range(place, RANKS, 2)) for place in range(2)])


class Job:
    """Ranks whose GPUs each have a stream of work and one per kind of group. Seconds; clocks of hosts are apart."""

    def __init__(self, seed, fault):
        self.chance = random.Random(seed)
        draw = self.chance.uniform
        self.layers, self.base = self.chance.randint(4, 12), draw(2e-3, 8e-3)
        self.exchange, self.network = draw(0.3e-3, 1e-3), draw(0.3, 0.9)
        self.speed = [min(1.02, max(0.98, self.chance.gauss(1, 0.007))) for _ in range(RANKS)]
        self.sick, self.factor = self.chance.randrange(RANKS), draw(1.2, 1.6)
        self.onset = self.chance.choice((0, self.chance.randint(6, 13)))
        self.fault, self.lead, self.step = fault, draw(2e-3, 60e-3), 0
        self.offset = [draw(0, 4) for _ in range(RANKS // GPUS_PER_HOST)]
        self.now = [draw(0, 2e-3) for _ in range(RANKS)]
        self.streams, self.sequences, self.records = {}, {}, []

    def is_sick(self, rank):
        if self.fault == "healthy" or self.step < self.onset:
            return False
        return rank == self.sick if self.fault == "gpu" else rank // GPUS_PER_HOST == self.sick // GPUS_PER_HOST

    def work(self, seconds, spread=0.008):
        for rank in range(RANKS):
            times = self.speed[rank] * self.chance.lognormvariate(0, spread) * (self.factor if self.is_sick(rank) else 1)
            self.now[rank] += seconds * times

    def meet(self, stream, members, operation, seconds, ready):
        """By rank: when the operation is over that may begin when `ready`, behind those of its stream."""
        free = self.streams.get(stream, [0] * RANKS)
        end = [0] * RANKS
        for name, ranks in members:
            start = {rank: max(free[rank], ready[rank]) + self.chance.uniform(3e-6, 15e-6) for rank in ranks}
            over = max(start.values()) + seconds * self.chance.lognormvariate(0, 0.03)
            self.sequences[name] = self.sequences.get(name, 0) + 1
            for place, rank in enumerate(ranks):
                end[rank] = over + self.chance.uniform(0, 4e-6)
                self.records.append([rank, name, place, len(ranks), self.sequences[name], operation, start[rank], end[rank]])
        self.streams[stream] = end
        return end

    def write(self, path, lost):
        """The host calls everything in the order of the program, ahead of the GPU."""
        called, latest = [0] * len(self.records), [float("inf")] * RANKS
        for number in range(len(self.records) - 1, -1, -1):
            rank, start = self.records[number][0], self.records[number][6]
            latest[rank] = min(latest[rank] - 1e-6, start - self.lead * self.chance.uniform(0.8, 1.2))
            called[number] = latest[rank]
        with open(path, "w", encoding="utf-8") as file:
            file.write(HEADER)
            for (rank, name, place, size, sequence, operation, start, end), call in zip(self.records, called):
                if self.chance.random() < lost:
                    continue
                host = rank // GPUS_PER_HOST
                times = ",".join(str(int(1e9 * (100 + self.offset[host] + moment))) for moment in (call, start, end))
                file.write(f"j,h{host},{rank % GPUS_PER_HOST},{rank},{name},{place},{size},{sequence},{operation},-1,"
                           f"{BYTES},{times}\n")


def tensor_step(job):
    """Tensor groups of two, and a reduction over the data group for each layer."""
    for _ in range(job.layers):
        job.work(job.base)
        job.now = job.meet("tensor", PAIRS, "AllReduce", job.exchange, job.now)
    for _ in range(job.layers):
        job.work(2 * job.base)
        job.now = job.meet("tensor", PAIRS, "AllReduce", job.exchange, job.now)
        reduced = job.meet("data", ACROSS_PAIRS, "AllReduce", 2 * job.base * job.network, job.now)
    return reduced


def expert_step(job):
    """Experts within a host: dispatch and combine in each layer, and a reduction across hosts beside the way back."""
    for back in (1, 2):
        for _ in range(job.layers):
            job.work(0.6 * back * job.base)
            job.now = job.meet("experts", HOSTS, "AllToAll", job.exchange, job.now)
            job.work(0.4 * back * job.base, spread=0.15)
            job.now = job.meet("experts", HOSTS, "AllToAll", job.exchange, job.now)
            if back == 2:
                reduced = job.meet("data", ACROSS, "AllReduce", job.base * job.network, job.now)
    return reduced


def sharded_step(job, members=None, across=None):
    """Parameters are gathered a layer ahead, both ways, gradients scattered; in hybrid jobs reduced across hosts, too."""
    members = members or WORLD
    for back in (1, 2):
        gathered = job.meet("gather", members, "AllGather", job.base * job.network, job.now)
        for layer in range(job.layers):
            ready = list(map(max, job.now, gathered))
            if layer + 1 < job.layers:
                gathered = job.meet("gather", members, "AllGather", job.base * job.network, ready)
            job.now = ready
            job.work(back * job.base)
            if back == 2:
                reduced = job.meet("scatter", members, "ReduceScatter", job.base * job.network, job.now)
                if across:
                    reduced = job.meet("across", across, "AllReduce", job.base * job.network, reduced)
    return reduced


SHAPES = {"tensor": tensor_step, "experts": expert_step, "sharded": sharded_step,
          "hybrid": lambda job: sharded_step(job, HOSTS, ACROSS)}


def play(shape, fault, seed):
    job = Job(f"{shape} {fault} {seed}", fault)
    for job.step in range(STEPS):
        job.now = list(map(max, SHAPES[shape](job), job.now))
        job.work(0.5 * job.base)
    return job


def accused(report):
    return sorted({culprit["host"] for verdict in report["jobs"][0]["verdicts"]
                   if verdict["scope"] in ("machine", "network") for culprit in verdict["culprits"]})


def judge(lockstep, shape, fault, seed, lost=0.0):
    """What was wrong; empty = nothing."""
    job = play(shape, fault, seed)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "ops.csv"
        job.write(path, lost)
        done = subprocess.run([lockstep, "-o", "json", "diagnose", path], capture_output=True, text=True, check=True)
    expected = [] if fault == "healthy" else [f"h{job.sick // GPUS_PER_HOST}"]
    found = accused(json.loads(done.stdout))
    return "" if found == expected else (f"{shape}, {fault}, seed {seed}: accused {found}, not {expected}; {job.layers} "
                                         f"layers, {job.factor:.2f} times from step {job.onset}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lockstep", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--lost", type=float, default=0, help="share of the records that are lost")
    arguments = parser.parse_args()
    right = played = 0
    for shape, fault in itertools.product(SHAPES, FAULTS):
        for seed in range(arguments.first, arguments.first + arguments.jobs):
            wrong = judge(arguments.lockstep.resolve(), shape, fault, seed, arguments.lost)
            played += 1
            right += not wrong
            if wrong:
                print(f"WRONG {wrong}", flush=True)
    print(f"{right} of {played} right")
    return 0 if right == played else 1


if __name__ == "__main__":
    sys.exit(main())
