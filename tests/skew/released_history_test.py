#!/usr/bin/env python3
"""History that the collector of release 0.1.0 has left, as a program and with a real job, is gone on with by today's.

testdata/history-0.1.0-killed.tar.gz: killed (kill -9) while the incident of a slow rank was open, so that all is in a
write-ahead log; history-0.1.0-stopped.tar.gz: ended in order after that of another run was resolved. In both an agent of
0.2.0 reported from node-1, and rank 2 of four was slow. What the store of 0.1.0 wrote: collector/store/upgrade_test.cc.

Usage: released_history_test.py; under Bazel, or by hand with the binaries in bazel-bin
"""

import os
import pathlib
import signal
import sys
import tarfile
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from demo.stack import BINARIES, Stack  # noqa: E402

UPGRADED = 'msg="history was upgraded: older releases will refuse it" from_schema=1 to_schema=2'
# Whenever this runs: by then what was recorded would have been forgotten.
FOR_EVER = ("--retention-log=876000h", "--retention-samples=876000h", "--retention-rollups=876000h",
            "--retention-incidents=876000h")


class ReleasedHistoryTest(unittest.TestCase):
    def start_on(self, name):
        directory = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(directory.cleanup)
        self.stack = Stack(pathlib.Path(directory.name) / "state", BINARIES)
        self.addCleanup(self.stack.close)
        with tarfile.open(pathlib.Path(__file__).parent / f"testdata/history-0.1.0-{name}.tar.gz") as history:
            history.extractall(self.stack.state / "history")
        self.stack.start_collector(flags=FOR_EVER)

    def start_again(self, with_signal):
        self.stack.stop("collector", with_signal)
        self.stack.start_collector(flags=FOR_EVER)

    def log(self):
        return (self.stack.state / "collector.log").read_text()

    def incidents(self):
        return self.stack.lockstep("incidents", "list")["incidents"]

    def assert_whole(self, state, transitions, logged):
        """The one incident is there as 0.1.0 has told it, and the log of its job: so many reports and looks."""
        [incident] = self.incidents()
        self.assertEqual((incident["id"], incident["state"]), (1, state))
        self.assertEqual([t["what"] for t in incident["transitions"]], transitions)
        self.assertEqual([(c["host"], c["rank"]) for c in incident["verdict"]["culprits"]], [("node-1", 2)])
        capture = self.stack.state / "capture.lockcap"
        self.stack.text("capture", incident["job"], "-o", capture)
        replayed = self.stack.lockstep("replay", capture)
        self.assertEqual((replayed["inputs"], replayed["watermarks"]), logged)
        self.assertIn("node-1", self.stack.text("explain", "1"))

    def test_what_was_open_when_it_was_killed_stays_open_until_somebody_can_judge(self):
        self.start_on("killed")
        self.assertEqual(self.log().count(UPGRADED), 1)
        self.assert_whole("open", ["opened"], (35, 69))
        # Without a report of its job nothing is known of the fault.
        self.start_again(signal.SIGKILL)
        self.start_again(signal.SIGTERM)
        self.assertEqual(self.log().count(UPGRADED), 1)
        self.assert_whole("open", ["opened"], (35, 69))

    def test_what_was_over_stays_over_and_its_number_is_not_given_again(self):
        self.start_on("stopped")
        self.assertEqual(self.log().count(UPGRADED), 1)
        self.assert_whole("resolved", ["opened", "resolved"], (46, 91))
        text = self.stack.text("history", 'host_memory_available_bytes{host="node-1"}', "--since", "87600h", "--points",
                               "--step", "24h")
        self.assertEqual(text.count("node-1"), 1, text)
        self.stack.text("sim", "--feed", self.stack.address, "--job", "fed", "--gpus", "8", "--steps", "60", "--speed", "10",
                        "--faults", "compute_slow:3@8*0.5")
        self.stack.wait_until("the next incident", lambda: len(self.incidents()) > 1, 60)
        self.assertEqual({i["id"]: i["job"] for i in self.incidents()}[2], "fed")


if __name__ == "__main__":
    unittest.main()
