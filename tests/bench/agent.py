#!/usr/bin/env python3
"""What the daemons cost: CPU and memory of agent and collector beside a recorded 4-process job, at one tick a second.

Targets for the agent: below 0.02 cores and 64 MB.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

DAEMONS = ("agent", "collector")
CLOCK_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    """User and system time of all threads, which the kernel counts in clock ticks."""
    # Behind the command's name, which may contain anything: fields 14 and 15, counted from the state, which is 3.
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[14 - 3]) + int(fields[15 - 3])) / CLOCK_TICKS_PER_SECOND


def measure(stack, seconds):
    """CPU as a fraction of a core over `seconds`, resident memory at their end, and its highest ever."""
    before = {name: cpu_seconds(stack.pid(name)) for name in DAEMONS}
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        stack.check_alive()
        time.sleep(0.5)
    elapsed = time.monotonic() - began
    for name in DAEMONS:
        yield f"{name}_cpu_core_fraction", (cpu_seconds(stack.pid(name)) - before[name]) / elapsed, "cores"
        yield f"{name}_resident_bytes", stack.memory(name), "bytes"
        yield f"{name}_peak_resident_bytes", stack.memory(name, "VmHWM"), "bytes"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="accepted for uniformity; output is always JSON lines")
    parser.add_argument("--seconds", type=float, default=30, help="measured")
    parser.add_argument("--warm-up", type=float, default=10, help="seconds before that, with all ranks known")
    arguments = parser.parse_args()
    root = pathlib.Path(sys.argv[0] + ".runfiles").absolute() / "lockstep"
    sys.path.insert(0, str(root / "tools/demo"))
    from stack import RANKS, Stack  # pylint: disable=import-outside-toplevel

    with tempfile.TemporaryDirectory() as state, Stack(state, binaries=root) as stack:
        stack.start_collector()
        stack.start_agent()
        stack.start_job()
        stack.wait_until("the job", lambda: any(j["job"] == stack.job for j in stack.lockstep("jobs").get("jobs", [])), 60)
        stack.wait_until("all ranks", lambda: len(stack.ranks()) == RANKS, 60)
        time.sleep(arguments.warm_up)
        for name, value, unit in measure(stack, arguments.seconds):
            print(json.dumps({"name": name, "value": value, "unit": unit}), flush=True)


if __name__ == "__main__":
    main()
