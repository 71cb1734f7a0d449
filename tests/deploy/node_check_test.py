#!/usr/bin/python3
"""node-check, and node-problem-detector's configuration that calls it: who is accused of what, in words that fit."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from places import ROOT

CHECK = ROOT / "deploy/node/node-check"
MONITOR = json.loads((ROOT / "deploy/node/node-problem-detector.json").read_text())


def incident(verdict_class, host="node-7", scope="machine", confidence=0.9, **fields):
    culprit = {"host": host, "rank": 3, "gpu": 3, "device": "", "confidence": confidence}
    return {"id": 12, "job": "gpt", **fields,
            "verdict": {"scope": scope, "class": verdict_class, "culprits": [culprit]}}


class NodeCheckTest(unittest.TestCase):
    def check(self, incidents, *arguments, status=0):
        """(exit status, line) on node-7, of a `lockstep` that answers with `incidents`; it has to be asked for open ones."""
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "lockstep"
            answer = json.dumps({"incidents": incidents})
            program.write_text(f"#!/bin/sh\n[ \"$*\" = '-o json incidents --open' ] || exit 2\ncat <<'X'\n{answer}\nX\nexit {status}\n")
            program.chmod(0o755)
            done = subprocess.run([CHECK, *arguments], capture_output=True, text=True, check=False,
                                  env={"PATH": f"{folder}:{os.environ['PATH']}", "NODE_NAME": "node-7"})
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.rstrip("\n")

    def test_accused_is_who_is_named_for_such_a_class(self):
        self.assertEqual(self.check([incident("gpu_fault")]), (1, "lockstep 12: gpu_fault gpu 3, 90% in gpt"))
        for innocent in (incident("gpu_fault", host="node-8"), incident("compute_slow"), incident("gpu_fault", scope="job")):
            self.assertEqual(self.check([innocent]), (0, "lockstep: no open incident"))

    def test_the_most_certain_is_told(self):
        found = [incident("gpu_fault", confidence=0.6, id=1), incident("pcie_degraded", confidence=0.8, id=2)]
        self.assertEqual(self.check(found), (1, "lockstep 2: pcie_degraded gpu 3, 80% in gpt"))

    def test_who_does_not_answer_accuses_nobody(self):
        self.assertEqual(self.check([], status=4)[0], 2)
        self.assertEqual(self.check([{"verdict": {}}])[0], 2)

    def test_a_job_may_be_called_anything(self):
        status, line = self.check([incident("gpu_fault", job="evil\x1b[31m\n" + "x" * 200)])
        self.assertEqual(status, 1)
        self.assertLessEqual(len(line), MONITOR["pluginConfig"]["max_output_length"])
        self.assertTrue(line.isprintable())

    def test_conditions_are_true_when_something_is_wrong(self):
        classes = {"GpuHardwareFaulty": "gpu_fault", "GpuFabricDegraded": "nvlink_slow", "GpuStragglerSuspected": "host_slow"}
        rules = {rule["condition"]: rule for rule in MONITOR["rules"]}
        self.assertEqual(set(rules), set(classes))
        self.assertEqual({c["type"] for c in MONITOR["conditions"]}, set(classes))
        for condition, rule in rules.items():
            self.assertRegex(condition + rule["reason"], r"^([A-Z][a-z]+)+$")
            self.assertEqual(rule["type"], "permanent")
            for other, verdict_class in classes.items():
                self.assertEqual(self.check([incident(verdict_class)], *rule["args"])[0], int(other == condition))

    def test_the_detector_waits_longer_than_the_check(self):
        longest = int(re.search(r"^MAX_SECONDS = (\d+)", CHECK.read_text(), re.M).group(1))
        for rule in MONITOR["rules"]:
            self.assertGreater(int(rule["timeout"].removesuffix("s")), longest)
            self.assertEqual(rule["path"], "/usr/libexec/lockstep/node-check")

    def test_classes_are_those_of_verdicts(self):
        known = set(re.findall(r'\{"(\w+)", "\w+"[,}]', (ROOT / "detector/verdict/verdict.cc").read_text()))
        named = set(re.findall(r'"([a-z_]+)"', CHECK.read_text().split("CONDITIONS")[1].split("SCOPES")[0]))
        self.assertGreater(len(named), 5)
        self.assertLessEqual(named, known)


if __name__ == "__main__":
    sys.exit(unittest.main())
