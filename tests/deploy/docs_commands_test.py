#!/usr/bin/python3
"""Runs every command of docs/cli.md, docs/operations.md and docs/security.md that stands in a ```sh block, against a
live collector that watches a job called `demo` with one slowed rank. A comment `# exits with N` states an exit status
other than 0."""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

from live_stack import live_stack
from places import BINARIES, ROOT

DOCUMENTS = ("docs/cli.md", "docs/operations.md", "docs/security.md")
PROGRAMS = ("cli/lockstep", "agent/lockstep-agent", "collector/lockstep-collector")


def commands(document):
    """(line number, command) of every ```sh block; a backslash joins lines."""
    inside, pending = False, ""
    for number, line in enumerate((ROOT / document).read_text().splitlines(), 1):
        if line.startswith("```"):
            inside = line == "```sh"
            continue
        if not inside or not line.strip() or line.startswith("#"):
            continue
        pending += line
        if pending.endswith("\\"):
            pending = pending[:-1]
            continue
        yield number, pending
        pending = ""


class DocsCommandsTest(unittest.TestCase):
    def test_there_are_commands(self):
        for document in DOCUMENTS:
            self.assertGreater(len(list(commands(document))), 4, document)

    def test_every_verb_is_documented_and_run(self):
        text = "\n".join(command for document in DOCUMENTS for _, command in commands(document))
        for verb in ("status", "top", "jobs", "ranks", "incidents", "explain", "maintenance", "history", "capture", "whatif",
                     "dump", "profile", "backup", "replay", "feed", "doctor", "enable-nccl", "completion"):
            self.assertRegex(text, rf"lockstep {verb}\b")

    def test_commands_do_what_the_page_says(self):
        with live_stack("demo") as (stack, directory):
            stack.slow_down(1, 3)
            stack.wait_until("the slow rank to be named",
                             lambda: any(i["state"] == "open" for i in stack.incidents()), 60, every=0.5)
            place = self.make_place(directory)
            environment = dict(os.environ, LOCKSTEP_COLLECTOR=stack.address, PATH=f"{place}/bin:{os.environ['PATH']}")
            self.check_ledger(stack, environment)
            failures = []
            for document in DOCUMENTS:
                for number, command in commands(document):
                    stack.check_alive()
                    failures += self.run_command(f"{document}:{number}", command, place, environment)
            self.assertEqual(failures, [], "\n".join(failures))

    def check_ledger(self, stack, environment):
        """What the collector says of where the time goes adds up, and is soon laid to the rank that was slowed down."""
        def ledger():
            done = subprocess.run(["lockstep", "-o", "json", "whatif", "--job", "demo"], env=environment, timeout=60,
                                  capture_output=True, text=True, check=True)
            (job,) = json.loads(done.stdout)["jobs"]
            said = job["ledger"]
            if said is None:
                return None
            lines = sum(line["seconds"] for line in said["lines"])
            self.assertAlmostEqual(said["reference_seconds"] + lines + said["unexplained_seconds"],
                                   said["measured_seconds"], delta=1e-6)
            return said

        def is_laid_to_the_rank():
            remedies = (ledger() or {}).get("remedies")
            return remedies and re.search(r"\brank 1\b", remedies[0]["finding"]) and remedies[0]["alone_seconds"] > 0

        # A look at the first slow steps may say no more than that the job became slower.
        stack.wait_until("the slow rank to be first in the ledger", is_laid_to_the_rank, 60, every=0.5)

    @staticmethod
    def make_place(directory):
        """A directory that looks like the repository with the programs on the path."""
        place = pathlib.Path(directory) / "place"
        (place / "bin").mkdir(parents=True)
        (place / "deploy").symlink_to(ROOT / "deploy")
        for program in PROGRAMS:
            (place / "bin" / pathlib.Path(program).name).symlink_to(BINARIES / program)
        return place

    @staticmethod
    def run_command(where, command, place, environment):
        expected = re.search(r"# exits with (\d+)", command)
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=place, env=environment, timeout=60,
                              capture_output=True, text=True, check=False)
        if done.returncode == (int(expected.group(1)) if expected else 0):
            return []
        return [f"{where}: {command}: status {done.returncode}: {done.stderr.strip() or done.stdout.strip()}"]


if __name__ == "__main__":
    sys.exit(unittest.main())
