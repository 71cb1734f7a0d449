#!/usr/bin/python3
"""What a profile costs a real PyTorch job while it is taken: its steps under PyTorch's profiler over its steps without.

    ./dev bench profile_overhead [--blocks N] [--width N]

Four ranks of DDP over gloo, as tests/integration/torch_profiles.py has them. Blocks of steps without a profile, with
one of operators, and with one that follows functions of Python too (`lockstep profile --python`) take turns, so that
what else the machine does falls on all three alike. Prints the median step of each, and their ratios. Exit status 77
without PyTorch. Only the time in which events are taken counts, not that in which the trace is written: ranks go on
stepping meanwhile.
"""

import argparse
import importlib.util
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

RANKS, STEPS, BATCH, LAYERS, WARM_UP, SKIPPED = 4, 8, 64, 4, 16, 77
KINDS = ("without", "operators", "python")


def work(rank, directory, blocks, width):
    """One rank: trains, and leaves the seconds of its steps by kind of profile."""
    import torch
    from torch.autograd.profiler import profile, record_function

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{directory}/meeting", rank=rank, world_size=RANKS)
    layers = [module for _ in range(LAYERS) for module in (torch.nn.Linear(width, width), torch.nn.ReLU())]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    rows = torch.utils.data.TensorDataset(torch.ones(BATCH * (WARM_UP + STEPS * blocks * len(KINDS)), width))
    batches = iter(torch.utils.data.DataLoader(rows, BATCH))
    taken = {kind: [] for kind in KINDS}

    def step(number):
        begin = time.perf_counter()
        with record_function(f"ProfilerStep#{number}"):
            optimizer.zero_grad()
            model(next(batches)[0]).pow(2).mean().backward()
            optimizer.step()
        return time.perf_counter() - begin

    for number in range(WARM_UP):
        step(number)
    for _ in range(blocks):
        for kind in KINDS:
            torch.distributed.barrier()
            if kind == "without":
                taken[kind] += [step(number) for number in range(STEPS)]
                continue
            with profile(with_stack=kind == "python"):
                taken[kind] += [step(number) for number in range(STEPS)]
    pathlib.Path(directory, f"rank{rank}.json").write_text(json.dumps(taken))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="accepted for uniformity; output is always JSON lines")
    parser.add_argument("--blocks", type=int, default=20)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--work", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(int(arguments.work[0]), arguments.work[1], arguments.blocks, arguments.width)
        return 0
    if importlib.util.find_spec("torch") is None:
        print("profile_overhead: skipped, there is no PyTorch (python3-torch)", file=sys.stderr)
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="lockstep-overhead-") as directory:
        options = ["--blocks", str(arguments.blocks), "--width", str(arguments.width)]
        ranks = [subprocess.Popen([sys.executable, __file__, "--work", str(rank), directory, *options])
                 for rank in range(RANKS)]
        if any([rank.wait() for rank in ranks]):
            sys.exit("profile_overhead: a rank of the job failed")
        texts = [pathlib.Path(directory, f"rank{rank}.json").read_text() for rank in range(RANKS)]
    taken = {kind: [seconds for text in texts for seconds in json.loads(text)[kind]] for kind in KINDS}
    medians = {kind: statistics.median(taken[kind]) for kind in KINDS}
    for kind in KINDS:
        for name, value, unit in ((f"{kind}/steps", len(taken[kind]), "1"),
                                  (f"{kind}/median", round(1000 * medians[kind], 2), "ms"),
                                  (f"{kind}/over_without", round(medians[kind] / medians["without"], 3), "ratio")):
            print(json.dumps({"name": f"profile_overhead/{name}", "value": value, "unit": unit}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
