#!/usr/bin/python3
"""A real PyTorch job of four ranks (DDP over gloo, a real data loader) with a planted fault, profiled by PyTorch
itself, and what `lockstep diagnose` says of the profiles.

    torch_profiles.py LOCKSTEP [--runs N] [--keep FOLDER]
                      [--fault healthy|loader|garbage|neighbour|synchronisation|batch]

Or, of what is built: ./dev test [--test_arg=--runs=N] //tests/integration:torch_profiles_test

Right is a report of one finding: the fault's, with its function, ranks and class, and nothing else. Exit status 0 if
all runs are right, 1 if not, 77 without PyTorch (Debian's python3-torch: 146 MB to fetch and 634 MB installed, too
much for every run of CI). Debian's PyTorch has no Kineto: its profiles have operators and ranges, and no Python
functions, so that the collector of garbage is made visible by its own callbacks. The neighbour needs two cores.
"""

import argparse
import gc
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

RANKS, WARM_UP, STEPS, BATCH, WIDTH = 4, 3, 12, 64, 256
SKIPPED = 77
SICK = 2
SLOWED, MOST_NEIGHBOURS = 3, 40  # times, by its neighbours
# fault -> what a verdict has to say: scope, class, rank or None for all, words of the evidence, and of a function.
# A host on which others are at work is observed and not accused, since a profile is one window. No function is to
# blame for it: the evidence names those that lose most, which are the products of matrices.
EXPECTED = {
    "healthy": None,
    "loader": ("software", "storage_stall", SICK, "data loading", "DataLoader"),
    "garbage": ("software", "job_regression", None, "garbage collection", "garbage collection (operator)"),
    "neighbour": ("unknown", "host_slow", SICK, "contention on the host", "mm (operator)"),
    "synchronisation": ("software", "job_regression", None, "synchronisation", "barrier (operator)"),
    "batch": ("software", "host_slow", SICK, "work on the host", "mm (operator)"),
}


class Rows:
    """Rows of a data set; those of the sick rank come from a slow disk."""

    def __init__(self, batch, seconds):
        self.batch, self.seconds = batch, seconds

    def __len__(self):
        return self.batch * (WARM_UP + STEPS)

    def __getitem__(self, index):
        import torch

        if self.seconds and index % self.batch == 0:
            time.sleep(self.seconds)
        return torch.full((WIDTH,), float(index % 7))


def watch_garbage(record_function):
    """Ranges of the profile for what the collector of garbage does."""
    ranges = []

    def watch(phase, _):
        if phase == "start":
            ranges.append(record_function("garbage collection"))
            ranges[-1].__enter__()
        elif ranges:
            ranges.pop().__exit__(None, None, None)

    gc.callbacks.append(watch)


def core_of(rank):
    """Of the first two cores, one is the sick rank's own, but for its neighbours; the others share the other one."""
    cores = sorted(os.sched_getaffinity(0))
    return cores[1 if rank == SICK else 0]


