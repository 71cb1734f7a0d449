#!/usr/bin/env python3
"""`lockstep profile` of a job that runs: ranks that speak Kineto's protocol register with the agent, are told to take a
profile, and the rank that waits for its data is named by function. No trace is left.

Usage: profile_test.py; under Bazel, or by hand with the binaries in bazel-bin
"""

import glob
import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from demo.stack import RANKS  # noqa: E402
from stack_case import StackCase  # noqa: E402

PATIENCE_SECONDS = 120
SLOW_RANK = 2
SCRIPT = pathlib.Path(__file__).resolve().parent / "kineto_rank.py"


class ProfileTest(StackCase):
    @classmethod
    def prepare(cls):
        # A job that is slow under load would be profiled by itself in between.
        os.environ["LOCKSTEP_COLLECTOR_INCIDENT_PROFILES"] = "false"

    @classmethod
    def begin(cls):
        # A folder of its own: what is left there is this test's. Where the processes are to write, no part is a link.
        cls.traces = cls.place.resolve() / "traces"
        cls.traces.mkdir()
        cls.stack.start_agent("--kineto-endpoint=true", f"--profile-directory={cls.traces}")
        exported = ["-x", f"LOCKSTEP_RING_DIR={cls.stack.rings}", "-x", f"LOCKSTEP_JOB_ID={cls.stack.job}", "-x",
                    f"LD_PRELOAD={cls.stack.binaries / 'agent/recorder/liblockstep-mpi.so'}"]
        cls.stack.start("job", [
            "mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--mca", "btl",
            "self,vader", "-n", str(RANKS), *exported, "/usr/bin/python3", "-B", SCRIPT, cls.place / "order",
            str(SLOW_RANK)])
        cls.stack.wait_until("all ranks", lambda: cls.job_is_known() and len(cls.stack.ranks()) == RANKS, PATIENCE_SECONDS)

    @classmethod
    def job_is_known(cls):
        return any(j["job"] == cls.stack.job for j in cls.stack.lockstep("jobs")["jobs"])

    def profile(self, *arguments):
        """What it prints as JSON, and its status."""
        command = [self.stack.binaries / "cli/lockstep", "--collector", self.stack.address, "-o", "json", "profile",
                   self.stack.job, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
        return json.loads(done.stdout), done.returncode

    def all_profiled(self, *arguments):
        told, status = self.profile(*arguments)
        return told if status == 0 and len(told["ranks"]) == RANKS else None

    def test_the_function_and_the_rank_are_named_and_no_trace_is_left(self):
        told = self.stack.wait_until("a profile of all ranks", self.all_profiled, PATIENCE_SECONDS)
        verdicts = told["jobs"][0]["verdicts"]
        self.assertEqual([(v["class"], [c["rank"] for c in v["culprits"]]) for v in verdicts],
                         [("storage_stall", [SLOW_RANK])])
        self.assertIn("_MultiProcessingDataLoaderIter.__next__", json.dumps(verdicts))
        for rank in told["ranks"]:
            self.assertEqual(rank["trace"], "")
            self.assertGreater(rank["trace_bytes"], 1000)
        self.assertEqual(glob.glob(f"{self.traces}/*"), [])
        self.assertEqual(self.stack.lockstep("audit")["records"][0]["action"], "demand")
        self.it_joins_an_incident()

    def it_joins_an_incident(self):
        """What an operator's profile shows stays when the terminal is closed."""

        def profiled():
            for incident in self.stack.incidents():
                pieces = [e["text"] for e in incident["verdict"]["evidence"] if e["kind"] == "profile"]
                if any("_MultiProcessingDataLoaderIter.__next__" in text for text in pieces):
                    return incident
            return None

        incident = self.stack.wait_until("an incident with the function", profiled, PATIENCE_SECONDS)
        self.assertEqual([c["rank"] for c in incident["verdict"]["culprits"]], [SLOW_RANK])

    def test_peers_are_profiled_with_the_rank_that_is_named_and_traces_may_be_kept(self):
        told = self.stack.wait_until("a profile of all ranks", lambda: self.all_profiled("--ranks", "1", "--keep"),
                                     PATIENCE_SECONDS)
        for rank in told["ranks"]:
            self.assertEqual(pathlib.Path(rank["trace"]).stat().st_size, rank["trace_bytes"])
        self.files_say_the_same(told)
        for rank in told["ranks"]:
            pathlib.Path(rank["trace"]).unlink()

    def files_say_the_same(self, told):
        """`lockstep diagnose` on the folder of the traces that were kept."""
        command = [self.stack.binaries / "cli/lockstep", "-o", "json", "diagnose", self.traces]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
        found = json.loads(done.stdout)["jobs"][0]

        def accusations(job):
            return [(v["scope"], v["class"], [c["rank"] for c in v["culprits"]],
                     sorted(e["text"] for e in v["evidence"] if "takes" in e["text"] or "waits" in e["text"]))
                    for v in job["verdicts"] if v["scope"] != "unknown"]

        self.assertEqual(accusations(found), accusations(told["jobs"][0]))
        self.assertIn("_MultiProcessingDataLoaderIter.__next__", json.dumps(accusations(found)))


if __name__ == "__main__":
    sys.exit(unittest.main())
