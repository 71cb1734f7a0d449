#!/usr/bin/env python3
"""Every verb with -o json prints one JSON document, against a collector to which `lockstep sim --feed` plays a job with a
slow rank; `top` and `incidents --follow` print an object per line, as documented.

Usage: json_output_test.py; under Bazel, or by hand with the binaries in bazel-bin
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from demo.stack import BINARIES, Stack  # noqa: E402

LOCKSTEP = BINARIES / "cli/lockstep"
ALERTS = """receivers:
  - {name: hook, type: webhook, url: "http://127.0.0.1:9/alerts"}
routes:
  - receivers: [hook]
"""
# Arguments and the exit status, in this order: what a command leaves behind others use.
COMMANDS = [
    (("status",), 0),
    (("hosts",), 0),
    (("hosts", "gpus"), 0),
    (("jobs",), 0),
    (("ranks", "fed"), 0),
    (("top", "--once"), 0),
    (("incidents", "list"), 0),
    (("incidents", "show", "1"), 0),
    (("explain", "1"), 0),
    (("ack", "1", "--note", "mine"), 0),
    (("incidents", "ack", "1"), 0),
    (("incidents", "silence", "1", "--for", "1m"), 0),
    (("incidents", "comment", "1", "looked at"), 0),
    (("alert", "route", "--class", "gpu_fault", "--config", "alerts.yaml"), 0),
    (("alert", "test", "--config", "alerts.yaml"), 1),
    (("maintenance", "add", "--job", "other", "--for", "1m"), 0),
    (("maintenance", "list"), 0),
    (("maintenance", "end", "1"), 0),
    (("history", "net_receive_bytes_total"), 0),
    (("capture", "fed", "--file", "fed.lockcap"), 0),
    # The agents that play the job look at no processes.
    (("dump", "fed"), 1),
    (("profile", "fed"), 1),
    (("backup",), 0),
    (("audit",), 0),
    (("sim", "--list-faults"), 0),
    (("sim", "job", "--gpus", "8", "--faults", "compute_slow:3@8*0.5"), 0),
    (("diagnose", "job"), 0),
    (("whatif", "job"), 0),
    (("whatif", "--job", "fed"), 0),
    (("feed", "job", "--to", "COLLECTOR", "--job", "again", "--speed", "50", "--host-prefix", "again-"), 0),
    (("replay", "fed.lockcap"), 0),
    (("eval", "collectives", "--suite", "hangs", "--episodes", "1", "--no-baselines"), 0),
    (("doctor",), 0),
    (("enable-nccl", "--for", "kubernetes"), 0),
    (("completion", "bash"), 0),
    (("incidents", "resolve", "1"), 0),
]
# They print trees of measures or models, and are tested by what these say.
ELSEWHERE = {"patterns", "train"}


class JsonOutputTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(directory.cleanup)
        self.place = pathlib.Path(directory.name)
        (self.place / "job").mkdir()
        (self.place / "alerts.yaml").write_text(ALERTS)
        self.stack = Stack(self.place / "state", BINARIES)
        self.addCleanup(self.stack.close)
        self.stack.start_collector()

    def command(self, *arguments):
        arguments = [self.stack.address if a == "COLLECTOR" else a for a in arguments]
        return [str(LOCKSTEP), "--collector", self.stack.address, "-o", "json", *arguments]

    def play(self):
        """Until the slow rank is incident 1."""
        self.stack.start("job", self.command("sim", "--feed", self.stack.address, "--job", "fed", "--gpus", "16", "--steps",
                                             "2000", "--speed", "4", "--faults", "compute_slow:3@8*0.5"))
        self.stack.wait_until("the slow rank to be named", lambda: self.stack.lockstep("incidents", "list")["incidents"], 120)

    def test_every_verb_prints_one_document(self):
        self.play()
        failures = []
        for arguments, status in COMMANDS:
            with self.subTest(verb=" ".join(arguments)):
                done = subprocess.run(self.command(*arguments), cwd=self.place, capture_output=True, text=True, timeout=120,
                                      check=False)
                try:
                    json.loads(done.stdout)
                except ValueError as error:
                    failures.append(f"{' '.join(arguments)}: {error}: {done.stdout[:200]!r} {done.stderr[:200]!r}")
                if done.returncode != status:
                    failures.append(f"{' '.join(arguments)}: status {done.returncode}: {done.stderr[:200]!r}")
        self.assertEqual(failures, [], "\n".join(failures))

    def test_no_verb_is_forgotten(self):
        text = subprocess.run([LOCKSTEP, "--help"], capture_output=True, text=True, check=True).stdout
        verbs = re.findall(r"^  ([a-z-]+) ", text.split("Subcommands:")[1], re.M)
        self.assertGreater(len(verbs), 20)
        self.assertEqual(set(verbs) - {arguments[0] for arguments, _ in COMMANDS}, ELSEWHERE)

    def test_what_follows_prints_an_object_per_line(self):
        following = subprocess.Popen(self.command("incidents", "list", "--follow"), stdout=subprocess.PIPE, text=True)
        self.addCleanup(following.wait)
        self.addCleanup(following.kill)
        self.play()
        self.assertEqual(json.loads(following.stdout.readline())["what"], "opened")
        done = subprocess.run(self.command("top", "--for", "3s", "--every", "1s"), capture_output=True, text=True, check=True)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertGreater(len(lines), 1)
        self.assertEqual({tuple(line) for line in lines}, {("status", "jobs", "incidents")})


if __name__ == "__main__":
    unittest.main()
