#!/usr/bin/env python3
"""The agent without root: with the capabilities of its file it reads the rings of other users; without them it says
what it does not see. A real job of another user, as root only: who else cannot give capabilities away.

Usage: privileges_test.py; under Bazel, or by hand with the binaries in bazel-bin
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from demo.stack import BINARIES, ROOT, Stack, metrics  # noqa: E402

PATIENCE_SECONDS = 60
AGENT_USER, JOB_USER = 47072, 47001
RANKS = 2


def capabilities_of_file():
    """As the image has them: cap_...,cap_...=p."""
    text = (ROOT / "deploy/docker/Dockerfile.agent").read_text()
    return next(words[words.index("setcap") + 1] for words in map(str.split, text.splitlines()) if "setcap" in words)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("setcap") and shutil.which("setpriv"),
                     "needs root, setcap and setpriv")
class PrivilegesTest(unittest.TestCase):
    def setUp(self):
        # Where others may look: what Bazel builds lies in a folder of root's.
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="lockstep-", dir="/tmp"))
        self.addCleanup(shutil.rmtree, self.place)
        self.place.chmod(0o755)
        self.stack = Stack(self.place / "state")
        self.addCleanup(self.stack.close)
        for name in ("agent/lockstep-agent", "agent/recorder/liblockstep-mpi.so", "tests/demo/train"):
            shutil.copy(BINARIES / name, self.place)
        self.rings = self.folder("rings", AGENT_USER, 0o1777)
        self.agent = self.place / "lockstep-agent"

    def folder(self, name, user, mode):
        path = self.place / name
        path.mkdir()
        os.chown(path, user, user)
        path.chmod(mode)
        return path

    def as_user(self, user, *more):
        return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *more]

    def start_job(self):
        home = self.folder("home", JOB_USER, 0o700)
        self.stack.start("job", [
            *self.as_user(JOB_USER), "mpirun", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--mca", "btl",
            "self,vader", "-n", RANKS, "-x", f"LOCKSTEP_RING_DIR={self.rings}", "-x", "LOCKSTEP_JOB_ID=other", "-x",
            f"LD_PRELOAD={self.place / 'liblockstep-mpi.so'}", self.place / "train", "--seconds", "3600"],
            HOME=str(home), TMPDIR=str(home))
        rings = lambda: len(list(self.rings.glob("*.ring"))) == RANKS
        self.stack.wait_until("the job's rings", rings, PATIENCE_SECONDS)
        self.assertEqual({p.stat().st_uid for p in self.rings.glob("*.ring")}, {JOB_USER})

    def start_agent(self, bounding_set):
        """As a container does whose securityContext adds these capabilities and no others."""
        out = self.folder(f"out{bounding_set}", AGENT_USER, 0o700)
        ports = out / "ports.json"
        self.stack.start("agent", [
            *self.as_user(AGENT_USER, f"--bounding-set={bounding_set}"), self.agent, "--collector-address=127.0.0.1:1",
            f"--ring-directory={self.rings}", "--listen-address=127.0.0.1:0", f"--ports-file={ports}",
            "--nvml-library=none", "--nccl-ras-address=", "--tick=200ms"])
        self.stack.wait_until("the agent's port", ports.exists, PATIENCE_SECONDS)
        self.port = self.stack._read_json(ports)["http"]

    def metric(self, series):
        return metrics(self.port).get(series)

    def log(self):
        return (self.stack.state / "agent.log").read_text()

    def test_the_capabilities_of_its_file_are_enough(self):
        done = subprocess.run(["setcap", capabilities_of_file(), self.agent], capture_output=True, text=True, check=False)
        if done.returncode != 0 or os.statvfs(self.place).f_flag & os.ST_NOSUID:
            self.skipTest(f"files here have no capabilities: {done.stderr.strip()}")
        self.start_job()
        self.start_agent("-all,+sys_ptrace,+dac_read_search")
        self.stack.wait_until("rings of another user", lambda: self.metric("lockstep_agent_rings_followed") == RANKS,
                              PATIENCE_SECONDS)
        self.assertEqual(self.stack.status("agent", "Uid"), [str(AGENT_USER)] * 4)
        two = 1 << 19 | 1 << 2
        self.assertEqual(int(self.stack.status("agent", "CapEff")[0], 16), two, "and no third")
        self.assertEqual(int(self.stack.status("agent", "CapPrm")[0], 16), two)
        self.assertNotIn("a capability is missing", self.log())
        self.assertEqual(self.stack.status("agent", "Seccomp"), ["2"], "a filter of its own, where no runtime gives one")

        # Where the pod has none of them, the same image runs, and says what it does not see.
        self.stack.stop("agent")
        self.start_agent("-all")
        self.expect_blindness()

    def test_without_capabilities_it_says_what_it_does_not_see(self):
        self.start_job()
        self.start_agent("-all")
        self.expect_blindness()

    def expect_blindness(self):
        unreadable = 'lockstep_agent_rings_refused_total{reason="unreadable"}'
        self.stack.wait_until("the rings to be refused", lambda: (self.metric(unreadable) or 0) >= RANKS, PATIENCE_SECONDS)
        self.assertEqual(self.metric("lockstep_agent_rings_followed"), 0)
        self.assertEqual(int(self.stack.status("agent", "CapEff")[0], 16), 0)
        log = self.log()
        for name in ("CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH"):
            self.assertEqual(log.count(f'msg="a capability is missing" capability={name} not_seen='), 1, log)
        self.assertEqual(log.count('msg="ring refused"'), RANKS, log)


if __name__ == "__main__":
    sys.exit(unittest.main())
