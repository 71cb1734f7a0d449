#!/usr/bin/env python3
"""Real collector on a disk that is nearly full: /readyz and the metrics say so, the oldest of the log goes and is counted,
and all else goes on: a simulated job is judged, its incident is told, and is there after a restart.

Usage: disk_full_test.py; under Bazel, or by hand with the binaries in bazel-bin
"""

import os
import pathlib
import signal
import subprocess
import sys
import unittest
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from demo.stack import metrics  # noqa: E402
from stack_case import StackCase  # noqa: E402

PATIENCE_SECONDS = 30
JOB = "simulated"
SLOW_RANK = 5
MEBIBYTE = 1 << 20
DISK_MEBIBYTES = 96
# Of the log, from two hours ago. All of it may go but for its newest part, and that is not enough.
OLD_MEBIBYTES = 16
FREE_MEBIBYTES = 10


class DiskFullTest(StackCase):
    @classmethod
    def prepare(cls):
        """A disk of its own with an old history, of which nearly all is taken."""
        disk = cls.stack.state / "history"
        disk.mkdir()
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MEBIBYTES}m", "tmpfs", disk],
                              capture_output=True, text=True)
        if made.returncode:
            raise unittest.SkipTest(f"a tmpfs cannot be mounted: {made.stderr}")
        cls.addClassCleanup(subprocess.run, ["umount", "--lazy", disk], check=True)
        subprocess.run([cls.stack.binaries / "tests/integration/old_history", disk, str(OLD_MEBIBYTES)], check=True)
        space = os.statvfs(disk)
        (disk / "filler").write_bytes(bytes(space.f_bavail * space.f_frsize - FREE_MEBIBYTES * MEBIBYTE))

    def page(self, name):
        """Status and text."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.stack.http_port}/{name}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def removed(self, kind):
        """Bytes of that kind that went for want of space."""
        series = metrics(self.stack.http_port)
        return sum(value for name, value in series.items() if f'kind="{kind}"' in name and 'cause="disk"' in name
                   and name.startswith("lockstep_collector_history_removed_bytes_total"))

    def accused(self):
        """Incidents of the job that name somebody: id, state, ranks."""
        return [(i["id"], i["state"], [c["rank"] for c in i["verdict"]["culprits"]])
                for i in self.stack.lockstep("incidents", "list")["incidents"]
                if i["job"] == JOB and not i.get("suspected")]

    def alerts(self):
        """States that the receiver was told of the job, in order."""
        return [alert["status"] for _, message in self.stack.alerts.received for alert in message["alerts"]
                if alert["labels"]["job"] == JOB]

    def wait_for_full_disk(self):
        self.stack.wait_until("/readyz to tell of the disk", lambda: "the disk is full" in self.page("readyz")[1],
                              PATIENCE_SECONDS)

    def test_on_a_full_disk_the_oldest_goes_and_an_incident_is_found_told_and_kept(self):
        self.wait_for_full_disk()
        code, text = self.page("readyz")
        self.assertEqual(code, 503)
        self.assertRegex(text, r"the disk is full, \d+ MiB are free: the oldest history is removed")
        self.assertEqual(self.page("healthz")[0], 200)
        self.stack.wait_until("the free space to be known",
                              lambda: metrics(self.stack.http_port)["lockstep_collector_disk_free_bytes"] > 0,
                              PATIENCE_SECONDS)
        self.stack.wait_until("the oldest of the log to go", lambda: self.removed("log") > 0, PATIENCE_SECONDS)
        self.assertIn("the disk is full: the oldest history was removed", (self.stack.state / "collector.log").read_text())

        feed = subprocess.Popen([self.stack.binaries / "cli/lockstep", "sim", "--feed", self.stack.address, "--job", JOB,
                                 "--gpus", "32", "--steps", "60", "--faults", f"compute_slow:{SLOW_RANK}@12*1.0",
                                 "--speed", "4"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(feed.kill)
        self.stack.wait_until("the incident", self.accused, 2 * PATIENCE_SECONDS)
        self.stack.wait_until("its alert", lambda: "firing" in self.alerts(), PATIENCE_SECONDS)
        self.assertIn("the disk is full", self.page("readyz")[1], "all of it was on a full disk")
        _, error = feed.communicate(timeout=PATIENCE_SECONDS * 3)
        self.assertEqual(feed.returncode, 0, error)
        self.assertRegex(error, r"\b([1-9]\d*) reports sent, \1 stored")
        found = [(number, ranks) for number, _, ranks in self.accused()]
        self.assertEqual([ranks for _, ranks in found], [[SLOW_RANK]])
        self.assertEqual((self.removed("incidents"), self.removed("chunks")), (0, 0))

        # Killed while its disk is full, it has lost nothing that it told.
        self.stack.stop("collector", signal.SIGKILL)
        self.stack.start_collector()
        self.assertEqual([(number, ranks) for number, _, ranks in self.accused()], found)
        self.wait_for_full_disk()
        (self.stack.state / "history/filler").unlink()
        self.stack.wait_until("/readyz to tell of room", lambda: self.page("readyz")[0] == 200, PATIENCE_SECONDS)


if __name__ == "__main__":
    unittest.main()
