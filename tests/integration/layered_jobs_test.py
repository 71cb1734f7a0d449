#!/usr/bin/env python3
"""Jobs of equal layers (layered_jobs.py): the sick host is named, and nobody in a healthy job."""

import itertools
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from demo.stack import BINARIES  # noqa: E402
from layered_jobs import FAULTS, SHAPES, accused, judge  # noqa: E402

LOCKSTEP = BINARIES / "cli/lockstep"


class LayeredJobsTest(unittest.TestCase):
    def test_the_sick_host_is_named_and_nobody_else(self):
        wrong = [judge(LOCKSTEP, shape, fault, seed=1) for shape, fault in itertools.product(SHAPES, FAULTS)]
        self.assertEqual([text for text in wrong if text], [])

    def test_a_record_in_a_hundred_may_be_lost(self):
        self.assertEqual(judge(LOCKSTEP, "tensor", "gpu", seed=2, lost=0.01), "")

    def test_the_judge_sees_who_is_accused_and_who_is_not(self):
        report = {"jobs": [{"verdicts": [{"scope": "machine", "culprits": [{"host": "h3"}]},
                                         {"scope": "structural", "culprits": [{"host": "h4"}]}]}]}
        self.assertEqual(accused(report), ["h3"])


if __name__ == "__main__":
    unittest.main()
