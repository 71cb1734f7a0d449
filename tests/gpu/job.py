"""One rank of a small NCCL job on PyTorch: a step is some matrix work and one AllReduce of an odd size.

Arguments: a JSON object with steps, elements, result (file), and optionally slow_rank and slow_seconds, or stuck_rank,
stuck_step and entered (folder in which a rank leaves a file when it is about to enter the step that hangs).
"""

import datetime
import json
import os
import pathlib
import sys
import time

import torch
import torch.distributed


def timed_all_reduce(data):
    """All-reduces, waits; when this began and ended on the GPU, in nanoseconds of the host's monotonic clock, and how far
    both together may be off. An event recorded on the idle GPU between two looks at the clock ties the clocks."""
    before, after, anchor = (torch.cuda.Event(enable_timing=True) for _ in range(3))
    before.record()
    torch.distributed.all_reduce(data)
    after.record()
    torch.cuda.synchronize()
    earliest = time.monotonic_ns()
    anchor.record()
    anchor.synchronize()
    latest = time.monotonic_ns()
    now = (earliest + latest) / 2
    return [now - 1e6 * before.elapsed_time(anchor), now - 1e6 * after.elapsed_time(anchor), (latest - earliest) / 2]


def main():
    plan = json.loads(sys.argv[1])
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    torch.distributed.init_process_group("nccl", timeout=datetime.timedelta(minutes=5))
    data = torch.ones(plan["elements"], device="cuda")
    matrix = torch.rand(1024, 1024, device="cuda")
    seconds, on_gpu = [], []
    for step in range(plan["steps"]):
        begin = time.perf_counter()
        product = matrix @ matrix
        torch.cuda.synchronize()
        if rank == plan.get("slow_rank"):
            time.sleep(plan["slow_seconds"])
        if step == plan.get("stuck_step"):
            (pathlib.Path(plan["entered"]) / str(rank)).touch()
            if rank == plan["stuck_rank"]:
                time.sleep(3600)
        on_gpu.append(timed_all_reduce(data))
        seconds.append(time.perf_counter() - begin)
        data.fill_(1.0)
    del product
    torch.distributed.destroy_process_group()
    result = {"rank": rank, "world": world, "steps": plan["steps"], "payload": 4 * plan["elements"],
              "step_seconds": seconds, "on_gpu_ns": on_gpu, "torch": torch.__version__, "cuda": torch.version.cuda,
              "nccl": ".".join(map(str, torch.cuda.nccl.version())), "gpu": torch.cuda.get_device_name()}
    pathlib.Path(plan["result"] + f".{rank}").write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
