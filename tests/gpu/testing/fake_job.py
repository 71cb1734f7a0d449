"""Stands in for job.py where there is no GPU: one rank that leaves the files and the ring of the job it is told to be.
A recorder called ...idle.so records nothing."""

import json
import os
import pathlib
import subprocess
import sys
import time


def main():
    plan, rank = json.loads(sys.argv[1]), os.environ["RANK"]
    scenario = "slow" if "slow_rank" in plan else "stuck" if "stuck_rank" in plan else "healthy"
    recorder = os.environ.get("NCCL_PROFILER_PLUGIN") or os.environ.get("LD_PRELOAD", "idle.so")
    if not recorder.endswith("idle.so"):
        subprocess.run([os.environ["LOCKSTEP_TEST_WRITE_RINGS"], os.environ["LOCKSTEP_RING_DIR"], scenario, "1", rank],
                       check=True)
    if scenario == "stuck":
        (pathlib.Path(plan["entered"]) / rank).touch()
        time.sleep(3600)  # until the driver kills it
    result = {"rank": int(rank), "world": 2, "step_seconds": [0.01] * plan["steps"], "payload": 4 * plan["elements"],
              "on_gpu_ns": [], "gpu": "none", "nccl": "none",
              "torch": "none", "cuda": "none"}
    pathlib.Path(plan["result"] + f".{rank}").write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
