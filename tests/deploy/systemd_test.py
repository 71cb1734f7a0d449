#!/usr/bin/python3
"""The systemd units are accepted by systemd itself, hardened, and privileged only where they say so."""

import configparser
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from places import ROOT

UNITS = ROOT / "deploy/systemd"
AGENT_CAPABILITIES = {"CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH"}
# `systemd-analyze security`: 0 = fully sandboxed, 10 = not at all.
MAX_EXPOSURE = {"lockstep-agent": 2.0, "lockstep-collector": 1.6}


class MultiDict(dict):
    """Keys that come twice are joined by a space, as systemd appends lists."""

    def __setitem__(self, key, value):
        if key in self and isinstance(value, list):
            value = self[key] + value
        super().__setitem__(key, value)


def read_unit(name):
    parser = configparser.ConfigParser(dict_type=MultiDict, strict=False, interpolation=None, delimiters=("=",),
                                       comment_prefixes=("#",), empty_lines_in_values=False)
    parser.optionxform = str
    parser.read(UNITS / f"{name}.service")
    return {section: {key: value.replace("\n", " ") for key, value in parser[section].items()}
            for section in parser.sections()}


class SystemdTest(unittest.TestCase):
    NAMES = sorted(MAX_EXPOSURE)

    def setUp(self):
        self.assertTrue(shutil.which("systemd-analyze"), "systemd-analyze is missing: apt-get install systemd")

    def test_every_unit_is_tested(self):
        self.assertEqual(sorted(p.stem for p in UNITS.glob("*.service")), self.NAMES)

    def test_verify_is_clean(self):
        with tempfile.TemporaryDirectory() as directory:
            copies = []
            for name in self.NAMES:
                text = (UNITS / f"{name}.service").read_text()
                # The binary is not installed where the test runs; everything else is checked as it is.
                self.assertIn(f"ExecStart=/usr/bin/{name} ", text)
                copy = pathlib.Path(directory) / f"{name}.service"
                copy.write_text(text.replace(f"ExecStart=/usr/bin/{name} ", "ExecStart=/usr/bin/true "))
                copies.append(str(copy))
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", *copies], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_the_drop_in_for_process_ends_adds_one_capability(self):
        with tempfile.TemporaryDirectory() as directory:
            unit = pathlib.Path(directory) / "lockstep-agent.service"
            text = (UNITS / unit.name).read_text()
            unit.write_text(text.replace("ExecStart=/usr/bin/lockstep-agent ", "ExecStart=/usr/bin/true "))
            without = self.allowed(unit)
            drop_ins = pathlib.Path(f"{unit}.d")
            drop_ins.mkdir()
            shutil.copy(UNITS / "drop-ins/process-ends.conf", drop_ins)
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))
            self.assertEqual(self.allowed(unit) - without, {"CapabilityBoundingSet=~CAP_NET_ADMIN"})
            self.assertEqual(without - self.allowed(unit), set())

    @staticmethod
    def allowed(unit):
        """What `systemd-analyze security` finds allowed in the unit with its drop-ins."""
        done = subprocess.run(["systemd-analyze", "security", "--offline=true", unit], capture_output=True, text=True, check=False)
        return set(re.findall(r"^✗ (\S+)", done.stdout, re.M))

    def test_exposure_stays_low(self):
        for name, limit in MAX_EXPOSURE.items():
            done = subprocess.run(["systemd-analyze", "security", "--offline=true", UNITS / f"{name}.service"],
                                  capture_output=True, text=True, check=False)
            found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout)
            self.assertIsNotNone(found, done.stdout + done.stderr)
            self.assertLessEqual(float(found.group(1)), limit, name)

    def test_capabilities_are_those_needed(self):
        agent = read_unit("lockstep-agent")["Service"]
        self.assertEqual(set(agent["AmbientCapabilities"].split()), AGENT_CAPABILITIES)
        self.assertEqual(set(agent["CapabilityBoundingSet"].split()), AGENT_CAPABILITIES)
        collector = read_unit("lockstep-collector")["Service"]
        self.assertEqual((collector["AmbientCapabilities"], collector["CapabilityBoundingSet"]), ("", ""))

    def test_the_agent_is_given_the_kernel_log_and_cannot_open_it(self):
        service = read_unit("lockstep-agent")["Service"]
        self.assertEqual(service["StandardInput"], "file:/dev/kmsg")
        self.assertEqual(service["ProtectKernelLogs"], "yes")
        self.assertNotIn("CAP_SYSLOG", service["CapabilityBoundingSet"])
        # The device cgroup is that of the service already when systemd opens its standard input.
        self.assertIn("/dev/kmsg r", service["DeviceAllow"])

    def test_both_are_notified_limited_and_sandboxed(self):
        for name in self.NAMES:
            service = read_unit(name)["Service"]
            self.assertEqual(service["Type"], "notify", name)
            self.assertEqual(service["ExecReload"], "/bin/kill -HUP $MAINPID", name)
            for key, value in {"NoNewPrivileges": "yes", "ProtectSystem": "strict", "ProtectHome": "yes",
                               "PrivateTmp": "yes", "User": "lockstep"}.items():
                self.assertEqual(service[key], value, f"{name} {key}")
            for key in ("RestrictAddressFamilies", "SystemCallFilter", "MemoryMax", "CPUQuota", "LimitNOFILE"):
                self.assertTrue(service[key], f"{name} {key}")

    def test_users_and_directories_are_accepted(self):
        with tempfile.TemporaryDirectory() as root:
            for tool, kind, extra in (("systemd-sysusers", "sysusers.d", ["--dry-run"]),
                                      ("systemd-tmpfiles", "tmpfiles.d", ["--create", "--prefix=/nothing"])):
                self.assertTrue(shutil.which(tool), f"{tool} is missing: apt-get install systemd")
                done = subprocess.run([tool, f"--root={root}", *extra, UNITS / kind / "lockstep.conf"],
                                      capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, f"{tool}: {done.stderr}")


if __name__ == "__main__":
    sys.exit(unittest.main())
