#!/usr/bin/python3
"""The Debian packages in a Debian system under its own systemd: lintian, install, start, upgrade, purge, nothing left.

Needs root. `./dev package --test` makes the packages and runs it; LOCKSTEP_PACKAGES names another folder of packages.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from debian_root import dependencies, machine

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import package  # noqa: E402

# Packages of the release before, where there are any: `./dev package --test --before FOLDER`.
PACKAGES_BEFORE = os.environ.get("LOCKSTEP_PACKAGES_BEFORE")
# Without, they are today's programs with what release 0.1.0 had in /etc/lockstep.
CONFIGURATION_BEFORE = ROOT / "tests/skew/testdata/configuration-0.1.0"
PACKAGES = pathlib.Path(os.environ.get("LOCKSTEP_PACKAGES", ROOT / "packages"))
NAMES = {"lockstep", "lockstep-agent", "lockstep-collector", "lockstep-recorder"}
DAEMONS = ("lockstep-collector", "lockstep-agent")
BEFORE = "0.0.9"
OURS_IN_CONFIGURATION = ("resolve_after: 3s", "resolve_after: 4s  # ours")
# What a system writes by itself, and the user, who stays.
NOT_OURS = re.compile(r"^/(proc|sys|dev|run|tmp|var/(log|cache|tmp|lib/(dpkg|systemd|apt))|etc/(machine-id|\.pwd\.lock"
                      r"|(passwd|group|shadow|gshadow)-?|subuid|subgid)|root)\b")


def by_name(paths):
    """Package -> its file, of those that are for users."""
    found = {re.match(r"([a-z-]+)_", p.name).group(1): p for p in paths if p.suffix == ".deb"}
    return {name: path for name, path in found.items() if not name.endswith("-dbgsym")}


def repacked(path, folder, version):
    """The same package as of another version, with the configuration of release 0.1.0: what an upgrade finds."""
    content = folder / path.stem
    folder.mkdir(exist_ok=True)
    subprocess.run(["dpkg-deb", "-R", path, content], check=True)
    control = content / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: .*", f"Version: {version}", control.read_text(), flags=re.M))
    for conffile in (content / "etc/lockstep").glob("*.yaml"):
        conffile.write_text((CONFIGURATION_BEFORE / conffile.name).read_text())
    made = folder / f"{path.name.partition('_')[0]}_{version}.deb"
    subprocess.run(["dpkg-deb", "-Znone", "-b", content, made], check=True, stdout=subprocess.DEVNULL)
    return made


def version_of(path):
    return subprocess.run(["dpkg-deb", "-f", path, "Version"], check=True, capture_output=True, text=True).stdout.strip()


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.scratch.name)
        cls.made = sorted(PACKAGES.iterdir())
        cls.now = by_name(cls.made)
        if PACKAGES_BEFORE:
            cls.before = by_name(sorted(pathlib.Path(PACKAGES_BEFORE).iterdir()))
        else:
            cls.before = {name: repacked(path, folder / "before", BEFORE) for name, path in cls.now.items()}

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_all_packages_are_there(self):
        self.assertEqual(set(self.now), NAMES)
        self.assertEqual(set(self.before), NAMES)

    def test_the_version_is_that_of_the_programs(self):
        declared = re.search(r'kVersion\[\] = "(.*)"', (ROOT / "daemon/version.h").read_text()).group(1)
        self.assertEqual(package.version(), declared)

    def test_lintian_is_clean(self):
        changes, = [p for p in self.made if p.suffix == ".changes"]
        done = subprocess.run(["lintian", "--allow-root", "--display-info", "--pedantic", "--tag-display-limit", "0",
                               "--fail-on", "error,warning", changes], capture_output=True, text=True, check=False)
        print(done.stdout + done.stderr, end="")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(re.findall(r"^[EWO]: .*", done.stdout, re.M), [], "errors, warnings, overrides")

    def test_the_recorder_brings_no_mpi(self):
        self.assertEqual(dependencies([self.now["lockstep-recorder"]]), {"libc6"})

    def test_the_tarball_has_the_recorders_and_how_to_use_them(self):
        tarball, = [p for p in self.made if p.name.endswith(".tar.xz")]
        listed = subprocess.run(["tar", "-tJf", tarball], check=True, capture_output=True, text=True).stdout.split()
        folder = tarball.name.removesuffix(".tar.xz")
        self.assertEqual(listed, [f"{folder}/"] + sorted(
            f"{folder}/{name}" for name in ("LICENSE", "README.md", *package.RECORDERS)))

    def test_installed_started_upgraded_purged(self):
        with machine(self.now.values()) as root:
            self.root = root
            empty = self.files()
            self.install(self.before, version_of(self.before["lockstep-collector"]))
            default = (root.path / "etc/lockstep/agent.yaml").read_text()
            pids = self.check_running()
            self.check_places()
            # One file is changed by its owner, and stays as he wants it.
            configuration = root.path / "etc/lockstep/collector.yaml"
            configuration.write_text(configuration.read_text().replace(*OURS_IN_CONFIGURATION))
            self.install(self.now, package.version())
            self.assertIn(OURS_IN_CONFIGURATION[1], configuration.read_text())
            self.assertEqual((root.path / "etc/lockstep/agent.yaml").read_text(),
                             (ROOT / "deploy/config/agent.yaml").read_text(), "nobody had changed it")
            if not PACKAGES_BEFORE:
                self.assertNotEqual((root.path / "etc/lockstep/agent.yaml").read_text(), default)
            upgraded = self.check_running()
            self.assertFalse(set(pids) & set(upgraded), "upgraded daemons have to be started again")
            root.run("dpkg", "--purge", *sorted(NAMES))
            self.assertEqual(self.files() - empty, set(), "left after a purge")
            self.assertEqual(empty - self.files(), set(), "taken away by a purge")
            found = root.run("find", "/run", "/dev/shm", "/tmp", "/var/log", "/var/cache", "/var/tmp", "/var/lib/systemd",
                             "-name", "*lockstep*").stdout
            self.assertEqual(found, "", "left after a purge")

    # The pieces

    def install(self, packages, version):
        paths = [self.root.put(path, "/root") for path in packages.values()]
        self.root.run("dpkg", "--install", "--force-confold", *paths,
                      environment={"DEBIAN_FRONTEND": "noninteractive"})
        shown = self.root.run("dpkg-query", "-W", "-f=${Package} ${Version} ${Status}\n", *NAMES).stdout.splitlines()
        self.assertEqual(set(shown), {f"{name} {version} install ok installed" for name in NAMES})

    def check_running(self):
        """Both daemons run, as their user, and the agent has reached the collector. Their process ids."""
        pids = []
        for daemon in DAEMONS:
            self.root.run("systemctl", "is-active", daemon)
            self.root.run("systemctl", "is-enabled", daemon)
            pids.append(self.root.run("systemctl", "show", "-P", "MainPID", daemon).stdout.strip())
            user = self.root.run("stat", "-c", "%U", f"/proc/{pids[-1]}").stdout.strip()
            self.assertEqual(user, "lockstep", daemon)

        def connected():
            answer = self.root.run("lockstep", "-o", "json", "status", check=False)
            return answer.returncode == 0 and [a for a in json.loads(answer.stdout).get("agents", [])
                                               if a.get("connected")]

        agent, = self.root.wait_until("the agent to report", connected, 30)
        self.assertEqual(agent["host"], self.root.run("uname", "-n").stdout.strip())
        return pids

    def check_places(self):
        modes = self.root.run("stat", "-c", "%n %a %U %G", "/dev/shm/lockstep", "/etc/lockstep/agent.yaml",
                              "/var/lib/lockstep", "/var/lib/lockstep-agent").stdout.splitlines()
        self.assertEqual(modes, ["/dev/shm/lockstep 1777 lockstep lockstep", "/etc/lockstep/agent.yaml 644 root root",
                                 "/var/lib/lockstep 750 lockstep lockstep",
                                 "/var/lib/lockstep-agent 700 lockstep lockstep"])
        for library in package.RECORDERS:
            self.assertTrue((self.root.path / "usr/lib/lockstep" / library).is_file(), library)
        for page in ("man1/lockstep.1.gz", "man8/lockstep-agent.8.gz", "man8/lockstep-collector.8.gz"):
            self.assertTrue((self.root.path / "usr/share/man" / page).is_file(), page)

    def files(self):
        listed = self.root.run("find", "/", "-xdev", "-not", "-type", "s").stdout.splitlines()
        return {path for path in listed if not NOT_OURS.match(path)}


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
