#!/usr/bin/env python3
"""SIGTERM to daemons whose disk hangs: they end within their limits and say what they could not write; nothing that
was acknowledged is missing afterwards, and the rest is delivered.

Usage: hanging_disk_test.py; under Bazel, or by hand with the binaries in bazel-bin
"""

import pathlib
import re
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from demo.stack import free_port, metrics  # noqa: E402
from stack_case import StackCase  # noqa: E402

PATIENCE_SECONDS = 30
# docs/operations.md, "End a daemon"; a busy machine gets some more.
COLLECTOR_SECONDS, AGENT_SECONDS = 25, 8
SLACK_SECONDS = 4


class HangingDiskTest(StackCase):
    @classmethod
    def prepare(cls):
        cls.hangs = cls.place / "hangs"
        cls.library = cls.stack.binaries / "tests/integration/libhanging-disk.so"

    def environment(self, folder):
        return {"LD_PRELOAD": str(self.library), "HANGING_DISK": str(folder), "HANGING_DISK_WHEN": str(self.hangs)}

    def start(self, name, folder, command):
        return self.stack.start(name, command, **self.environment(folder))

    def of_agent(self, metric):
        try:
            return metrics(self.stack.agent_port).get(f"lockstep_agent_{metric}", 0)
        except OSError:  # it does not listen yet
            return 0

    def end(self, name, limit_seconds):
        """Status and log of a daemon that is asked to end; SIGKILL would be -9."""
        began = time.monotonic()
        status = self.stack.stop(name, patience_seconds=limit_seconds + SLACK_SECONDS)
        took = time.monotonic() - began
        log = (self.stack.state / f"{name}.log").read_text()
        self.assertNotEqual(status, -9, f"{name} did not end within {took:.1f} s\n{log[-2000:]}")
        return status, log

    def test_an_agent_ends_and_says_what_no_disk_has(self):
        spool = self.place / "spool"
        self.start("agent", spool, [
            self.stack.binaries / "agent/lockstep-agent", "--collector-address=127.0.0.1:1", f"--spool-directory={spool}",
            f"--ring-directory={self.stack.rings}", "--listen-address=127.0.0.1:0"])
        self.stack.wait_until("a report in the spool", lambda: any(f.stat().st_size > 100 for f in spool.glob("*.segment")),
                              PATIENCE_SECONDS)
        self.hangs.touch()
        time.sleep(3)
        status, log = self.end("agent", AGENT_SECONDS)
        self.hangs.unlink()
        self.assertEqual(status, 0, log)
        last = [line for line in log.splitlines() if 'msg="agent stopped"' in line][-1]
        found = re.search(r"reports_left=(\d+) reports_lost=(\d+)", last)
        self.assertTrue(found, last)
        self.assertGreaterEqual(int(found[2]), 2, last)
        self.assertGreater(int(found[1]), int(found[2]), last)

    def test_a_collector_ends_and_says_what_it_could_not_write(self):
        history = self.stack.state / "history"
        self.stack.stop("collector")
        preload = self.place / "preloaded"
        preload.write_text("#!/bin/sh\n" + "".join(f"export {k}='{v}'\n" for k, v in self.environment(history).items()) +
                           f'exec "{self.stack.binaries}/collector/lockstep-collector" "$@"\n')
        preload.chmod(0o755)
        self.stack.agent_port = free_port()
        self.stack.start_collector(preload)
        self.stack.start_agent()
        self.stack.wait_until("reports to be acknowledged", lambda: self.of_agent("reports_acked_total") > 3,
                              PATIENCE_SECONDS)
        self.hangs.touch()
        time.sleep(3)
        status, log = self.end("collector", COLLECTOR_SECONDS)
        self.hangs.unlink()
        self.assertEqual(status, 1, log[-2000:])
        self.assertRegex(log, r'msg="the end takes too long and is cut short[^"]*" left="[1-9]\d* entries of history')
        acknowledged = self.of_agent("reports_acked_total")
        self.stack.start_collector()
        self.stack.wait_until("the agent to be rid of all its reports",
                              lambda: self.of_agent("reports_acked_total") > acknowledged
                              and self.of_agent("outbox_reports") <= 1, PATIENCE_SECONDS)


if __name__ == "__main__":
    unittest.main()
