#!/usr/bin/python3
"""A real collector runs our example of a hook for a machine that a simulated job accuses: in words alone until a SIGHUP says
otherwise, and in earnest, with a kubectl that writes down what it is asked for."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from places import BINARIES, ROOT

from demo.stack import Stack, metrics

PATIENCE_SECONDS = 60
NODE = "node-00001"
# Two of the four machines of the simulated job may be acted on.
HOOK = """
hook:
  command: {command}
  run: {run}
  match: [{{class: gpu_fault, scope: machine}}]
  environment: {{PATH: "{tools}:/usr/bin:/bin", KUBECONFIG: /etc/kubeconfig}}
  timeout: 20s
  every: 1s
  max_per_hour: 4
  max_share: 0.5
"""
KUBECTL = """#!/bin/sh
echo "$KUBECONFIG $*" >> "$(dirname "$0")/asked"
echo "node/{node} tainted"
"""


class HookTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(directory.cleanup)
        self.place = pathlib.Path(directory.name)
        self.stack = Stack(self.place / "state", BINARIES)
        self.addCleanup(self.stack.close)
        tools = self.place / "tools"
        tools.mkdir()
        self.asked = tools / "asked"
        (tools / "kubectl").write_text(KUBECTL.format(node=NODE))
        (tools / "kubectl").chmod(0o755)
        self.command = self.place / "hook"
        shutil.copy(ROOT / "deploy/hooks/taint-kubernetes-node", self.command)
        self.command.chmod(0o755)
        self.write_routes(run="false")

    def write_routes(self, run):
        (self.place / "alerts.yaml").write_text(
            HOOK.format(command=self.command, run=run, tools=self.asked.parent))

    def start_collector(self):
        ports = self.place / "ports.json"
        ports.unlink(missing_ok=True)
        self.stack.start("collector", [
            BINARIES / "collector/lockstep-collector", f"--data-directory={self.place / 'history'}",
            "--listen-address=127.0.0.1:0", "--http-listen-address=127.0.0.1:0", f"--ports-file={ports}",
            f"--alert-routes={self.place / 'alerts.yaml'}"])
        self.stack.wait_until("the collector", ports.exists, PATIENCE_SECONDS)
        self.ports = json.loads(ports.read_text())
        self.stack.grpc_port = self.ports["grpc"]

    def play(self):
        """A job of 32 GPUs of which one falls off its bus."""
        folder = self.place / "job"
        folder.mkdir()
        subprocess.run([str(BINARIES / "cli/lockstep"), "sim", str(folder), "--gpus", "32", "--job", "gpt", "--faults",
                        "gpu_lost:9@8", "--metrics", "--speed", "4", "--feed", f"127.0.0.1:{self.ports['grpc']}"],
                       check=True, timeout=120, capture_output=True)

    def metrics(self):
        return metrics(self.ports["http"])

    def outcomes(self):
        prefix = 'lockstep_collector_hook_total{outcome="'
        return {series[len(prefix):].split('"')[0]: value for series, value in self.metrics().items()
                if series.startswith(prefix)}

    def test_in_words_alone_until_it_is_told_to_run(self):
        self.start_collector()
        self.play()
        self.stack.wait_until("what would be run", lambda: self.outcomes()["dry_run"] > 0, PATIENCE_SECONDS)
        self.assertFalse(self.asked.exists())
        self.write_routes(run="true")
        os.kill(self.ports["pid"], signal.SIGHUP)
        self.stack.wait_until("the hook", lambda: self.metrics().get("lockstep_collector_hook_enabled") == 1,
                              PATIENCE_SECONDS)

    def test_it_runs_once_and_the_audit_says_so(self):
        self.write_routes(run="true")
        self.start_collector()
        self.play()
        self.stack.wait_until("the run", lambda: self.outcomes()["ok"] > 0, PATIENCE_SECONDS)
        self.assertEqual(self.asked.read_text(),
                         f"/etc/kubeconfig taint nodes {NODE} --overwrite lockstep/accused=gpu_fault:NoSchedule\n")
        records = self.stack.lockstep("audit")["records"]
        (run,) = [r for r in records if r["action"] == "run_hook"]
        (end,) = [r for r in records if r["action"] == "hook_ended"]
        self.assertRegex(run["of"], rf"^\d+ {NODE}$")
        self.assertEqual((run["by"], run["from"], run["outcome"]), ("hook", str(self.command), "ok"))
        self.assertRegex(end["of"], rf"^\d+: node/{NODE} tainted$")
        self.assertEqual(end["outcome"], "ok")

    def test_a_program_that_others_may_write_is_refused_at_the_start(self):
        self.command.chmod(0o777)
        done = subprocess.run([str(BINARIES / "collector/lockstep-collector"), "--check-config",
                               f"--alert-routes={self.place / 'alerts.yaml'}"],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("others than its owner may write it", done.stdout + done.stderr)

    def test_the_examples_take_no_names_for_options_and_one_machine_alone(self):
        for name in ("taint-kubernetes-node", "drain-slurm-node"):
            for hosts, scope, status in ((["--all"], "machine", 1), (["a,b"], "machine", 1), (["a", "b"], "machine", 0),
                                         (["a"], "network", 0)):
                incident = {"incident": 7, "class": "gpu_fault", "scope": scope, "hosts": hosts}
                done = subprocess.run([str(ROOT / "deploy/hooks" / name)], input=json.dumps(incident), text=True,
                                      env={"PATH": f"{self.asked.parent}:/usr/bin"}, capture_output=True, timeout=60,
                                      check=False)
                self.assertEqual(done.returncode, status, (name, hosts, done.stderr))
        self.assertFalse(self.asked.exists())


if __name__ == "__main__":
    sys.exit(unittest.main())
