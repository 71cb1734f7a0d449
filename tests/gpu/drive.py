"""Runs the job of job.py with a recorder and without, and checks the rings. Called by run.sh; see there."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from checks import check_healthy, check_slow, check_stuck, clock_errors, overhead
from ring_reader import NotARing, read_ring
from shared_gpu import shared_gpu

JOB = pathlib.Path(__file__).resolve().parent / "job.py"
ELEMENTS = 1_000_003  # a payload that neither PyTorch nor NCCL uses by itself
STEPS = 60
SLOW_SECONDS = 0.02
STUCK_STEP = 20
SETTLE_SECONDS = 3.0  # for the others to get into the operation that hangs, and for NCCL to tell the recorder
LIMIT_SECONDS = 240
ALTERNATIONS = 12  # single runs vary by a fifth
EXIT_FAILED, EXIT_SKIPPED = 1, 77


class JobFailed(Exception):
    """The job itself did not run; its output is the message."""


# NCCL takes ranks with one of these each for ranks of different machines, so that it lets them share a GPU: they talk
# through sockets.
SEPARATE_HOSTS = {"NCCL_HOSTID": "lockstep-{rank}", "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1"}


def environment(rank, world, port, recorder, rings, sharing):
    result = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(world), LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1",
                  MASTER_PORT=str(port), LOCKSTEP_RING_DIR=str(rings), LOCKSTEP_JOB_ID="gpu-test",
                  **{name: value.format(rank=rank) for name, value in sharing.items()})
    result.pop("NCCL_PROFILER_PLUGIN", None)
    if recorder is not None:
        result["LD_PRELOAD" if "preload" in recorder.name else "NCCL_PROFILER_PLUGIN"] = str(recorder)
    return result


@contextlib.contextmanager
def running(plan, world, logs, environment_of):
    """The processes of a job; all are killed at the end. `environment_of(rank)`: of one."""
    processes = []
    try:
        for rank in range(world):
            log = open(logs / f"rank{rank}.log", "wb")
            processes.append(subprocess.Popen([sys.executable, JOB, json.dumps(plan)], stdout=log, stderr=log,
                                              env=environment_of(rank)))
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
    """Runs jobs in scratch folders, each with a port and a ring directory of its own. `sharing`: what NCCL has to be
    told, as environment, so that ranks share a GPU."""

    def __init__(self, scratch, world, sharing, first_port=29_611):
        self.scratch, self.world, self.sharing, self.port, self.runs = scratch, world, sharing, first_port, 0

    def prepare(self):
        self.runs += 1
        self.port += 1
        place = self.scratch / f"run{self.runs}"
        for name in ("rings", "logs", "entered"):
            (place / name).mkdir(parents=True)
        plan = {"steps": STEPS, "elements": ELEMENTS, "result": str(place / "result")}
        return place, plan

    def start(self, plan, place, recorder):
        port = self.port
        return running(plan, self.world, place / "logs", lambda rank: environment(
            rank, self.world, port, recorder, place / "rings", self.sharing))

    def complete(self, recorder, **more):
        """Runs a job to its end; its results by rank, and its rings."""
        place, plan = self.prepare()
        plan.update(more)
        with self.start(plan, place, recorder) as processes:
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
        with self.start(plan, place, recorder) as processes:
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


def possible_bench(scratch, gpus, beside):
    """One rank per GPU, at most four; on one GPU two ranks in a way that this NCCL allows, else None. `beside`: what lets
    them compute at the same time."""
    if gpus > 1:
        return Bench(scratch, min(gpus, 4), {})
    for number, allowed in enumerate(({"NCCL_MULTI_RANK_GPU_ENABLE": "1"}, SEPARATE_HOSTS)):
        sharing = dict(allowed, **beside)
        try:
            Bench(scratch / f"probe{number}", 2, sharing, first_port=29_511 + 10 * number).complete(None, steps=2)
            print(json.dumps({"ranks_on_one_gpu": 2, "by": sorted(sharing)}), flush=True)
            return Bench(scratch, 2, sharing)
        except JobFailed as failure:
            print(f"two ranks on one GPU do not run with {sharing}:\n{failure}", file=sys.stderr)
    return None


def figure(name, value, unit):
    print(json.dumps({"name": name, "value": value, "unit": unit}), flush=True)


def measure_overhead(bench, recorder):
    times = {None: [], recorder: []}
    for turn in range(ALTERNATIONS):
        for which in (None, recorder) if turn % 2 == 0 else (recorder, None):
            results, _ = bench.complete(which)
            times[which].append(results[0]["step_seconds"][5:])
    plain, recorded, share = overhead(times[None], times[recorder])
    figure("gpu_step_seconds_without_recorder", plain, "s")
    figure("gpu_step_seconds_with_recorder", recorded, "s")
    figure("gpu_step_overhead_ratio", share, "ratio")


def run(scratch, recorder, gpus, preload=None):
    """`preload`: the recorder that stands in front of NCCL's functions, where it is to be tried as well."""
    with shared_gpu(scratch, 2) if gpus == 1 else contextlib.nullcontext({}) as beside:
        return run_on(possible_bench(scratch, gpus, beside), recorder, preload)


def run_on(bench, recorder, preload):
    if bench is None:
        print("SKIPPED: this machine has one GPU, and its NCCL runs one rank per GPU")
        return EXIT_SKIPPED
    world, complaints = bench.world, []
    results, rings = bench.complete(recorder)
    print(json.dumps({key: results[0][key] for key in ("gpu", "nccl", "torch", "cuda", "world")}), flush=True)
    print(json.dumps({"abi": sorted({ring.abi_version for ring in rings}),
                      "timing": sorted({o.timing for ring in rings for o in ring.operations}),
                      "callback_ns": [round(ring.callback_ns / max(ring.callbacks, 1), 1) for ring in rings],
                      "gpu_clock_error_ns": [ring.gpu_clock_error_ns for ring in rings]}), flush=True)
    truth = {"world": world, "steps": STEPS, "payload": 4 * ELEMENTS}
    complaints += [f"healthy: {text}" for text in check_healthy(rings, truth)]
    for name, value in clock_errors(rings, results).items():
        figure(f"gpu_clock_{name}", value, "us")
    if preload is not None:
        _, rings = bench.complete(preload)
        complaints += [f"preloaded: {text}" for text in check_healthy(rings, truth)]
    slow = world - 1
    _, rings = bench.complete(recorder, slow_rank=slow, slow_seconds=SLOW_SECONDS)
    complaints += [f"slow: {text}" for text in check_slow(rings, dict(truth, slow_rank=slow))]
    measure_overhead(bench, recorder)
    for moment, rings in zip(("hanging", "killed"), bench.hang(recorder, stuck_rank=0)):
        hang = dict(truth, stuck_rank=0, stuck_step=STUCK_STEP)
        complaints += [f"stuck, {moment}: {text}" for text in check_stuck(rings, hang)]
    print("\n".join(complaints) or "PASSED")
    return EXIT_FAILED if complaints else 0


def main():
    recorder, gpus = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2])
    preload = pathlib.Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else None
    with tempfile.TemporaryDirectory(prefix="lockstep-gpu-") as scratch:
        try:
            return run(pathlib.Path(scratch), recorder, gpus, preload)
        except (JobFailed, NotARing) as failure:
            print(f"FAILED: {failure}")
            return EXIT_FAILED


if __name__ == "__main__":
    sys.exit(main())
