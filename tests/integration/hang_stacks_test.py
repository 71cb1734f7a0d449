#!/usr/bin/env python3
"""A real job in Python, of which one rank hangs in a function: the incident that opens holds stacks that name it, without
anybody having asked; `lockstep dump` shows them at any time.

Usage: hang_stacks_test.py; under Bazel, or by hand with the binaries in bazel-bin
"""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from demo.stack import RANKS  # noqa: E402
from stack_case import StackCase  # noqa: E402

PATIENCE_SECONDS = 120
HANGS = ("hang_not_entered", "hang_in_communication")
SCRIPT = pathlib.Path(__file__).resolve().parent / "python_rank.py"


def innermost(dump):
    """The innermost function of Python of each thread, without its place."""
    return {dump["names"][t["python"][0]["frames"][-1]].split(" ")[0] for t in dump["threads"] if t["python"]}


class HangStacksTest(StackCase):
    @classmethod
    def begin(cls):
        cls.stack.start_agent()
        cls.order = cls.place / "order"
        exported = ["-x", f"LOCKSTEP_RING_DIR={cls.stack.rings}", "-x", f"LOCKSTEP_JOB_ID={cls.stack.job}", "-x",
                    f"LD_PRELOAD={cls.stack.binaries / 'agent/recorder/liblockstep-mpi.so'}"]
        cls.stack.start("job", [
            "mpirun", "--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--mca", "btl",
            "self,vader", "-n", str(RANKS), *exported, "/usr/bin/python3", SCRIPT, cls.order])
        cls.stack.wait_until("all ranks", lambda: cls.job_is_known() and len(cls.stack.ranks()) == RANKS, PATIENCE_SECONDS)
        cls.stack.wait_until("steps", lambda: all(r["finished"] > 60 for r in cls.stack.ranks().values()),
                             PATIENCE_SECONDS)

    @classmethod
    def job_is_known(cls):
        return any(j["job"] == cls.stack.job for j in cls.stack.lockstep("jobs")["jobs"])

    def test_the_incident_names_the_function_that_hangs(self):
        self.order.write_text("2")
        self.addCleanup(self.order.unlink)
        incident = self.stack.wait_until(
            "the hang", lambda: next((i for i in self.stack.incidents() if i["verdict"]["class"] in HANGS), None),
            PATIENCE_SECONDS)
        self.assertEqual([c["rank"] for c in incident["verdict"]["culprits"]], [2])
        kept = self.stack.wait_until(
            "stacks of the culprit and two victims",
            lambda: (s := self.stack.lockstep("incidents", "show", incident["id"])["stacks"]) and len(s) == 3 and s,
            PATIENCE_SECONDS)
        self.assertEqual(kept[0]["rank"], 2)
        self.assertEqual(innermost(kept[0]), {"wait_for_the_storage", "Condition.wait"})
        self.assertEqual(kept[0]["samples"], 10)
        for victim in kept[1:]:
            self.assertIn("all_reduce", innermost(victim))
        shown = self.stack.text("incidents", "show", incident["id"])
        self.assertRegex(shown, r"rank 2 on .*Python 3\.")
        self.assertRegex(shown, r"load_batch \(python_rank.py:\d+\) > wait_for_the_storage")
        graph = self.stack.text("incidents", "show", incident["id"], "--stacks", "svg")
        self.assertIn("wait_for_the_storage", graph)

    def test_an_operator_looks_when_he_likes(self):
        dump = self.stack.lockstep("dump", self.stack.job, "--rank", "1", "--samples", "3")["dumps"]
        self.assertEqual([(d["rank"], d["samples"]) for d in dump], [(1, 3)])
        self.assertIn("Condition.wait", innermost(dump[0]))
        folded = self.stack.text("dump", self.stack.job, "--rank", "1", "--rank", "3", "-o", "folded")
        self.assertRegex(folded, r"rank 3;\S+ \d+ \(main\);<module> \(python_rank.py:1\);main \(python_rank.py:\d+\);")
        self.assertEqual(self.stack.lockstep("audit")["records"][0]["action"], "demand")


if __name__ == "__main__":
    sys.exit(unittest.main())