def go_first():
    """Before whatever else the machine does: what is left of a core to a rank is to follow from its neighbours."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -10)
    except PermissionError:
        pass  # what ranks got of their cores tells whether it mattered


def move_in():
    """One more neighbour of the sick rank: a process of somebody else that computes on its core."""

    def take_place():
        go_first()
        os.sched_setaffinity(0, {core_of(SICK)})

    return subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=take_place)


def crowd(ranks, directory, neighbours):
    """Until the first rank ends: so many neighbours that the sick rank gets a third of what the others get of a core,
    whatever else the machine does meanwhile."""
    while not all(pathlib.Path(directory, f"begins{rank}").exists() for rank in range(RANKS)):
        if any(rank.poll() is not None for rank in ranks):
            return
        time.sleep(0.2)
    neighbours += [move_in() for _ in range(SLOWED * (RANKS - 1) - 1)]
    before = [scheduled(rank.pid) for rank in ranks]
    while all(rank.poll() is None for rank in ranks):
        time.sleep(1)
        try:
            now = [scheduled(rank.pid) for rank in ranks]
        except (FileNotFoundError, ProcessLookupError, ValueError):
            return  # one is gone
        shares = [share_of(*pair) for pair in zip(before, now)]
        if not is_slowed(shares, SLOWED) and len(neighbours) < MOST_NEIGHBOURS:
            neighbours.append(move_in())
        before = now


def meet_at_each_layer(model):
    """What somebody left behind who looked for the layer in which ranks wait for each other for ever."""
    import torch

    for layer in model:
        layer.register_forward_hook(lambda *_: torch.distributed.barrier())
        layer.register_full_backward_hook(lambda *_: torch.distributed.barrier())


def scheduled(pid):
    """Nanoseconds that the first thread of a process has run, and that it has waited for its core."""
    ran, waited, _ = pathlib.Path(f"/proc/{pid}/task/{pid}/schedstat").read_text().split()
    return int(ran), int(waited)


def share_of(before, now):
    """Of a core, which part a thread got while it could run."""
    ran, waited = now[0] - before[0], now[1] - before[1]
    return round(ran / max(1, ran + waited), 2)


def is_slowed(shares, times):
    """Whether the sick rank gets less than what the others get by that factor."""
    others = sorted(shares[:SICK] + shares[SICK + 1:])
    return times * shares[SICK] <= others[len(others) // 2]


def work(rank, directory, fault):
    """One rank: trains, and leaves its profile."""
    if fault == "neighbour":
        go_first()
    import torch
    from torch.autograd.profiler import profile, record_function

    torch.set_num_threads(1)
    if fault == "neighbour":
        os.sched_setaffinity(0, {core_of(rank)})  # before the threads of gloo begin
        pathlib.Path(directory, f"begins{rank}").touch()
    meeting = f"file://{directory}/meeting"
    torch.distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=RANKS)
    layers = [module for _ in range(4) for module in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU())]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
    if fault == "synchronisation":
        meet_at_each_layer(model.module)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    batch = BATCH * (4 if fault == "batch" and rank == SICK else 1)
    rows = Rows(batch, 0.05 if fault == "loader" and rank == SICK else 0)
    batches = iter(torch.utils.data.DataLoader(rows, batch))
    kept = [[number] for number in range(500_000 if fault == "garbage" else 0)]
    gc.disable()
    watch_garbage(record_function)

    def step(number):
        with record_function(f"ProfilerStep#{number}"):
            optimizer.zero_grad()
            model(next(batches)).pow(2).mean().backward()
            optimizer.step()
            if fault == "garbage" and number % 3 == 0:
                gc.collect()

    for number in range(WARM_UP):
        step(number)
    torch.distributed.barrier()
    before = scheduled(os.getpid())
    with profile() as profiled:
        for number in range(WARM_UP, WARM_UP + STEPS):
            step(number)
    pathlib.Path(directory, f"core{rank}").write_text(str(share_of(before, scheduled(os.getpid()))))
    profiled.export_chrome_trace(f"{directory}/traces/rank{rank}.json")
    del kept


def run(lockstep, fault, keep):
    """The report of one job, and which part of a core each rank got while it could run.

    keep: where to leave the traces, if at all.
    """
    with tempfile.TemporaryDirectory(prefix="lockstep-torch-") as directory:
        traces = pathlib.Path(directory, "traces")
        traces.mkdir()
        neighbours = []
        try:
            ranks = [subprocess.Popen([sys.executable, __file__, "--work", str(rank), directory, fault])
                     for rank in range(RANKS)]
            if fault == "neighbour":
                crowd(ranks, directory, neighbours)
            failed = any([rank.wait() for rank in ranks])
        finally:
            for neighbour in neighbours:
                neighbour.kill()
                neighbour.wait()
        if failed:
            sys.exit("torch_profiles: a rank of the job failed")
        if keep:
            shutil.copytree(traces, keep, dirs_exist_ok=True)
        cores = [float(pathlib.Path(directory, f"core{rank}").read_text()) for rank in range(RANKS)]
        command = [lockstep, "-o", "json", "diagnose", traces]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["jobs"][0], cores


def complaint(job, fault):
    """What is wrong with the report, or None."""
    verdicts = [verdict for verdict in job["verdicts"] if verdict["class"] != "unknown"]
    if EXPECTED[fault] is None:
        return f"named somebody: {verdicts}" if verdicts else None
    scope, kind, rank, words, function = EXPECTED[fault]
    if len(verdicts) == 1:
        verdict = verdicts[0]
        named = [culprit["rank"] for culprit in verdict["culprits"]]
        text = " ".join(piece["text"] for piece in verdict["evidence"])
        where = named == ([] if rank is None else [rank])
        if (verdict["scope"], verdict["class"]) == (scope, kind) and where and words in text and function in text:
            return None
    return f"expected {EXPECTED[fault]} alone, found {job['state']}: {verdicts}"


def main():
    if sys.argv[1:2] == ["--work"]:
        work(int(sys.argv[2]), sys.argv[3], sys.argv[4])
        return 0
    parser = argparse.ArgumentParser()
    parser.add_argument("lockstep")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--fault", choices=EXPECTED)
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the traces of all runs")
    arguments = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        print("torch_profiles: skipped, there is no PyTorch (python3-torch)", file=sys.stderr)
        return SKIPPED
    wrong = 0
    for fault in [arguments.fault] if arguments.fault else EXPECTED:
        number, unplanted = 0, 0
        while number < arguments.runs and unplanted <= arguments.runs:
            keep = arguments.keep and arguments.keep / f"{fault}{number}"
            report, cores = run(arguments.lockstep, fault, keep)
            if fault == "neighbour" and not is_slowed(cores, 2):
                unplanted += 1
                print(f"{fault} {number}: not planted; of a core, ranks got {cores}", flush=True)
                continue
            found = complaint(report, fault)
            wrong += found is not None
            print(f"{fault} {number}: {found or 'right'}; of a core, ranks got {cores}", flush=True)
            number += 1
        wrong += arguments.runs - number
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
