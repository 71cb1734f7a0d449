#!/usr/bin/env python3
"""What recording costs a real job: the time of a training step with the recorder over that without.

Runs the demo job in pairs, in the order A B, B A, A B, ... so that slow changes of the machine cancel, and prints the
geometric mean of the ratios of median step times with its 95 % confidence interval. Target: at most 0.5 %.

One rank per core, bound to it: with more ranks than cores the scheduler's choices drown an effect of this size.
"""

import argparse
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

RANKS = 2
# Two-sided 95 % quantiles of Student's t by degrees of freedom; the last serves for all larger ones.
STUDENT_T = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11]


def median_step_ms(root, steps, recorded, ring_directory):
    """Runs the job once; the median time of its steps on rank 0."""
    command = ["mpirun", "--oversubscribe", "--bind-to", "core", "-n", str(RANKS)]
    if recorded:
        library = root / "agent/recorder/liblockstep-mpi.so"
        command += ["-x", f"LOCKSTEP_RING_DIR={ring_directory}", "-x", f"LD_PRELOAD={library}"]
    command += [str(root / "tests/demo/train"), "--steps", str(steps)]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    return float(re.search(r"median_step_ms ([\d.]+)", output).group(1))


def paired_log_ratios(root, pairs, steps):
    ratios = []
    for pair in range(pairs):
        times = {}
        for recorded in (False, True) if pair % 2 == 0 else (True, False):
            with tempfile.TemporaryDirectory(dir="/dev/shm") as rings:
                times[recorded] = median_step_ms(root, steps, recorded, rings)
                if recorded and len(list(pathlib.Path(rings).glob("*.ring"))) != RANKS:
                    sys.exit("step_overhead: the job was not recorded")
        print(f"pair {pair}: {times[False]:.2f} ms alone, {times[True]:.2f} ms recorded", file=sys.stderr)
        ratios.append(math.log(times[True] / times[False]))
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="accepted for uniformity; output is always JSON lines")
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--steps", type=int, default=150, help="per run")
    arguments = parser.parse_args()
    root = pathlib.Path(sys.argv[0] + ".runfiles").absolute() / "lockstep"

    ratios = paired_log_ratios(root, arguments.pairs, arguments.steps)
    mean = statistics.mean(ratios)
    freedom = len(ratios) - 1
    half = (STUDENT_T[min(freedom, len(STUDENT_T)) - 1] * statistics.stdev(ratios) / math.sqrt(len(ratios))
            if freedom > 0 else math.inf)
    for name, value in [("step_overhead", mean), ("step_overhead_low", mean - half), ("step_overhead_high", mean + half)]:
        percent = 100 * (math.exp(value) - 1) if math.isfinite(value) else None
        print(json.dumps({"name": name, "value": percent, "unit": "%"}))


if __name__ == "__main__":
    main()
