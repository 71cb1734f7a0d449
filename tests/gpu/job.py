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


def main():
    plan = json.loads(sys.argv[1])
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    torch.distributed.init_process_group("nccl", timeout=datetime.timedelta(minutes=5))
    data = torch.ones(plan["elements"], device="cuda")
    matrix = torch.rand(1024, 1024, device="cuda")
    seconds = []
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
        torch.distributed.all_reduce(data)
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
        data.fill_(1.0)
    del product
    torch.distributed.destroy_process_group()
    result = {"rank": rank, "world": world, "steps": plan["steps"], "payload": 4 * plan["elements"],
              "step_seconds": seconds, "torch": torch.__version__, "cuda": torch.version.cuda,
              "nccl": ".".join(map(str, torch.cuda.nccl.version())), "gpu": torch.cuda.get_device_name()}
    pathlib.Path(plan["result"] + f".{rank}").write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
