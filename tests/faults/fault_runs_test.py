#!/usr/bin/env python3
"""Seeded faults: some runs in which nothing may be wrong, the same bytes from the same seed, and checkers that see what
is broken on purpose.

Usage: fault_runs_test.py; under Bazel, or by hand with the binaries in bazel-bin
"""

import os
import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from demo.stack import BINARIES  # noqa: E402

PROGRAM = BINARIES / "tests/faults/fault_runs"
# A sanitizer makes each run take many times as long.
RUNS = int(os.environ.get("LOCKSTEP_FAULT_RUNS", "12"))


def run(*arguments):
    """Exit code and what was printed."""
    done = subprocess.run([str(PROGRAM), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=600, check=False)
    return done.returncode, done.stdout


def wrong(text):
    """What checkers have seen, as the first words of their lines."""
    return {line.split()[1].rstrip(":") for line in text.splitlines() if line.startswith("WRONG ")}


class FaultRunsTest(unittest.TestCase):
    def test_nothing_is_lost_or_told_twice(self):
        code, text = run("--runs", RUNS, "--seed", 1)
        self.assertEqual(code, 0, text)
        self.assertIn(f"{RUNS} of {RUNS} runs are well", text)

    def test_the_same_seed_gives_the_same_trace(self):
        first = run("--runs", 1, "--seed", 5, "--trace")
        self.assertGreater(len(first[1].splitlines()), 20)
        self.assertEqual(first, run("--runs", 1, "--seed", 5, "--trace"))
        self.assertNotEqual(first[1], run("--runs", 1, "--seed", 6, "--trace")[1])

    def sees(self, what, checker, first=1, runs=6):
        code, text = run("--runs", runs, "--seed", first, "--break", what)
        self.assertNotEqual(code, 0, text)
        self.assertIn(checker, wrong(text))
        self.assertIn("again: ./dev chaos --runs 1 --seed", text)

    def test_a_store_that_loses_what_it_took_is_seen(self):
        self.sees("writes", "history", runs=8)

    def test_incidents_that_a_restart_forgets_are_seen(self):
        self.sees("incidents", "receiver", first=3, runs=1)

    def test_reports_that_a_spool_forgets_are_seen(self):
        self.sees("spool", "spool", first=14, runs=1)

    def test_reports_that_a_spool_did_not_sync_are_seen_when_power_is_lost(self):
        self.sees("syncs", "spool", first=23, runs=1)

    def test_entries_that_nobody_wrote_are_seen(self):
        self.sees("log", "damage", first=4, runs=1)

    def test_incidents_that_are_lost_are_seen_on_a_disk_that_lies(self):
        self.sees("changes", "damage", first=41, runs=1)


if __name__ == "__main__":
    unittest.main()
