"""A collector, an agent and the demo job, all real, for the tests of what watches or asks them."""

import contextlib
import os
import pathlib
import tempfile

from places import BINARIES

from demo.stack import Stack, free_port


@contextlib.contextmanager
def live_stack(job):
    """Yields a Stack whose job is seen as healthy, and a scratch directory."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as directory:
        with Stack(pathlib.Path(directory) / "state", BINARIES, agent_port=free_port()) as stack:
            stack.job = job
            stack.start_collector()
            stack.start_agent()
            stack.start_job("--seconds", "600")  # longer than any test; the stack ends it
            stack.wait_until("the job to be healthy", lambda: is_healthy(stack), 60, every=0.5)
            yield stack, pathlib.Path(directory)


def is_healthy(stack):
    return any(j["job"] == stack.job and j["state"] == "healthy" for j in stack.lockstep("jobs")["jobs"])
