#!/usr/bin/env python3
"""Real collector, real agent, NCCL played by driver processes: a late rank, a slow link and a hang, by version of NCCL.

Usage: verdict_test.py [BINARIES STATE_DIRECTORY [CASE ...]]; without arguments as a test of Bazel
"""

import concurrent.futures
import os
import pathlib
import subprocess
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
# A case takes a quarter of a core, most of it in healthy steps that have to be watched for a while.
CASES_AT_ONCE = 3
# NCCL before 2.27 does not tell how large a communicator is: that is believed once all ranks have been followed for 10 s.
SIZING_SECONDS = 13


class PlayedJob:
    """`ranks` processes of `program`; with `own_hosts` each under an agent of its own, as on a machine each."""

    def __init__(self, stack, version, network, own_hosts=False, program="nccl_train", ranks=RANKS):
        self.stack, self.board, self.control = stack, stack.rings / "board", stack.rings / "control"
        self.count = ranks
        self.agents = [f"agent{rank}" for rank in range(ranks)] if own_hosts else []
        for rank in range(ranks):
            rings = stack.rings / f"host{rank}" if own_hosts else stack.rings
            rings.mkdir(exist_ok=True)
            if own_hosts:
                stack.start(self.agents[rank], [
                    stack.binaries / "agent/lockstep-agent", f"--collector-address=127.0.0.1:{stack.grpc_port}",
                    f"--ring-directory={rings}", "--listen-address=127.0.0.1:0", f"--host-name=node-{rank}"])
            stack.start(f"rank{rank}", [
                stack.binaries / "tests/nccl" / program, stack.binaries / "agent/recorder/libnccl-profiler-lockstep.so",
                version, rank, ranks, self.board, self.control, f"network={int(network)}"],
                LOCKSTEP_RING_DIR=str(rings), LOCKSTEP_JOB_ID=stack.job, RANK=str(rank), WORLD_SIZE=str(ranks),
                LOCAL_RANK=str(rank))

    def close(self):
        for rank in range(self.count):
            self.stack.stop(f"rank{rank}", patience_seconds=1)
        for agent in self.agents:
            self.stack.stop(agent)

    def break_it(self, fault):
        print(f">>> {fault or 'healed'}", flush=True)
        temporary = self.control.with_suffix(".new")
        temporary.write_text(fault)
        temporary.rename(self.control)

    def accusations(self):
        """Whoever has ever been accused: [(id, class, [rank], who)], oldest first.

        On a crowded machine stalls go round from rank to rank; that is said of the program and accuses nobody.
        """
        return [(i["id"], i["verdict"]["class"], [c.get("rank", 0) for c in i["verdict"].get("culprits", [])],
                 "; ".join(describe(c) for c in i["verdict"].get("culprits", [])))
                for i in sorted(self.stack.incidents(), key=lambda incident: int(incident["id"]))
                if i["verdict"]["scope"] in ACCUSING_SCOPES and i["verdict"].get("culprits")]

    def watch(self, seconds, allowed_ranks=(), known=0, allowed_kinds=()):
        """Nobody but `allowed_ranks` may be accused meanwhile, and of nothing but `allowed_kinds` anybody."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.stack.check_alive()
            for _, kind, ranks, who in self.accusations()[known:]:
                if kind not in allowed_kinds and (not ranks or not set(ranks) <= set(allowed_ranks)):
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
            return stack.job in jobs and len(stack.ranks()) == self.count

        stack.wait_until("all ranks", all_ranks, PATIENCE_SECONDS)
        self.watch(HEALTHY_SECONDS)


def named(job):
    """Times good enough to name the late rank, and later the rank that hangs."""
    job.discover()
    name_both(job)


def name_both(job, end="hang"):
    job.break_it("slow 2 1.6")
    known = job.expect(2, LATE)
    job.break_it("")
    job.stack.wait_until("the incident to resolve",
                         lambda: all(i["state"].upper().endswith("RESOLVED") for i in job.stack.incidents()), PATIENCE_SECONDS)
    job.break_it(f"{end} 1 1")
    job.expect(1, HANG, known)


def named_once_sized(job):
    """The same where the sizes of communicators have to be inferred first."""
    job.discover()
    job.watch(SIZING_SECONDS)
    name_both(job)


def link(job):
    """A slow link between two ranks may be called the fault of either, or of the links inside of their host."""
    job.discover()
    job.break_it("link 2 8")
    job.watch(WATCH_SECONDS, allowed_ranks=(2, 3), allowed_kinds=("nvlink_slow",))


def watched_link(job):
    """Every step is longer since a link is slow: the collector has transfers watched, and their waits name the link."""
    job.discover()
    job.break_it("wire 2 4")
    ends = {"node-2", "node-3"}
    begin = time.monotonic()
    while time.monotonic() - begin < PATIENCE_SECONDS:
        job.stack.check_alive()
        for verdict in [i["verdict"] for i in job.stack.incidents() if i["verdict"]["scope"] in ACCUSING_SCOPES]:
            named = {host for c in verdict["culprits"] for host in (c.get("host"), c.get("peer_host")) if host}
            if not named <= ends or verdict["scope"] != "network":
                raise Verdict(f"{verdict['class']} accuses {', '.join(sorted(named))}")
            said = [e["text"] for e in verdict["evidence"] if "recorders watched" in e["text"]]
            if named == ends and said:
                print(f"{verdict['class']} of {', '.join(sorted(named))} after {time.monotonic() - begin:.1f} s: {said[0]}",
                      flush=True)
                return
        time.sleep(0.5)
    raise Verdict(f"the link was not named by watched transfers within {PATIENCE_SECONDS} s")


def not_wrong(job):
    """Times too weak to tell waiting from working: who is late, or hangs, may stay unnamed, but nobody else be named."""
    job.discover()
    break_both(job)


def not_wrong_once_sized(job):
    """The same where the sizes of communicators can be inferred."""
    job.discover()
    job.watch(SIZING_SECONDS)
    break_both(job)


def break_both(job, end="hang"):
    job.break_it("slow 2 1.6")
    job.watch(WATCH_SECONDS, allowed_ranks=(2,))
    known = len(job.accusations())
    print("named the late rank" if known else "abstained", flush=True)
    job.break_it(f"{end} 1 1")
    job.watch(WATCH_SECONDS, allowed_ranks=(1,), known=known)
    print("named the rank that hangs" if len(job.accusations()) > known else "abstained", flush=True)


CASES = {
    "gpu_timer": (5, False, named),
    "gpu_timer_link": (7, False, link),
    "watched_link": (7, True, watched_link),
    "kernel_window": (3, False, named_once_sized),
    "proxy_envelope": (2, True, not_wrong_once_sized),
    "host_enqueue": (1, False, not_wrong),
}


def run(name, binaries, state):
    version, network, act = CASES[name]
    print(f"--- {name}: interface version {version}", flush=True)
    with Stack(state / name, binaries) as stack:
        stack.start_collector()
        own_hosts = act is watched_link
        if not own_hosts:
            stack.start_agent()
        job = PlayedJob(stack, version, network, own_hosts)
        try:
            act(job)
        finally:
            job.close()


def run_case(run_named, name, binaries, state):
    try:
        run_named(name, pathlib.Path(binaries), pathlib.Path(state))
    except (StackError, Verdict) as error:
        print(f"{name}: {error}", flush=True)
        return 1
    return 0


def run_cases(script, names, binaries, state, at_once):
    """Each in a process of its own; what it printed is printed when it is over."""
    def run_one(name):
        return subprocess.run([sys.executable, script, binaries, state, name], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for done in pool.map(run_one, names):
            sys.stdout.buffer.write(done.stdout)
            sys.stdout.flush()
            failed |= done.returncode
    return failed


def main(script, cases, run_named, at_once):
    """Of this test, and of others that play other jobs: all cases, or those that the command line names."""
    if len(sys.argv) > 2:
        binaries, state, names = sys.argv[1], sys.argv[2], sys.argv[3:] or list(cases)
    else:
        binaries, state = f"{os.environ['TEST_SRCDIR']}/lockstep", f"{os.environ['TEST_TMPDIR']}/state"
        names = list(cases)
    if len(names) == 1:
        return run_case(run_named, names[0], binaries, state)
    return run_cases(script, names, binaries, state, at_once)


if __name__ == "__main__":
    sys.exit(main(__file__, CASES, run, CASES_AT_ONCE))
