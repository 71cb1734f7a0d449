#!/usr/bin/python3
"""A new user's way from the packages to a named culprit: the commands of docs/first-culprit.md, as they stand there.

Needs root, and Open MPI's demo job in bazel-bin or below LOCKSTEP_BINARIES; `./dev package --test` runs it.
"""

import json
import os
import pathlib
import re
import sys
import unittest

from debian_root import machine

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = pathlib.Path(os.environ.get("LOCKSTEP_PACKAGES", ROOT / "packages"))
TRAIN = pathlib.Path(os.environ.get("LOCKSTEP_BINARIES", ROOT / "bazel-bin")) / "tests/demo/train"
FOLDER = "/srv"  # where the new user types
MAX_COMMANDS = 10
# Machines that do other work as well are slow; a user would look again.
PATIENCE_SECONDS = 120


def commands():
    """The commands behind a # of the page, in order."""
    return re.findall(r"^# ([a-z].*)$", (ROOT / "docs/first-culprit.md").read_text(), re.M)


class FirstCulpritTest(unittest.TestCase):
    def test_ten_commands_are_enough(self):
        self.assertLessEqual(len(commands()), MAX_COMMANDS)
        packages = [p for p in PACKAGES.glob("*.deb") if "-dbgsym_" not in p.name]
        binds = [(PACKAGES.resolve(), f"{FOLDER}/packages"), (TRAIN.resolve(), f"{FOLDER}/train")]
        with machine(packages, binds) as self.root:
            said = {}
            for command in commands():
                self.wait_as_a_person_would(command)
                said[command.split(" -")[0]] = self.type(command)
                if command.startswith("pkill -STOP"):
                    stopped = self.root.run("pgrep", "-n", "-x", "train").stdout.strip()
            self.assertIn("demo", said["lockstep jobs"])
            for rank in range(4):
                self.assertRegex(said["lockstep ranks demo"], rf"(?m)^ *{rank}\b")
            named, = self.incidents()[0]["verdict"]["culprits"]
            self.assertEqual(str(named["pid"]), stopped)
            self.assertIn(f"pid {stopped}", said["lockstep explain 1"])
            self.root.wait_until("the incident to resolve", lambda: self.incidents()[0]["state"] == "resolved",
                                 PATIENCE_SECONDS)

    def type(self, command):
        """What the command shows; one that ends with & goes on."""
        if command.endswith("&"):
            command = command.removesuffix("&") + "> job.log 2>&1 &"
        return self.root.run("bash", "-c", f"cd {FOLDER}; {command}").stdout

    def wait_as_a_person_would(self, command):
        if command == "lockstep ranks demo":
            self.root.wait_until("all ranks", lambda: len(self.ask("ranks", "demo").get("ranks", [])) == 4, PATIENCE_SECONDS)
        if command == "lockstep jobs":
            self.root.wait_until("the job", lambda: self.ask("jobs").get("jobs"), PATIENCE_SECONDS)
        if command.startswith("pkill -STOP"):
            self.root.wait_until("the job to be healthy", lambda: self.ask("jobs")["jobs"][0]["state"] == "healthy",
                                 PATIENCE_SECONDS)
        if command.startswith("lockstep explain"):
            self.root.wait_until("somebody to be named", lambda: any(i["verdict"]["culprits"] for i in self.incidents()),
                                 PATIENCE_SECONDS)

    def ask(self, *question):
        done = self.root.run("lockstep", "-o", "json", *question, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def incidents(self):
        return sorted(self.ask("incidents").get("incidents", []), key=lambda i: i["id"])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
