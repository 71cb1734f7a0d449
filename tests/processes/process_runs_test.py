#!/usr/bin/env python3
"""Real processes under seeded troubles: some runs in which nothing may be wrong, and checkers that see what is broken on
purpose.

Usage: process_runs_test.py; under Bazel, or by hand with the binaries in bazel-bin
"""

import pathlib
import subprocess
import sys
import unittest

PROGRAM = pathlib.Path(__file__).resolve().parent / "process_runs.py"


PATIENCE_SECONDS = 280
SABOTAGED = ("--runs", "1", "--faults", "1", "--break")
RUNS = {
    "well": ("--runs", "4", "--faults", "2"),
    "no spool": (*SABOTAGED, "spool", "--only", "kill_agent_cut_off"),
    "no history": (*SABOTAGED, "history"),
}


class ProcessRunsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """All at once: they mostly wait."""
        cls.runs = {name: subprocess.Popen([sys.executable, PROGRAM, *arguments], stdout=subprocess.PIPE,
                                           stderr=subprocess.STDOUT, text=True) for name, arguments in RUNS.items()}

    def finish(self, name):
        """Exit code and what was printed."""
        text, _ = self.runs[name].communicate(timeout=PATIENCE_SECONDS)
        return self.runs[name].returncode, text

    def test_nothing_is_lost_or_told_twice(self):
        code, text = self.finish("well")
        self.assertEqual(code, 0, text)
        self.assertRegex(text, "4 of 4 runs are well; .* 16 alert transitions")

    def sees(self, name):
        code, text = self.finish(name)
        self.assertEqual(code, 1, text)
        self.assertIn("WRONG history: ", text)
        self.assertIn("again: ./dev chaos --processes --runs 1 --seed 1", text)

    def test_reports_that_die_with_their_agent_are_seen(self):
        self.sees("no spool")

    def test_a_history_that_is_lost_is_seen(self):
        self.sees("no history")


if __name__ == "__main__":
    unittest.main()
