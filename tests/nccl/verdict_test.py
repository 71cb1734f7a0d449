#!/usr/bin/env python3
"""Real collector, real agent, NCCL played by driver processes: a late rank, a slow link and a hang, by version of NCCL.

Usage: verdict_test.py [BINARIES STATE_DIRECTORY [CASE ...]]; without arguments as a test of Bazel
"""

import os
import pathlib
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from demo.scenario import ACCUSING_SCOPES, Verdict, describe  # noqa: E402
from demo.stack import Stack, StackError  # noqa: E402

RANKS = 4
LATE = ("compute_slow", "host_slow")
HANG = ("hang_not_entered", "hang_in_communication")
HEALTHY_SECONDS = 9
# A verdict comes within seconds on a machine of its own; on a shared one it may take longer.
PATIENCE_SECONDS = 60
# How long a fault that may stay unnamed is watched.
WATCH_SECONDS = 11


class PlayedJob:
    """RANKS processes of nccl_train on a stack."""

    def __init__(self, stack, version, network):
        self.stack, self.board, self.control = stack, stack.rings / "board", stack.rings / "control"
        for rank in range(RANKS):
            stack.start(f"rank{rank}", [
                stack.binaries / "tests/nccl/nccl_train", stack.binaries / "agent/recorder/libnccl-profiler-lockstep.so",
                version, rank, RANKS, self.board, self.control, f"network={int(network)}"],
                LOCKSTEP_RING_DIR=str(stack.rings), LOCKSTEP_JOB_ID=stack.job, RANK=str(rank), WORLD_SIZE=str(RANKS),
                LOCAL_RANK=str(rank))

    def close(self):
        for rank in range(RANKS):
            self.stack.stop(f"rank{rank}", patience_seconds=1)

    def break_it(self, fault):
        print(f">>> {fault or 'healed'}", flush=True)
        temporary = self.control.with_suffix(".new")
        temporary.write_text(fault)
        temporary.rename(self.control)

    def accusations(self):
        """What has ever been said against a machine, a network or a program: [(id, class, [rank], who)], oldest first."""
        return [(i["id"], i["verdict"]["class"], [c.get("rank", 0) for c in i["verdict"].get("culprits", [])],
                 "; ".join(describe(c) for c in i["verdict"].get("culprits", [])))
                for i in sorted(self.stack.incidents(), key=lambda incident: int(incident["id"]))
                if i["verdict"]["scope"] in ACCUSING_SCOPES]

    def watch(self, seconds, allowed_ranks=(), known=0):
        """Nobody but `allowed_ranks` may be accused meanwhile."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.stack.check_alive()
            for _, kind, ranks, who in self.accusations()[known:]:
                if not ranks or not set(ranks) <= set(allowed_ranks):
                    raise Verdict(f"{kind} accuses {who}")
            time.sleep(0.5)

    def expect(self, rank, classes, known=0):
        """Waits until `rank`, and nobody else, is accused of one of `classes`."""
        begin = time.monotonic()
        while time.monotonic() - begin < PATIENCE_SECONDS:
            self.stack.check_alive()
            for _, kind, ranks, who in self.accusations()[known:]:
                if ranks != [rank] or kind not in classes:
                    raise Verdict(f"expected rank {rank} as {' or '.join(classes)}, got {kind} of {who}")
                print(f"{kind} of {who}, {time.monotonic() - begin:.1f} s after the fault", flush=True)
                return len(self.accusations())
            time.sleep(0.2)
        raise Verdict(f"rank {rank} was not named within {PATIENCE_SECONDS} s")

    def discover(self):
        stack = self.stack

        def all_ranks():
            jobs = [job["job"] for job in stack.lockstep("jobs").get("jobs", [])]
            return stack.job in jobs and len(stack.ranks()) == RANKS

        stack.wait_until("all ranks", all_ranks, PATIENCE_SECONDS)
        self.watch(HEALTHY_SECONDS)


def named(job):
    """Times good enough to name the late rank, and later the rank that hangs."""
    job.discover()
    job.break_it("slow 2 1.6")
    known = job.expect(2, LATE)
    job.break_it("")
    job.stack.wait_until("the incident to resolve",
                         lambda: all(i["state"].upper().endswith("RESOLVED") for i in job.stack.incidents()), PATIENCE_SECONDS)
    job.break_it("hang 1 1")
    job.expect(1, HANG, known)


def link(job):
    """A slow link between two ranks may be called the fault of either or of their link, but of nobody else."""
    job.discover()
    job.break_it("link 2 8")
    job.watch(WATCH_SECONDS, allowed_ranks=(2, 3))


def not_wrong(job):
    """These versions do not tell how large a communicator is: who is late may stay unnamed, but nobody else be named."""
    job.discover()
    job.break_it("slow 2 1.6")
    job.watch(WATCH_SECONDS, allowed_ranks=(2,))
    known = len(job.accusations())
    print("named the late rank" if known else "abstained", flush=True)
    job.break_it("hang 1 1")
    job.watch(WATCH_SECONDS, allowed_ranks=(1,), known=known)
    print("named the rank that hangs" if len(job.accusations()) > known else "abstained", flush=True)


CASES = {
    "gpu_timer": (5, False, named),
    "gpu_timer_link": (7, False, link),
    "kernel_window": (3, False, not_wrong),
    "proxy_envelope": (2, True, not_wrong),
    "host_enqueue": (1, False, not_wrong),
}


def run(name, binaries, state):
    version, network, act = CASES[name]
    print(f"--- {name}: interface version {version}", flush=True)
    with Stack(state / name, binaries) as stack:
        stack.start_collector()
        stack.start_agent()
        job = PlayedJob(stack, version, network)
        try:
            act(job)
        finally:
            job.close()


def main():
    if len(sys.argv) > 2:
        binaries, state, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    else:
        binaries, state, names = f"{os.environ['TEST_SRCDIR']}/lockstep", f"{os.environ['TEST_TMPDIR']}/state", []
    failed = 0
    for name in names or CASES:
        try:
            run(name, pathlib.Path(binaries), pathlib.Path(state))
        except (StackError, Verdict) as error:
            print(f"{name}: {error}", flush=True)
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
