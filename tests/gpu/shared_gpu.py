"""Ranks that share a GPU, side by side: NVIDIA's multi-process service gives each a part of it, as if it had a GPU of its
own. Without it they take turns of milliseconds, in which a collective is waited for most of the time."""

import contextlib
import os
import shutil
import subprocess

MPS = "nvidia-cuda-mps-control"


@contextlib.contextmanager
def shared_gpu(folder, ranks):
    """Starts the service for a job; what its ranks have to be told, as environment. Nothing where there is no service."""
    if shutil.which(MPS) is None:
        yield {}
        return
    told = {"CUDA_MPS_PIPE_DIRECTORY": f"{folder}/pipe", "CUDA_MPS_LOG_DIRECTORY": f"{folder}/log"}
    for path in told.values():
        os.makedirs(path, exist_ok=True)
    subprocess.run([MPS, "-d"], env=dict(os.environ, **told), check=True)
    try:
        yield dict(told, CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=str(90 // ranks))
    finally:
        subprocess.run([MPS], input="quit -t 5\n", text=True, env=dict(os.environ, **told), check=False, timeout=60)
