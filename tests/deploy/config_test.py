#!/usr/bin/python3
"""The shipped configurations are accepted by the real daemons, and the commented ones name every key with its default."""

import json
import re
import subprocess
import sys
import unittest

import yaml

from places import BINARIES, ROOT

DAEMONS = {"agent": BINARIES / "agent/lockstep-agent", "collector": BINARIES / "collector/lockstep-collector"}


def run(daemon, *arguments, **options):
    return subprocess.run([str(DAEMONS[daemon]), *arguments], capture_output=True, text=True, timeout=30, check=False,
                          **options)


def defaults_of(daemon):
    """Flag -> default, as --help shows them."""
    return dict(re.findall(r"^  --([a-z0-9-]+)=\.\.\. .*; default '(.*)'\)$", run(daemon, "--help").stdout, re.M))


def flags_in(value, prefix=""):
    """(flag, text) of every key of a YAML document, nested names joined by dashes."""
    if isinstance(value, dict):
        for key, inner in value.items():
            flag = key.replace("_", "-")
            yield from flags_in(inner, f"{prefix}-{flag}" if prefix else flag)
    elif isinstance(value, list):
        yield prefix, ",".join(map(str, value))
    elif isinstance(value, bool):
        yield prefix, str(value).lower()
    else:
        yield prefix, str(value)


class ConfigTest(unittest.TestCase):
    def test_shipped_configurations_are_accepted(self):
        for daemon in DAEMONS:
            for folder in ("deploy/config", "deploy/kubernetes/base"):
                done = run(daemon, "--check-config", "--config", str(ROOT / folder / f"{daemon}.yaml"))
                self.assertEqual(done.returncode, 0, f"{folder}/{daemon}.yaml: {done.stderr}")

    def test_configurations_of_releases_are_accepted(self):
        for daemon in DAEMONS:
            released, = (ROOT / "tests/skew/testdata").glob(f"configuration-*/{daemon}.yaml")
            done = run(daemon, "--check-config", "--config", str(released))
            self.assertEqual((done.returncode, done.stdout), (0, "OK\n"), f"{released}: {done.stderr}")
            self.assertNotIn("unknown", done.stderr)

    def test_shipped_receivers_and_routes_are_accepted(self):
        for file, told in (("config/alerts.yaml", {"nvsentinel", "oncall", "alertmanager"}),
                           ("kubernetes/components/nvsentinel/alerts.yaml", {"nvsentinel"})):
            done = subprocess.run([BINARIES / "cli/lockstep", "-o", "json", "alert", "route", "--config",
                                   ROOT / "deploy" / file, "--class", "gpu_fault", "--scope", "machine", "--host", "gpu-1"],
                                  capture_output=True, text=True, timeout=30, check=False)
            self.assertEqual(done.returncode, 0, f"{file}: {done.stderr}")
            self.assertEqual(set(json.loads(done.stdout)["receivers"]), told)

    def test_commented_configurations_name_every_key_with_its_default(self):
        for daemon in DAEMONS:
            shipped = dict(flags_in(yaml.safe_load((ROOT / f"deploy/config/{daemon}.yaml").read_text())))
            defaults = defaults_of(daemon)
            self.assertGreater(len(defaults), 5, daemon)
            self.assertEqual(shipped, defaults, daemon)

    def test_every_key_is_commented(self):
        for daemon in DAEMONS:
            text = (ROOT / f"deploy/config/{daemon}.yaml").read_text()
            for block in text.split("\n\n"):
                self.assertIn("#", block, f"{daemon}.yaml: {block}")

    def test_a_typing_error_is_refused_with_its_line(self):
        for daemon in DAEMONS:
            done = run(daemon, "--check-config", "--config", "/dev/stdin", input="\nno_such_key: 1\n")
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertRegex(done.stderr, r"2.*no_such_key")


if __name__ == "__main__":
    sys.exit(unittest.main())
