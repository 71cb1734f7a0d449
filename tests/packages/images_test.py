#!/usr/bin/python3
"""The OCI images that tools/images.py makes of the packages: what they say of themselves, and that the programs run in them.

Needs root, to run them under their users with their capabilities; `./dev package --images --test` makes them and runs it.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import images  # noqa: E402
import package  # noqa: E402

FOLDER = pathlib.Path(os.environ.get("LOCKSTEP_IMAGES", package.ROOT / "packages/images"))


class ImagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not FOLDER.exists():
            raise unittest.SkipTest("there are no images: ./dev package --images makes them")
        cls.scratch = tempfile.TemporaryDirectory()
        cls.bundles = {}
        for name in images.IMAGES:
            bundle = cls.bundles[name] = pathlib.Path(cls.scratch.name) / name
            subprocess.run(["umoci", "unpack", "--image", f"{FOLDER / name}:{package.version()}", bundle], check=True,
                           capture_output=True)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def run_inside(self, name, *command):
        """As a runtime would: with root and user of the image, no network but loopback, and no capability."""
        bundle = self.bundles[name]
        process = json.loads((bundle / "config.json").read_text())["process"]
        user = process["user"]
        return subprocess.run(
            ["unshare", "--net", "--mount", "chroot", f"--userspec={user['uid']}:{user['gid']}", bundle / "rootfs",
             *(command or process["args"])], capture_output=True, text=True, timeout=60, check=False,
            stdin=subprocess.DEVNULL, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})

    def test_user_and_program(self):
        for name, bundle in self.bundles.items():
            process = json.loads((bundle / "config.json").read_text())["process"]
            user = process["user"]
            self.assertEqual(f"{user['uid']}:{user['gid']}", images.IMAGES[name]["user"])
            self.assertEqual(process["args"], [f"/usr/bin/{name}"])

    def test_numbers_are_those_of_the_manifests(self):
        for name, file in (("lockstep-agent", "agent-daemonset"), ("lockstep-collector", "collector-statefulset")):
            manifest = (ROOT / f"deploy/kubernetes/base/{file}.yaml").read_text()
            self.assertIn(f"runAsUser: {images.IMAGES[name]['user'].split(':')[0]}\n", manifest)

    def test_programs_have_all_that_they_need(self):
        for name in self.bundles:
            for question in ("--version", "--check-config"):
                done = self.run_inside(name, f"/usr/bin/{name}", question)
                self.assertEqual((done.returncode, done.stderr), (0, ""), f"{name} {question}: {done.stdout}")
        self.assertEqual(self.run_inside("lockstep-collector", "/usr/bin/lockstep", "--version").returncode, 0)

    def test_the_agent_has_the_capabilities_of_its_file_and_nobody_else_has_any(self):
        rootfs = self.bundles["lockstep-agent"] / "rootfs"
        found = subprocess.run(["getcap", "-r", rootfs], capture_output=True, text=True, check=True).stdout.split("\n")
        self.assertEqual([line.removeprefix(str(rootfs)) for line in found if line],
                         ["/usr/bin/lockstep-agent cap_dac_read_search,cap_sys_ptrace,cap_syslog=p"])
        for bundle in self.bundles.values():
            raised = subprocess.run(["find", bundle / "rootfs", "-xdev", "-type", "f", "-perm", "/6000"],
                                    capture_output=True, text=True, check=True).stdout
            self.assertEqual(raised, "")

    def test_the_collector_knows_who_may_sign_for_receivers(self):
        authorities = self.bundles["lockstep-collector"] / "rootfs/etc/ssl/certs/ca-certificates.crt"
        self.assertGreater(authorities.read_text().count("BEGIN CERTIFICATE"), 50)

    def test_recorders_get_onto_a_node_from_the_agents_image(self):
        rootfs = self.bundles["lockstep-agent"] / "rootfs"
        done = subprocess.run(["chroot", rootfs, "/usr/lib/lockstep/install-recorder", "/mnt/recorder"], capture_output=True,
                              text=True, check=False, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for library in package.RECORDERS:
            self.assertTrue((rootfs / "mnt/recorder" / library).resolve().is_file(), library)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
