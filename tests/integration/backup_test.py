#!/usr/bin/env python3
"""Real job, agent and collector: history is backed up while reports come in, the collector is killed (kill -9), and one
that is started on the restored copy has the incidents, samples and log that were acknowledged before the backup. The
commands that restore and repair are those of docs/operations.md.

Usage: backup_test.py; under Bazel, or by hand with the binaries in bazel-bin
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from demo.stack import BINARIES, RANKS, Stack  # noqa: E402

PATIENCE_SECONDS = 120
STOPPED_RANK = 2
DAMAGED = 7


class BackupTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(directory.cleanup)
        self.place = pathlib.Path(directory.name)
        self.stack = Stack(self.place / "state", BINARIES)
        self.addCleanup(self.stack.close)
        self.history = self.stack.state / "history"

    def run_documented(self, heading, backup=""):
        """The commands below a heading of the manual, but those of systemd, on the directories of this test."""
        text = (ROOT / "docs/operations.md").read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
        block = re.search(r"```console\n(.*?)```", text, re.S).group(1)
        commands = [line[2:] for line in block.splitlines() if line.startswith("# ") and "systemctl" not in line]
        self.assertGreater(len(commands), 0)
        for command in commands:
            for documented, here in ((r"/var/lib/lockstep-backups/history-\w+", backup),
                                     (r"/var/lib/lockstep\b", str(self.history)),
                                     (r"lockstep-collector ", f"{BINARIES}/collector/lockstep-collector "),
                                     (r"--config \S+", f"--data-directory={self.history}"),
                                     (r"runuser -u lockstep -- ", "")):
                command = re.sub(documented, lambda _, text=here: text, command)
            done = subprocess.run(["bash", "-euc", command], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, f"{command}: {done.stderr}")
        return done.stderr

    def samples(self):
        query = f'host_memory_available_bytes{{host="{os.uname().nodename}"}}'
        series = self.stack.lockstep("history", query, "--since", "10m", "--step", "100ms")["series"]
        return sorted(p[0] / 1e9 for s in series for p in s["points"])

    def capture(self, name):
        """The log of the job as the command line saves it: its size, and what the detector concludes from it."""
        file = self.place / name
        self.stack.text("--output", "json", "capture", self.stack.job, "-o", str(file))
        return file

    def start(self):
        self.stack.start_collector()
        self.stack.start_agent()
        self.stack.start_job()
        self.stack.wait_until("the job", self.job, PATIENCE_SECONDS)
        self.stack.wait_until("all ranks", lambda: len(self.stack.ranks()) == RANKS, PATIENCE_SECONDS)
        self.stack.wait_until("samples", lambda: len(self.samples()) > 5, PATIENCE_SECONDS)
        # Of a crowded machine the job may be slow or irregular by itself.
        self.stack.wait_until("a judged job", lambda: self.job()["state"] not in ("unknown", "hung"), PATIENCE_SECONDS)

    def job(self):
        return next((j for j in self.stack.lockstep("jobs")["jobs"] if j["job"] == self.stack.job), None)

    def test_a_restored_backup_has_what_was_acknowledged_before_it(self):
        self.start()
        pid = self.stack.ranks()[STOPPED_RANK]["pid"]
        os.kill(pid, signal.SIGSTOP)
        self.addCleanup(os.kill, pid, signal.SIGKILL)
        incidents = self.stack.wait_until("an incident", self.stack.incidents, PATIENCE_SECONDS)
        samples = self.samples()
        before = self.capture("before.lockcap")

        backup = self.stack.text("backup").strip()
        self.assertEqual(pathlib.Path(backup).parent, self.stack.state / "backups")
        self.stack.wait_until("reports after the backup", lambda: self.samples()[-1] > samples[-1], PATIENCE_SECONDS)

        # Nobody may tell the restored one again what it has lost.
        self.stack.stop("agent", signal.SIGKILL)
        self.stack.stop("collector", signal.SIGKILL)
        self.run_documented("Restore", backup)
        self.stack.start_collector()
        known = self.samples()
        self.assertEqual([s for s in samples if not any(abs(s - k) < 0.2 for k in known)], [])
        numbers = {i["id"] for i in self.stack.incidents()}
        self.assertLessEqual({i["id"] for i in incidents}, numbers)
        after = self.capture("after.lockcap")
        self.assertGreaterEqual(after.stat().st_size, before.stat().st_size * 0.9)
        done = subprocess.run([BINARIES / "cli/lockstep", "replay", after], capture_output=True, text=True, timeout=60,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

        # And it goes on: the agent is taken on again, behind the gap.
        self.stack.start_agent()
        self.stack.wait_until("newer samples", lambda: self.samples()[-1] > known[-1] + 2, PATIENCE_SECONDS)

    def test_a_damaged_history_is_refused_and_salvaged(self):
        self.stack.start_collector()
        self.stack.start_agent()
        self.stack.wait_until("samples", lambda: len(self.samples()) > 5, PATIENCE_SECONDS)
        self.stack.stop("agent", signal.SIGKILL)
        before = self.samples()
        self.stack.stop("collector", signal.SIGKILL)
        (self.history / "CURRENT").unlink()
        refused = subprocess.run([BINARIES / "collector/lockstep-collector", f"--data-directory={self.history}"],
                                 capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual((refused.returncode, refused.stderr.count("\n")), (DAMAGED, 1), refused.stderr)
        self.assertIn("history was repaired", self.run_documented("Repair"))
        self.stack.start_collector()
        repair = self.stack.lockstep("audit")["records"][0]
        self.assertEqual([repair["action"], repair["by"], repair["outcome"]], ["repair", f"uid {os.getuid()}", "ok"])
        self.assertTrue(repair["of"].startswith(f"{self.history}, lost tables: "), repair)
        known = self.samples()
        self.assertEqual([s for s in before if not any(abs(s - k) < 0.2 for k in known)], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
