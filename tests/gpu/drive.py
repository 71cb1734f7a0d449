"""Runs the job of job.py with a recorder and without, and checks the rings. Called by run.sh; see there."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from checks import check_healthy, check_slow, check_stuck, overhead
from ring_reader import NotARing, read_ring

JOB = pathlib.Path(__file__).resolve().parent / "job.py"
ELEMENTS = 1_000_003  # a payload that neither PyTorch nor NCCL uses by itself
STEPS = 60
SLOW_SECONDS = 0.02
STUCK_STEP = 20
SETTLE_SECONDS = 3.0  # for the others to get into the operation that hangs, and for NCCL to tell the recorder
LIMIT_SECONDS = 240
ALTERNATIONS = 5
EXIT_FAILED, EXIT_SKIPPED = 1, 77


class JobFailed(Exception):
    """The job itself did not run; its output is the message."""


def environment(rank, world, port, recorder, rings):
    result = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(world), LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1",
                  MASTER_PORT=str(port), LOCKSTEP_RING_DIR=str(rings), LOCKSTEP_JOB_ID="gpu-test",
                  NCCL_MULTI_RANK_GPU_ENABLE="1")
    result.pop("NCCL_PROFILER_PLUGIN", None)
    if recorder is not None:
        result["NCCL_PROFILER_PLUGIN"] = str(recorder)
    return result


@contextlib.contextmanager
def running(plan, world, port, recorder, rings, logs):
    """The processes of a job; all are killed at the end."""
    processes = []
    try:
        for rank in range(world):
            log = open(logs / f"rank{rank}.log", "wb")
            processes.append(subprocess.Popen([sys.executable, JOB, json.dumps(plan)], stdout=log, stderr=log,
                                              env=environment(rank, world, port, recorder, rings)))
            log.close()
        yield processes
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


def last_words(logs):
    return "\n".join(f"--- {log.name}\n" + log.read_text("utf-8", "replace")[-1500:] for log in sorted(logs.iterdir()))


class Bench:
    """Runs jobs in scratch folders, each with a port and a ring directory of its own."""

    def __init__(self, scratch, world, first_port=29_611):
        self.scratch, self.world, self.port, self.runs = scratch, world, first_port, 0

    def prepare(self):
        self.runs += 1
        self.port += 1
        place = self.scratch / f"run{self.runs}"
        for name in ("rings", "logs", "entered"):
            (place / name).mkdir(parents=True)
        plan = {"steps": STEPS, "elements": ELEMENTS, "result": str(place / "result")}
        return place, plan

    def complete(self, recorder, **more):
        """Runs a job to its end; its results by rank, and its rings."""
        place, plan = self.prepare()
        plan.update(more)
        with running(plan, self.world, self.port, recorder, place / "rings", place / "logs") as processes:
            deadline = time.monotonic() + LIMIT_SECONDS
            while any(process.poll() is None for process in processes):
                if time.monotonic() > deadline or any(process.poll() not in (None, 0) for process in processes):
                    raise JobFailed(last_words(place / "logs"))
                time.sleep(0.1)
            if any(process.returncode != 0 for process in processes):
                raise JobFailed(last_words(place / "logs"))
        results = [json.loads((place / f"result.{rank}").read_text("utf-8")) for rank in range(self.world)]
        return results, read_rings(place / "rings")

    def hang(self, recorder, stuck_rank):
        """Plants a rank that never arrives; the rings while the job hangs, and after it was killed."""
        place, plan = self.prepare()
        plan.update(stuck_rank=stuck_rank, stuck_step=STUCK_STEP, entered=str(place / "entered"))
        with running(plan, self.world, self.port, recorder, place / "rings", place / "logs") as processes:
            deadline = time.monotonic() + LIMIT_SECONDS
            while len(list((place / "entered").iterdir())) < self.world:
                if time.monotonic() > deadline or any(process.poll() is not None for process in processes):
                    raise JobFailed(last_words(place / "logs"))
                time.sleep(0.1)
            time.sleep(SETTLE_SECONDS)
            hanging = read_rings(place / "rings")
        return hanging, read_rings(place / "rings")


def read_rings(directory):
    return [read_ring(path) for path in sorted(directory.glob("*.ring"))]


def possible_world(scratch, gpus):
    """One rank per GPU, at most four; on one GPU two ranks where this NCCL allows it, else None."""
    if gpus > 1:
        return min(gpus, 4)
    try:
        Bench(scratch / "probe", 2, first_port=29_511).complete(None, steps=2)
        return 2
    except JobFailed as failure:
        print(f"two ranks on one GPU do not run with this NCCL:\n{failure}", file=sys.stderr)
        return None


def figure(name, value, unit):
    print(json.dumps({"name": name, "value": value, "unit": unit}), flush=True)


def measure_overhead(bench, recorder):
    times = {None: [], recorder: []}
    for _ in range(ALTERNATIONS):
        for which in (None, recorder):
            results, _ = bench.complete(which)
            times[which].append(results[0]["step_seconds"][5:])
    plain, recorded, share = overhead(times[None], times[recorder])
    figure("gpu_step_seconds_without_recorder", plain, "s")
    figure("gpu_step_seconds_with_recorder", recorded, "s")
    figure("gpu_step_overhead_ratio", share, "ratio")


def run(scratch, recorder, gpus):
    world = possible_world(scratch, gpus)
    if world is None:
        print("SKIPPED: this machine has one GPU, and its NCCL runs one rank per GPU")
        return EXIT_SKIPPED
    bench = Bench(scratch, world)
    complaints = []
    results, rings = bench.complete(recorder)
    print(json.dumps({key: results[0][key] for key in ("gpu", "nccl", "torch", "cuda", "world")}), flush=True)
    print(json.dumps({"abi": sorted({ring.abi_version for ring in rings}),
                      "timing": sorted({o.timing for ring in rings for o in ring.operations}),
                      "callback_ns": [round(ring.callback_ns / max(ring.callbacks, 1), 1) for ring in rings],
                      "gpu_clock_error_ns": [ring.gpu_clock_error_ns for ring in rings]}), flush=True)
    truth = {"world": world, "steps": STEPS, "payload": 4 * ELEMENTS}
    complaints += [f"healthy: {text}" for text in check_healthy(rings, truth)]
    slow = world - 1
    _, rings = bench.complete(recorder, slow_rank=slow, slow_seconds=SLOW_SECONDS)
    complaints += [f"slow: {text}" for text in check_slow(rings, dict(truth, slow_rank=slow))]
    for moment, rings in zip(("hanging", "killed"), bench.hang(recorder, stuck_rank=0)):
        hang = dict(truth, stuck_rank=0, stuck_step=STUCK_STEP)
        complaints += [f"stuck, {moment}: {text}" for text in check_stuck(rings, hang)]
    measure_overhead(bench, recorder)
    print("\n".join(complaints) or "PASSED")
    return EXIT_FAILED if complaints else 0


def main():
    recorder, gpus = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="lockstep-gpu-") as scratch:
        try:
            return run(pathlib.Path(scratch), recorder, gpus)
        except (JobFailed, NotARing) as failure:
            print(f"FAILED: {failure}")
            return EXIT_FAILED


if __name__ == "__main__":
    sys.exit(main())
