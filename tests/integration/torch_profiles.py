#!/usr/bin/python3
"""A real PyTorch job of four ranks (DDP over gloo, a real data loader) with a planted fault, profiled by PyTorch itself,
and what `lockstep diagnose` says of the profiles.

    torch_profiles.py LOCKSTEP [--runs N] [--fault healthy|loader|garbage|batch]

Exit status 0 if all runs are named right, 1 if not, 77 without PyTorch (Debian's python3-torch: 146 MB to fetch and 634 MB
installed, too much for every run of CI). Debian's PyTorch has no Kineto: its profiles have operators and ranges, and no
Python functions, so that the collector of garbage is made visible by its own callbacks.
"""

import argparse
import gc
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

RANKS, WARM_UP, STEPS, BATCH, WIDTH = 4, 3, 12, 64, 512
SKIPPED = 77
SICK = 2
# fault -> what a verdict has to say: (scope or None for any, class, rank or None for all, words of the evidence)
EXPECTED = {
    "healthy": None,
    "loader": ("software", "storage_stall", SICK, "data loading"),
    "batch": (None, "host_slow", SICK, "on the host"),
    "garbage": ("software", "job_regression", None, "garbage collection"),
}


class Rows:
    """Rows of a data set; those of the sick rank come from a slow disk."""

    def __init__(self, batch, seconds):
        self.batch, self.seconds = batch, seconds

    def __len__(self):
        return self.batch * (WARM_UP + STEPS)

    def __getitem__(self, index):
        import time

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


def work(rank, directory, fault):
    """One rank: trains, and leaves its profile."""
    import torch
    from torch.autograd.profiler import profile, record_function

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{directory}/meeting", rank=rank, world_size=RANKS)
    layers = [module for _ in range(4) for module in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU())]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    batch = BATCH * (4 if fault == "batch" and rank == SICK else 1)
    rows = Rows(batch, 0.2 if fault == "loader" and rank == SICK else 0)
    batches = iter(torch.utils.data.DataLoader(rows, batch))
    kept = [[number] for number in range(2_000_000 if fault == "garbage" else 0)]
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
    with profile() as profiled:
        for number in range(WARM_UP, WARM_UP + STEPS):
            step(number)
    profiled.export_chrome_trace(f"{directory}/traces/rank{rank}.json")
    del kept


def run(lockstep, fault):
    """The report of one job."""
    with tempfile.TemporaryDirectory(prefix="lockstep-torch-") as directory:
        traces = pathlib.Path(directory, "traces")
        traces.mkdir()
        ranks = [subprocess.Popen([sys.executable, __file__, "--work", str(rank), directory, fault])
                 for rank in range(RANKS)]
        if any([rank.wait() for rank in ranks]):
            sys.exit("torch_profiles: a rank of the job failed")
        done = subprocess.run([lockstep, "-o", "json", "diagnose", traces], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["jobs"][0]


def complaint(job, fault):
    """What is wrong with the report, or None."""
    verdicts = [verdict for verdict in job["verdicts"] if verdict["class"] != "unknown"]
    if EXPECTED[fault] is None:
        return f"named somebody: {verdicts}" if verdicts else None
    scope, kind, rank, words = EXPECTED[fault]
    for verdict in verdicts:
        named = [culprit["rank"] for culprit in verdict["culprits"]]
        text = " ".join(piece["text"] for piece in verdict["evidence"])
        where = named == ([] if rank is None else [rank])
        if (scope or verdict["scope"]) == verdict["scope"] and verdict["class"] == kind and where and words in text:
            return None
    return f"expected {EXPECTED[fault]}, found {job['state']}: {verdicts}"


def main():
    if sys.argv[1:2] == ["--work"]:
        work(int(sys.argv[2]), sys.argv[3], sys.argv[4])
        return 0
    parser = argparse.ArgumentParser()
    parser.add_argument("lockstep")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--fault", choices=EXPECTED)
    arguments = parser.parse_args()
    if importlib.util.find_spec("torch") is None:
        print("torch_profiles: skipped, there is no PyTorch (python3-torch)", file=sys.stderr)
        return SKIPPED
    wrong = 0
    for fault in [arguments.fault] if arguments.fault else EXPECTED:
        for number in range(arguments.runs):
            found = complaint(run(arguments.lockstep, fault), fault)
            wrong += found is not None
            print(f"{fault} {number}: {found or 'right'}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
