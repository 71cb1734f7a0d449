"""One rank of a small tensor- and data-parallel training job, for Lockstep to watch: the host launches ahead of the GPU,
and gradients are reduced beside the backward pass.

    train.py CONTROL

RANK, WORLD_SIZE (a multiple of two) and the like come from the environment. CONTROL is a file that may hold a JSON object:
{"slow_rank": N, "factor": F}: this rank computes F times as much; {"fault_rank": N}: this rank writes to an address that
is not its own, on the GPU; {"loading_rank": N, "seconds": S}: this rank waits so long for each batch of its loader. It is
read before every step. The job runs until it is killed.
"""

import json
import os
import pathlib
import sys
import time

import torch
import torch.distributed as distributed

LAYERS = 4
WIDTH = 2048
# Of the GPU's clock, per layer forwards, of a rank that is not slowed: 3 ms of an H200. On one multiprocessor, so that
# ranks that share a GPU through MPS do not slow each other down, as whole GPUs would not.
CYCLES = 6_000_000
SYNCHRONIZE_EVERY = 10  # steps: how far the host runs ahead


def groups(world, rank):
    """The tensor- and the data-parallel group of this rank: pairs of neighbours, and those at equal places in them."""
    tensor = [distributed.new_group([first, first + 1]) for first in range(0, world, 2)]
    data = [distributed.new_group(list(range(place, world, 2))) for place in range(2)]
    return tensor[rank // 2], data[rank % 2]


def read_plan(control):
    try:
        return json.loads(control.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def write_wildly():
    import cupy  # pylint: disable=import-outside-toplevel; only the rank that breaks needs it
    source = 'extern "C" __global__ void wild(long long* place) { *place = 1; }'
    cupy.RawKernel(source, "wild")((1,), (1,), (cupy.uint64(4096),))


class Batches(torch.utils.data.IterableDataset):
    """What a loader loads, after `seconds`."""

    seconds = 0.0

    def __iter__(self):
        while True:
            time.sleep(self.seconds)
            yield torch.zeros(1)


class Rank:
    """Weights, activations and gradients of one rank, all of one shape; values do not matter."""

    def __init__(self, tensor_group, data_group):
        self.tensor_group, self.data_group = tensor_group, data_group
        self.weights = [torch.rand(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16) for _ in range(LAYERS)]
        self.gradients = [torch.zeros(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16) for _ in range(LAYERS)]
        self.activations = torch.rand(WIDTH, WIDTH, device="cuda", dtype=torch.bfloat16)
        self.batches = Batches()
        self.loader = iter(torch.utils.data.DataLoader(self.batches, batch_size=None))
        # Steps of an optimizer are what PyTorch counts for profiles on demand.
        bias = torch.nn.Parameter(torch.zeros(1, device="cuda"))
        bias.grad = torch.zeros_like(bias)
        self.optimizer = torch.optim.SGD([bias], lr=0.1)

    def compute(self, layer, cycles):
        torch.cuda._sleep(cycles)  # pylint: disable=protected-access; a kernel that takes as long as it is told
        return self.activations @ self.weights[layer]

    def step(self, factor):
        next(self.loader)
        cycles = round(CYCLES * factor)
        for layer in range(LAYERS):
            distributed.all_reduce(self.compute(layer, cycles), group=self.tensor_group)
        pending = []
        for layer in reversed(range(LAYERS)):
            distributed.all_reduce(self.compute(layer, 2 * cycles), group=self.tensor_group)
            pending.append(distributed.all_reduce(self.gradients[layer], group=self.data_group, async_op=True))
        for work in pending:
            work.wait()
        self.optimizer.step()


def main():
    control = pathlib.Path(sys.argv[1])
    number, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    distributed.init_process_group("nccl")
    rank = Rank(*groups(world, number))
    step, since = 0, time.monotonic()
    while True:
        plan = read_plan(control)
        if plan.get("fault_rank") == number:
            write_wildly()
        rank.batches.seconds = plan.get("seconds", 0) if plan.get("loading_rank") == number else 0
        rank.step(plan.get("factor", 1) if plan.get("slow_rank") == number else 1)
        step += 1
        if step % SYNCHRONIZE_EVERY == 0:
            torch.cuda.synchronize()
            print(f"step {step}: {(time.monotonic() - since) / SYNCHRONIZE_EVERY:.4f} s per step", flush=True)
            since = time.monotonic()


if __name__ == "__main__":
    main()
