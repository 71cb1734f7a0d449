#!/usr/bin/python3
"""Slurm's own daemons with our scripts: a job gets the recorder, and a machine that an incident accuses is drained for it.

slurmctld, slurmd and a collector run in namespaces of their own, in which the machine is called as one of a simulated job.
Needs root.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

from places import BINARIES, ROOT

NODE = "node-00001"
AGENT, STRANGER = 47072, 47073  # users
NAMESPACES = ["unshare", "--uts", "--net", "--pid", "--mount", "--fork", "--mount-proc", "--kill-child"]
REASON = r"^lockstep 1: gpu_fault gpu 1, \d+% in gpt\n?$"
COLLECTOR = "127.0.0.1:7070"
SLURM_CONF = """
ClusterName=lockstep
SlurmctldHost={node}(127.0.0.1)
SlurmUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd.log
NodeName={node} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes={node} Default=YES MaxTime=INFINITE State=UP
Prolog={directory}/libexec/slurm/prolog
Epilog={directory}/libexec/slurm/epilog
TaskProlog={directory}/libexec/slurm/task-prolog
HealthCheckProgram={directory}/libexec/slurm/health-check
HealthCheckInterval=1
HealthCheckNodeState=ANY
"""


def run(*command, check=True, **environment):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=60, check=check,
                          stdin=subprocess.DEVNULL, env=dict(os.environ, **environment))


def wait_until(what, condition, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.2)
    raise AssertionError(f"waited {seconds} s for {what} in vain")


class SlurmTest(unittest.TestCase):
    """Runs inside of NAMESPACES: what it mounts and starts ends with them."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.directory = pathlib.Path(cls.scratch.name)
        cls.children = contextlib.ExitStack()
        run("hostname", NODE)
        run("ip", "link", "set", "lo", "up")
        # Slurm looks for an address of a family that a device beside loopback has.
        run("ip", "address", "add", "192.0.2.1/32", "dev", "lo")
        for place in ("/dev/shm", "/etc/default"):
            run("mount", "-t", "tmpfs", "tmpfs", place)
        cls.lay_out_scripts()
        cls.install_agents_user()
        cls.start("collector", BINARIES / "collector/lockstep-collector", "--data-directory", cls.directory / "history")
        cls.start("slurmctld", "slurmctld", "-D")
        cls.start("slurmd", "slurmd", "-D")
        wait_until("the node to be idle", lambda: run("sinfo", "-h", "-o", "%T", check=False).stdout.strip() == "idle", 60)
        wait_until("the collector", lambda: run(cls.lockstep, "status", check=False).returncode == 0, 60)

    @classmethod
    def tearDownClass(cls):
        cls.children.close()
        cls.scratch.cleanup()

    @classmethod
    def lay_out_scripts(cls):
        """As the packages lay them out, with recorders and a configuration of our own."""
        libexec, recorders = cls.directory / "libexec", cls.directory / "recorders"
        libexec.mkdir()
        shutil.copytree(ROOT / "deploy/slurm", libexec / "slurm")
        shutil.copy(ROOT / "deploy/node/node-check", libexec)
        recorders.mkdir()
        cls.plugin = recorders / "libnccl-profiler-lockstep.so"
        for library in (cls.plugin, recorders / "liblockstep-mpi.so"):
            shutil.copy(BINARIES / "agent/recorder" / library.name, library)
        for folder in ("state", "spool"):
            (cls.directory / folder).mkdir()
        (cls.directory / "slurm.conf").write_text(SLURM_CONF.format(node=NODE, directory=cls.directory))
        os.environ["SLURM_CONF"] = str(cls.directory / "slurm.conf")
        cls.lockstep = BINARIES / "cli/lockstep"
        cls.settings = f"export PATH={cls.lockstep.parent}:$PATH\nLOCKSTEP_RECORDERS={recorders}\nLOCKSTEP_COLLECTOR={COLLECTOR}\n"
        # Needed where it is not in /etc/slurm: slurmd runs a health check with an environment of its own.
        cls.settings += f"export SLURM_CONF={cls.directory}/slurm.conf\n"
        pathlib.Path("/etc/default/lockstep").write_text(cls.settings)
        os.chmod(cls.directory, 0o755)

    @classmethod
    def install_agents_user(cls):
        """As the package of the agent does, for this namespace alone."""
        (cls.directory / "nobody").write_text("root:x:0:0:root:/root:/bin/sh\n")
        for file, line in (("passwd", f"lockstep:x:{AGENT}:{AGENT}::/nonexistent:/usr/sbin/nologin"),
                           ("group", f"lockstep:x:{AGENT}:")):
            own = cls.directory / file
            own.write_text(f"{pathlib.Path('/etc', file).read_text()}{line}\n")
            own.chmod(0o644)
            run("mount", "--bind", own, f"/etc/{file}")

    @classmethod
    def start(cls, name, *command):
        log = cls.children.enter_context(open(cls.directory / f"{name}.out", "wb"))
        child = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        cls.children.callback(lambda: (child.send_signal(signal.SIGKILL), child.wait()))

    def job(self, script, **environment):
        return run("srun", "--ntasks=1", "sh", "-c", script, **environment).stdout.strip()

    @staticmethod
    def node():
        """State and reason, as people see them; a star behind the state is about slurmd's last answer."""
        state, reason = run("sinfo", "-h", "-n", NODE, "-o", "%T|%E").stdout.strip().split("|")
        return state.rstrip("*"), reason

    def test_1_a_job_gets_the_recorder_and_a_place_for_its_ring(self):
        rings = pathlib.Path("/dev/shm/lockstep")
        rings.mkdir(mode=0o755)  # as somebody who was there first may have made it
        self.assertEqual(self.job("echo $NCCL_PROFILER_PLUGIN $LD_PRELOAD"), str(self.plugin))
        self.assert_right(rings)

    def assert_right(self, rings):
        """As the agent wants it: agent/sources/rings/ring_place.h."""
        status = os.stat(rings, follow_symlinks=False)
        self.assertTrue(stat.S_ISDIR(status.st_mode))
        self.assertEqual((status.st_uid, status.st_gid, oct(status.st_mode & 0o7777)), (AGENT, AGENT, "0o1777"))

    def test_1_the_ring_directory_is_mended_whatever_was_there(self):
        rings, prolog = pathlib.Path("/dev/shm/lockstep"), self.directory / "libexec/slurm/prolog"
        precious = self.directory / "precious"
        precious.mkdir(mode=0o700)

        def somebodys_link():
            rings.symlink_to(precious)
            os.lchown(rings, STRANGER, STRANGER)

        def somebodys_folder():
            rings.mkdir(mode=0o700)
            (rings / "theirs").touch()
            os.chown(rings, STRANGER, STRANGER)

        for what in (lambda: None, somebodys_link, somebodys_folder, lambda: rings.write_text("in the way")):
            for left in (rings, rings.with_suffix(".aside")):
                run("rm", "-rf", left)
            what()
            for _ in range(2):
                run(prolog)
                self.assert_right(rings)
            status = precious.stat()
            self.assertEqual((status.st_uid, oct(status.st_mode & 0o7777)), (0, "0o700"), "what a link names stays")
        elsewhere = pathlib.Path("/dev/shm/elsewhere")
        run("rm", "-rf", rings)
        rings.symlink_to(elsewhere)  # root's
        elsewhere.mkdir()
        run(prolog)
        self.assertTrue(rings.is_symlink())
        self.assert_right(elsewhere)
        rings.unlink()

    def test_1_without_the_agent_the_ring_directory_is_roots(self):
        run("mount", "--bind", self.directory / "nobody", "/etc/passwd")
        try:
            run("rm", "-rf", "/dev/shm/lockstep")
            run(self.directory / "libexec/slurm/prolog")
            status = os.stat("/dev/shm/lockstep")
            self.assertEqual((status.st_uid, oct(status.st_mode & 0o7777)), (0, "0o1777"))
        finally:
            run("umount", "/etc/passwd")

    def test_1_what_a_job_sets_itself_stays(self):
        self.assertEqual(self.job("echo $NCCL_PROFILER_PLUGIN", NCCL_PROFILER_PLUGIN="libtheirs.so"), "libtheirs.so")
        self.assertEqual(self.job("echo none$NCCL_PROFILER_PLUGIN", LOCKSTEP_RECORDER="off"), "none")

    def test_1_a_node_without_recorders_runs_jobs_all_the_same(self):
        with self.settings_with("LOCKSTEP_RECORDERS=/nowhere"):
            self.assertEqual(self.job("echo none$NCCL_PROFILER_PLUGIN"), "none")

    def test_1_open_mpi_is_recorded_where_it_is_wanted(self):
        with self.settings_with("LOCKSTEP_RECORD='nccl mpi'"):
            self.assertEqual(self.job("echo $NCCL_PROFILER_PLUGIN $LD_PRELOAD"),
                             f"{self.plugin} {self.plugin.parent}/liblockstep-mpi.so")

    def test_1_a_healthy_node_or_one_of_which_nothing_is_known_stays(self):
        check = [self.directory / "libexec/node-check", "--host", NODE, "--lockstep", self.lockstep]
        done = run(*check, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "lockstep: no open incident\n"))
        self.assertEqual(run(*check, check=False, LOCKSTEP_COLLECTOR="127.0.0.1:1").returncode, 2)
        self.assertEqual(self.node(), ("idle", "none"))

    def test_2_an_accused_node_is_drained_and_the_reason_is_the_incident(self):
        job = self.directory / "job"
        job.mkdir()
        run(self.lockstep, "sim", job, "--gpus", "32", "--job", "gpt", "--faults", "gpu_lost:9@8", "--metrics", "--speed",
            "4", "--feed", COLLECTOR)
        done = run(self.directory / "libexec/node-check", "--host", NODE, "--lockstep", self.lockstep, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, REASON)
        self.assertEqual(run(self.directory / "libexec/node-check", "--host", "node-00002", "--lockstep", self.lockstep,
                             check=False).returncode, 0)
        wait_until("the node to be drained", lambda: self.node()[0] == "drained", 30)
        self.assertRegex(self.node()[1], REASON)

    def test_3_the_reason_of_somebody_else_stays(self):
        run("scontrol", "update", f"NodeName={NODE}", "State=DRAIN", "Reason=fan is loud")
        run(self.directory / "libexec/slurm/health-check")
        self.assertEqual(self.node(), ("drained", "fan is loud"))

    def test_4_the_example_of_a_hook_drains_a_node_once(self):
        with self.health_check_off():
            run("scontrol", "update", f"NodeName={NODE}", "State=RESUME")
            self.assertEqual(self.hook(7), f"{NODE} is drained")
            self.assertEqual(self.node()[1], "lockstep 7: gpu_fault")
            self.assertEqual(self.hook(8), f"{NODE} is drained already")
            self.assertEqual(self.node()[1], "lockstep 7: gpu_fault")

    @contextlib.contextmanager
    def health_check_off(self):
        """The incident is open still: slurmd's own check, once a second, would drain the node before the hook does."""
        with self.settings_with("LOCKSTEP_DRAIN_CONDITIONS=None"):
            # One that has read the settings of before is waited for.
            wait_until("health checks to end", lambda: run("pgrep", "-f", "slurm/health-check", check=False).returncode, 30)
            yield

    @staticmethod
    def hook(number):
        incident = {"incident": number, "class": "gpu_fault", "scope": "machine", "hosts": [NODE]}
        return subprocess.run([str(ROOT / "deploy/hooks/drain-slurm-node")], input=json.dumps(incident), text=True,
                              capture_output=True, timeout=60, check=True).stdout.strip()

    @contextlib.contextmanager
    def settings_with(self, line):
        path = pathlib.Path("/etc/default/lockstep")
        path.write_text(f"{self.settings}{line}\n")
        try:
            yield
        finally:
            path.write_text(self.settings)


if __name__ == "__main__":
    if sys.argv[1:] != ["--inside"]:
        if refused := run(*NAMESPACES, "true", check=False).stderr:
            sys.exit(print(f"skipped, no namespaces can be made here: {refused}"))
        sys.exit(subprocess.run([*NAMESPACES, sys.executable, *sys.argv, "--inside"], stdin=subprocess.DEVNULL,
                                check=False).returncode)
    sys.exit(unittest.main(argv=sys.argv[:1], verbosity=2))
