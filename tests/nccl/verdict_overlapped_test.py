#!/usr/bin/env python3
"""Real collector, real agent, and NCCL played as real jobs use it: hosts a step ahead, gradients on a stream of their
own, three families of communicators, Send and Recv, and more processes than cores. A late GPU, then a host that enters
no more or a GPU that computes for ever, by version of NCCL.

Usage: verdict_overlapped_test.py [BINARIES STATE_DIRECTORY [CASE ...]]; without arguments as a test of Bazel
"""

import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from verdict_test import SIZING_SECONDS, PlayedJob, Stack, break_both, main, name_both  # noqa: E402

RANKS = 8
# A case takes half a core.
CASES_AT_ONCE = 2


def named(job, end):
    job.discover()
    name_both(job, end)


def not_wrong(job, end):
    """Without the times of GPUs a host that is ahead hides where its GPU is: nobody else may be named."""
    job.discover()
    job.watch(SIZING_SECONDS)
    break_both(job, end)


# Version of the interface, how the job ends, and what must come of it.
CASES = {
    "v3_hang": (3, "hang", not_wrong),
    "v4_stall": (4, "stall", named),
    "v5_hang": (5, "hang", named),
    "v6_stall": (6, "stall", named),
    "v7_hang": (7, "hang", named),
    "v7_stall": (7, "stall", named),
}


def run(name, binaries, state):
    version, end, act = CASES[name]
    print(f"--- {name}: interface version {version}", flush=True)
    with Stack(state / name, binaries) as stack:
        stack.start_collector()
        stack.start_agent()
        job = PlayedJob(stack, version, network=False, program="nccl_overlapped", ranks=RANKS)
        try:
            act(job, end)
        finally:
            job.close()


if __name__ == "__main__":
    sys.exit(main(__file__, CASES, run, CASES_AT_ONCE))
