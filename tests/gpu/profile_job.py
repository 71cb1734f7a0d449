"""Profiles on demand of a real training job (train.py) on a GPU, in health and with one rank that waits for its data.

    profile_job.py BINARIES RECORDER RESULTS [RANKS]

As chain.py, which see. The PyTorch has to have Kineto (that of PyPI has), and nothing else may have dynolog's socket.
"""

import glob
import json
import pathlib
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tools"))

from chain import Chain  # noqa: E402
from demo.stack import Stack, StackError  # noqa: E402
from drive import figure  # noqa: E402

STEPS = 5
LOADING_RANK, LOADING_SECONDS = 2, 0.08
SETTLE_SECONDS = 15  # processes register when they begin, and ask every few seconds
PROFILE_LIMIT_SECONDS = 240
TRACES = "/tmp/lockstep-profile-*"
MOST_PATTERN_BYTES = 30 << 10


class Profiles:
    """Asks for profiles and judges what comes."""

    def __init__(self, chain):
        self.chain, self.stack = chain, chain.stack

    def complain(self, text):
        self.chain.complaints.append(text)

    def take(self, name, *arguments):
        """The JSON of `lockstep profile`; what it printed is kept."""
        command = [str(self.stack.binaries / "cli/lockstep"), "--collector", self.stack.address, "-o", "json", "profile",
                   self.stack.job, "--steps", str(STEPS), *arguments]
        begin = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, timeout=PROFILE_LIMIT_SECONDS, check=False)
        seconds = time.monotonic() - begin
        (self.chain.results / f"{name}.profile.json").write_text(done.stdout, encoding="utf-8")
        if done.stderr.strip():
            (self.chain.results / f"{name}.profile.err").write_text(done.stderr, encoding="utf-8")
        try:
            told = json.loads(done.stdout)
        except ValueError:
            self.complain(f"{name}: no JSON, exit {done.returncode}: {done.stderr.strip()}")
            return {"ranks": [], "failed": [], "jobs": []}
        for failed in told["failed"]:
            self.complain(f"{name}: rank {failed['rank']}: {failed['reason']}")
        if len(told["ranks"]) != self.chain.world:
            self.complain(f"{name}: {len(told['ranks'])} profiles of {self.chain.world} ranks")
        figure(f"gpu_profile_{name}_seconds", round(seconds, 1), "s")
        figure(f"gpu_profile_{name}_trace_bytes", max((r["trace_bytes"] for r in told["ranks"]), default=0), "bytes")
        sizes = [len(json.dumps(r)) for r in told["ranks"]]
        figure(f"gpu_profile_{name}_pattern_bytes", max(sizes, default=0), "bytes")
        figure(f"gpu_profile_{name}_functions", max((len(r["functions"]) for r in told["ranks"]), default=0), "functions")
        if max(sizes, default=0) > MOST_PATTERN_BYTES + 1024:
            self.complain(f"{name}: the patterns of a rank have {max(sizes)} bytes")
        return told

    def named(self, told):
        """[(class, ranks)] of what is accused."""
        return [(v["class"], [c["rank"] for c in v["culprits"]]) for job in told["jobs"] for v in job["verdicts"]
                if v.get("scope") not in (None, "unknown", "")]

    def healthy(self):
        before = self.chain.job().get("step_seconds_median", 0)
        told = self.take("healthy")
        if self.named(told):
            self.complain(f"healthy: {self.named(told)} was accused")
        if not any("kernel" in f["kind"].lower() for r in told["ranks"] for f in r["functions"]):
            self.complain("healthy: no function of the GPU was seen")
        self.no_traces("healthy")
        time.sleep(SETTLE_SECONDS)
        figure("gpu_profile_step_seconds_before", before, "s")
        figure("gpu_profile_step_seconds_after", self.chain.job().get("step_seconds_median", 0), "s")

    def loading(self):
        self.chain.plan(loading_rank=LOADING_RANK, seconds=LOADING_SECONDS)
        time.sleep(SETTLE_SECONDS)
        told = self.take("loading", "--ranks", str(LOADING_RANK))
        if ("storage_stall", [LOADING_RANK]) not in self.named(told):
            self.complain(f"loading: {self.named(told)}, not storage_stall of rank {LOADING_RANK}")
        if "DataLoader" not in json.dumps(told["jobs"]):
            self.complain("loading: the function is not named")
        self.no_traces("loading")
        self.take("python", "--python")  # kept for people: functions of the host hide behind a busy GPU
        self.chain.plan()

    def keeping(self):
        told = self.take("keeping", "--keep")
        for rank in told["ranks"]:
            trace = pathlib.Path(rank["trace"])
            if not rank["trace"] or not trace.is_file():
                self.complain(f"keeping: the trace of rank {rank.get('rank')} is not at {rank['trace']!r}")
                continue
            if trace.stat().st_size != rank["trace_bytes"]:
                self.complain(f"keeping: {trace} has {trace.stat().st_size} bytes, not {rank['trace_bytes']}")
            trace.unlink()

    def no_traces(self, name):
        left = glob.glob(TRACES)
        if left:
            self.complain(f"{name}: {left} are left")


def main():
    binaries, recorder, results = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    ranks = int(sys.argv[4]) if len(sys.argv) > 4 else 4
    results.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="lockstep-gpu-") as folder, Stack(f"{folder}/stack", binaries) as stack:
        chain = Chain(stack, recorder, results, ranks, {"KINETO_USE_DAEMON": "1"})
        profiles = Profiles(chain)
        try:
            chain.start("--kineto-endpoint=true")
            time.sleep(SETTLE_SECONDS)
            for look in (profiles.healthy, profiles.loading, profiles.keeping):
                look()
        except (StackError, subprocess.TimeoutExpired) as error:
            chain.complaints.append(str(error))
        for log in stack.state.glob("*.log"):
            (results / log.name).write_bytes(log.read_bytes()[-200_000:])
    print("\n".join(f"FAILED: {text}" for text in chain.complaints) or "PASSED: profiles on demand")
    return 1 if chain.complaints else 0


if __name__ == "__main__":
    sys.exit(main())
