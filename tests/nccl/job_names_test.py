#!/usr/bin/env python3
"""Jobs that tell no id, on machines that they share: none merges with another, none is split; and which GPU a rank is on,
or an Xid is of.

Real collector, two real agents; NCCL is played by driver processes, two ranks of each job on each machine.
"""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from demo.stack import BINARIES, Stack  # noqa: E402

RANKS = 4
HOSTS = 2
NCCL_VERSION = 5
PATIENCE_SECONDS = 60
# What launchers and batch systems tell of themselves would name the jobs.
LAUNCHER_PREFIXES = ("SLURM_", "OMPI_", "PMI", "TORCHELASTIC_", "MASTER_", "LOCKSTEP_", "KUBERNETES_")


class JobNamesTest(unittest.TestCase):

    def setUp(self):
        for name in [n for n in os.environ if n.startswith(LAUNCHER_PREFIXES)]:
            del os.environ[name]
        state = tempfile.TemporaryDirectory()
        self.addCleanup(state.cleanup)
        self.stack = Stack(state.name)
        self.addCleanup(self.stack.close)
        self.stack.start_collector()
        for host in range(HOSTS):
            self.rings(host).mkdir()
            self.start(f"agent{host}", [
                BINARIES / "agent/lockstep-agent", f"--collector-address=127.0.0.1:{self.stack.grpc_port}",
                f"--ring-directory={self.rings(host)}", "--listen-address=127.0.0.1:0", f"--host-name=node-{host}",
                f"--nvml-library={BINARIES / 'agent/sources/nvml/testing/libnvidia-ml-fake.so'}"],
                LOCKSTEP_FAKE_NVML=str(self.nvml_script(host)))

    def rings(self, host):
        return self.stack.rings / f"host{host}"

    def nvml_script(self, host):
        return self.stack.rings / f"nvml{host}"

    def start(self, name, command, **environment):
        self.stack.start(name, command, **environment)
        self.addCleanup(self.stack.stop, name, patience_seconds=1)

    def start_ranks(self, name, **environment):
        """Four ranks that meet on a board; the first two on the first machine."""
        for rank in range(RANKS):
            self.start_rank(name, rank, **environment)

    def start_rank(self, name, rank, **environment):
        self.start(f"{name}-{rank}", [
            BINARIES / "tests/nccl/nccl_train", BINARIES / "agent/recorder/libnccl-profiler-lockstep.so", NCCL_VERSION,
            rank, RANKS, self.stack.rings / f"board-{name}", self.stack.rings / "control", "network=0"],
            LOCKSTEP_RING_DIR=str(self.rings(rank * HOSTS // RANKS)), **environment)

    def jobs(self):
        return {job["job"]: len(self.stack.lockstep("ranks", job["job"]).get("ranks", []))
                for job in self.stack.lockstep("jobs").get("jobs", [])}

    def expect_jobs(self, count):
        """That many of RANKS ranks each, and nothing beside them."""
        found = self.stack.wait_until(
            f"{count} jobs", lambda: len(j := self.jobs()) == count and set(j.values()) == {RANKS} and j, PATIENCE_SECONDS)
        return sorted(found)

    def test_two_jobs_that_tell_nothing_are_two_jobs(self):
        self.start_ranks("a")
        self.start_ranks("b")
        for job in self.expect_jobs(2):
            self.assertRegex(job, "^nccl-[0-9a-f]{16}$")

    def test_two_jobs_of_torchrun_without_run_ids_are_told_apart_by_where_they_meet(self):
        for name, port in (("a", "29500"), ("b", "29501")):
            self.start_ranks(name, TORCHELASTIC_RUN_ID="none", MASTER_ADDR="10.0.0.5", MASTER_PORT=port)
        for job, port in zip(self.expect_jobs(2), ("29500", "29501")):
            self.assertRegex(job, rf"^torch-10\.0\.0\.5:{port}-\d{{8}}T\d{{6}}Z$")

    def test_a_rank_in_an_instance_has_its_uuid_and_the_index_of_its_gpu(self):
        for host in range(HOSTS):
            self.nvml_script(host).write_text("mig 1\n")
        uuid = "MIG-00000000-0000-0000-0001-000000000002"
        self.start_ranks("a", LD_PRELOAD=str(BINARIES / "agent/recorder/libfake-gpu-driver.so"), CUDA_VISIBLE_DEVICES=uuid)
        job, = self.expect_jobs(1)

        def named():
            ranks = self.stack.lockstep("ranks", job)["ranks"]
            return all(r.get("gpu", 0) >= 0 for r in ranks) and ranks

        for rank in self.stack.wait_until("GPUs", named, PATIENCE_SECONDS):
            self.assertEqual((rank.get("gpu", 0), rank["gpu_uuid"], rank["gpu_pci_address"]), (1, uuid, "0000:3c:00.0"))

    def test_an_xid_that_nvml_alone_tells_of_is_an_incident_of_its_gpu(self):
        self.nvml_script(1).write_text("xid 1:79\n")

        def of_the_xid():
            return [i["verdict"] for i in self.stack.incidents() if "Xid 79" in str(i["verdict"]["evidence"])]

        verdict, = self.stack.wait_until("an incident", of_the_xid, PATIENCE_SECONDS)
        self.assertEqual([(c["host"], c["gpu"]) for c in verdict["culprits"]], [("node-1", 1)])
        self.assertEqual((verdict["scope"], verdict["class"]), ("machine", "gpu_fault"))

    def test_a_rank_is_on_the_gpu_that_its_driver_and_nvml_mean_alike(self):
        # Each process sees one GPU and calls it 0; the second rank of a machine has the first GPU.
        for rank in range(RANKS):
            self.start_rank("a", rank, LD_PRELOAD=str(BINARIES / "agent/recorder/libfake-gpu-driver.so"),
                            CUDA_VISIBLE_DEVICES=str(1 - rank % 2))
        job, = self.expect_jobs(1)

        def named():
            ranks = {r.get("rank", 0): r for r in self.stack.lockstep("ranks", job)["ranks"]}
            return all(r.get("gpu", 0) >= 0 for r in ranks.values()) and ranks

        for rank, seen in self.stack.wait_until("GPUs", named, PATIENCE_SECONDS).items():
            gpu = 1 - rank % 2
            self.assertEqual(seen.get("gpu", 0), gpu)
            self.assertEqual(seen["gpu_uuid"], f"GPU-00000000-0000-0000-0000-{gpu:012}")
            self.assertEqual(seen["gpu_pci_address"], f"0000:{0x3b + gpu:02x}:00.0")


if __name__ == "__main__":
    unittest.main(verbosity=2)
