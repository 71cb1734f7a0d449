"""Where a test finds the source tree and the binaries: under Bazel and when run by hand from the repository."""

import os
import pathlib
import sys

sys.dont_write_bytecode = True

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARIES = (pathlib.Path(os.environ["TEST_SRCDIR"]) / "lockstep" if "TEST_SRCDIR" in os.environ
            else pathlib.Path(os.environ.get("LOCKSTEP_BINARIES", ROOT / "bazel-bin")))

# The starter of collector, agent and demo job that `./dev up` uses.
sys.path.insert(0, str(ROOT / "tools"))
