#!/usr/bin/env python3
"""Real processes under seeded troubles; process_run.py says which and what has to hold.

Usage: process_runs.py [--runs N] [--seed FIRST] [--faults N] [--together N] [--trace] [--only TROUBLE] [--break WHAT]

A seed gives the same troubles and faults in the same order, but not at the same times: processes are real. What failed
is printed with all that happened in it. Exit code 1 if a run failed.
"""

import argparse
import concurrent.futures
import pathlib
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import packet_drops  # noqa: E402
from process_run import RANKS, TROUBLES, ProcessRun  # noqa: E402


def run(seed, options):
    """The run, over; its files stay where it failed."""
    directory = tempfile.mkdtemp(prefix=f"lockstep-processes-{seed}-")
    made = ProcessRun(seed, directory, options.faults, options.only, options.sabotage)
    if made.run():
        made.trace.append(f"logs are in {directory}")
    else:
        shutil.rmtree(directory)
    return made


def main(arguments):
    parser = argparse.ArgumentParser(description="Real processes under seeded troubles.")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument("--faults", type=int, choices=range(1, RANKS + 1), default=5, help="in each run")
    parser.add_argument("--together", type=int, default=4, help="runs at a time")
    parser.add_argument("--trace", action="store_true", help="say what happened in every run")
    parser.add_argument("--only", choices=[t[0] for t in TROUBLES], default="", help="troubles of this kind alone")
    parser.add_argument("--break", dest="sabotage", choices=("spool", "history"), default="",
                        help="throw away spools whenever their agent is ended, or history once: checkers have to see it")
    options = parser.parse_args(arguments)
    seeds = range(options.seed, options.seed + options.runs)
    well = transitions = troubles = 0
    with concurrent.futures.ThreadPoolExecutor(options.together) as pool:
        for seed, made in zip(seeds, pool.map(lambda seed: run(seed, options), seeds)):
            well += not made.violations
            transitions += made.transitions
            troubles += made.troubles
            if made.violations or options.trace:
                print("\n".join(made.trace))
            if made.violations:
                print(f"seed {seed} FAILED; again: ./dev chaos --processes --runs 1 --seed {seed} --trace", flush=True)
    print("silent networks: " + ("packets dropped by the kernel" if packet_drops.is_possible() else
                                 "by a proxy that stands still, as packets cannot be dropped here"))
    print(f"{well} of {options.runs} runs are well; {troubles} troubles, {transitions} alert transitions")
    return 0 if well == options.runs else 1


if __name__ == "__main__":
    packet_drops.enter_own_network()
    sys.exit(main(sys.argv[1:]))
