#!/usr/bin/env python3
"""Real collector on a disk that is nearly full: /readyz and the metrics say so, and all else goes on.

Usage: disk_full_test.py; under Bazel, or by hand with the binaries in bazel-bin
"""

import pathlib
import re
import subprocess
import sys
import unittest
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from stack_case import StackCase  # noqa: E402

PATIENCE_SECONDS = 30


class DiskFullTest(StackCase):
    @classmethod
    def prepare(cls):
        """A disk of its own, of which nearly all is taken."""
        disk = cls.stack.state / "history"
        disk.mkdir()
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], capture_output=True, text=True)
        if made.returncode:
            raise unittest.SkipTest(f"a tmpfs cannot be mounted: {made.stderr}")
        cls.addClassCleanup(subprocess.run, ["umount", "--lazy", disk], check=True)
        (disk / "filler").write_bytes(bytes(20 << 20))

    def page(self, name):
        """Status and text."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.stack.http_port}/{name}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def test_a_full_disk_is_told_and_the_collector_goes_on(self):
        self.stack.wait_until("/readyz to tell of the disk", lambda: "the disk is full" in self.page("readyz")[1],
                              PATIENCE_SECONDS)
        code, text = self.page("readyz")
        self.assertEqual(code, 503)
        self.assertRegex(text, r"the disk is full, \d+ MiB are free: the oldest history is removed")
        self.assertEqual(self.page("healthz")[0], 200)
        free = re.compile(r"^lockstep_collector_disk_free_bytes [1-9]", re.M)
        self.stack.wait_until("the free space to be known", lambda: free.search(self.page("metrics")[1]),
                              PATIENCE_SECONDS)
        self.assertRegex(self.page("metrics")[1],
                         r'lockstep_collector_history_removed_bytes_total{[^}]*cause="disk"[^}]*} 0')
        self.assertIn("version", self.stack.lockstep("status"))
        (self.stack.state / "history/filler").unlink()
        self.stack.wait_until("/readyz to tell of room", lambda: self.page("readyz")[0] == 200, PATIENCE_SECONDS)


if __name__ == "__main__":
    unittest.main()
