#!/usr/bin/env python3
"""Real collector and agent whose configuration changes while they run: SIGHUP takes on what can be, names what needs
a restart, and keeps everything when the file is wrong.

Usage: reload_test.py; under Bazel, or by hand with the binaries in bazel-bin
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
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from demo.stack import BINARIES, Stack, metrics  # noqa: E402

PATIENCE_SECONDS = 30


class ReloadTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(directory.cleanup)
        self.place = pathlib.Path(directory.name)
        self.stack = Stack(self.place / "state")
        self.addCleanup(self.stack.close)

    def start(self, daemon, configuration, *flags):
        """Starts it with this text as its file; returns when its port is known."""
        self.configure(daemon, configuration)
        ports = self.place / f"{daemon}.json"
        self.stack.start(daemon, [BINARIES / f"{daemon}/lockstep-{daemon}", "--config", self.file_of(daemon),
                                  f"--ports-file={ports}", *flags])
        self.stack.wait_until(f"ports of the {daemon}", ports.exists, PATIENCE_SECONDS)
        found = re.search(r'"http":(\d+)', ports.read_text())
        self.http_port = int(found.group(1))

    def file_of(self, daemon):
        return self.place / f"{daemon}.yaml"

    def configure(self, daemon, text):
        self.file_of(daemon).write_text(text)

    def log(self, daemon):
        return (self.stack.state / f"{daemon}.log").read_text()

    def metric(self, series):
        return metrics(self.http_port).get(series)

    def reload(self, daemon, outcome):
        """Sends SIGHUP and waits until the daemon has counted that."""
        series = f'lockstep_{daemon}_settings_reloads_total{{outcome="{outcome}"}}'
        before = self.metric(series)
        os.kill(self.stack.pid(daemon), signal.SIGHUP)
        self.stack.wait_until(f"{series} to rise", lambda: self.metric(series) == before + 1, PATIENCE_SECONDS)

    def await_audit(self):
        """The line of the audit about a reload, which is kept by another thread than the one that reloads."""
        lines = lambda: [line for line in self.log("collector").splitlines() if "action=reload_settings" in line]
        self.stack.wait_until("a line of the audit", lines, PATIENCE_SECONDS)
        return lines()[0]

    def start_collector(self, configuration):
        self.start("collector", configuration, "--listen-address=127.0.0.1:0", "--http-listen-address=127.0.0.1:0",
                   f"--data-directory={self.place / 'history'}")

    def test_collector_takes_on_its_log_level_and_names_what_needs_a_restart(self):
        self.start_collector("log_level: info\nshards: 1\n")
        self.configure("collector", "log_level: error\nshards: 2\n")
        self.reload("collector", "ok")
        audited = self.await_audit()
        log = self.log("collector")
        self.assertIn('msg="applying a changed setting" setting=log_level', log)
        self.assertIn('msg="a changed setting needs a restart" setting=shards', log)
        self.assertIn('action=reload_settings of="applied: log_level; need a restart: shards" '
                      f'by="uid {os.getuid()}" from=SIGHUP outcome=ok', audited)
        self.assertEqual(self.stack.stop("collector"), 0)
        self.assertEqual(self.log("collector"), log, "an orderly end is no error, and only errors are logged now")

    def test_collector_names_every_setting_that_needs_a_restart(self):
        self.start_collector("shards: 1\n")
        self.configure("collector", "shards: 2\nretention: {log: 9h}\n")
        self.reload("collector", "ok")
        self.assertEqual(re.findall(r'msg="a changed setting needs a restart" setting=(\S+)', self.log("collector")),
                         ["retention.log", "shards"])

    def test_collector_takes_on_receivers_and_thresholds(self):
        self.start_collector("detector: {min_step_cost: 0.99}\n")
        self.configure("collector", f"webhook_url: [{self.stack.alerts.url}]\ndetector: {{min_step_cost: 0.05}}\n")
        self.reload("collector", "ok")
        self.assertNotIn("needs a restart", self.log("collector"))
        address = re.search(r'"grpc":(\d+)', (self.place / "collector.json").read_text()).group(1)
        subprocess.run([BINARIES / "cli/lockstep", "sim", "--feed", f"127.0.0.1:{address}", "--speed", "4", "--gpus", "64",
                        "--dimensions", "1", "--steps", "60", "--faults", "compute_slow:17@2*0.5"], check=True,
                       capture_output=True, timeout=120)
        self.stack.wait_until("an alert", lambda: self.stack.alerts.received, PATIENCE_SECONDS)
        self.assertEqual(self.stack.alerts.received[0][1]["status"], "firing")

    def test_collector_reads_its_inventory_again(self):
        inventory = self.place / "fleet"
        inventory.write_text("node-1\n")
        self.start_collector(f"inventory: {inventory}\ndetector: {{host_silent: 1h}}\n")
        missing = lambda: self.metric("lockstep_collector_hosts_missing")
        self.assertEqual(missing(), 0)
        self.configure("collector", f"inventory: {inventory}\ndetector: {{host_silent: 1ms}}\n")
        self.reload("collector", "ok")
        self.stack.wait_until("a missing host", lambda: missing() == 1, PATIENCE_SECONDS)
        inventory.write_text("node-1\nnode-2  # new\n")
        self.reload("collector", "ok")
        self.stack.wait_until("two missing hosts", lambda: missing() == 2, PATIENCE_SECONDS)
        inventory.write_text("node 1\n")
        self.reload("collector", "failed")
        self.assertEqual(missing(), 2)
        self.assertIn("line 1: is no name of a host", self.log("collector"))

    def test_a_wrong_file_changes_nothing(self):
        self.start_collector("shards: 1\n")
        self.configure("collector", "log_level: error\nshards: 0\n")
        self.reload("collector", "failed")
        log = self.log("collector")
        self.assertIn("collector.yaml:2: shards: must be from 1 to 64", log)
        self.assertEqual(log.count("settings stay as they are"), 1)
        self.assertEqual(self.stack.stop("collector"), 0)
        self.assertIn("collector has stopped", self.log("collector"))

    def test_agent_ticks_as_its_file_says(self):
        self.start("agent", "tick: 1s\n", "--collector-address=127.0.0.1:1", "--listen-address=127.0.0.1:0",
                   f"--ring-directory={self.place}", "--nvml-library=none", "--nccl-ras-address=")
        self.configure("agent", "tick: 1m\nlog_level: warning\nhost_name: another\n")
        self.reload("agent", "ok")
        ticks = self.metric("lockstep_agent_ticks_total")
        log = self.log("agent")
        for name in ("tick", "log_level"):
            self.assertIn(f'msg="applying a changed setting" setting={name}', log)
        self.assertIn('msg="a changed setting needs a restart" setting=host_name', log)
        with self.assertRaisesRegex(Exception, "in vain"):
            self.stack.wait_until("a tick that should not come", lambda: self.ticks_above(ticks), 4)

    def test_an_agent_whose_file_is_wrong_goes_on_as_before(self):
        self.start("agent", "tick: 200ms\n", "--collector-address=127.0.0.1:1", "--listen-address=127.0.0.1:0",
                   f"--ring-directory={self.place}", "--nvml-library=none", "--nccl-ras-address=")
        self.configure("agent", "log_level: error\ntick: never\n")
        self.reload("agent", "failed")
        log = self.log("agent")
        self.assertIn("agent.yaml:2: tick: ", log)
        self.assertEqual(log.count("settings stay as they are"), 1)
        ticks = self.metric("lockstep_agent_ticks_total")
        self.stack.wait_until("further ticks", lambda: self.ticks_above(ticks + 3), PATIENCE_SECONDS)
        self.assertEqual(self.stack.stop("agent"), 0)
        self.assertIn("agent stopped", self.log("agent"), "its level is what it was")

    def ticks_above(self, ticks):
        return self.metric("lockstep_agent_ticks_total") > ticks


if __name__ == "__main__":
    unittest.main()
