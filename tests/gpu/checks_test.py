#!/usr/bin/python3
"""The ring reader, the checks and the driver of the proof on a GPU, on rings that our own writer makes; and that run.sh
skips where there is no GPU."""

import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
WRITE_RINGS = pathlib.Path("tests/gpu/write_rings").resolve()
RUN = pathlib.Path("tests/gpu/run.sh").resolve()

import drive  # noqa: E402
from checks import check_healthy, check_slow, check_stuck, clock_errors, least_waiting, overhead  # noqa: E402
from ring_reader import COMMUNICATOR, HEADER, OPERATION, NotARing, read_ring  # noqa: E402

TRUTH = {"world": 2, "steps": 60, "payload": 4_000_012}
SLOW = dict(TRUTH, slow_rank=1)
STUCK = dict(TRUTH, stuck_rank=0, stuck_step=20)
GPU_TIMER, PROXY_ENVELOPE, HOST_ENQUEUE = 1, 3, 5


class RingsTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)

    def rings(self, scenario, quality=GPU_TIMER):
        directory = self.scratch / f"{scenario}{quality}"
        directory.mkdir()
        subprocess.run([WRITE_RINGS, directory, scenario, str(quality)], check=True)
        return [read_ring(path) for path in sorted(directory.glob("*.ring"))]


class ReaderTest(RingsTest):
    def test_sizes_are_those_of_the_page(self):
        self.assertEqual((HEADER.size, COMMUNICATOR.size, OPERATION.size), (1024, 128, 128))

    def test_everything_arrives(self):
        ring = sorted(self.rings("healthy"), key=lambda r: r.rank)[1]
        self.assertEqual((ring.kind, ring.state, ring.abi_version), ("nccl-profiler", "finalized", 5))
        self.assertEqual((ring.rank, ring.world_size, ring.local_rank, ring.job), (1, 2, 1, "gpu-test"))
        self.assertEqual((ring.enqueued, ring.finished, ring.lost), (61, 61, 0))
        world = ring.communicators[0]
        self.assertEqual((world.id, world.name, world.size, world.rank, world.nodes), (0xABCDEF, "world", 2, 1, 1))
        self.assertEqual((world.enqueued, world.started, world.finished, world.freed), (61, 61, 61, False))
        first = ring.operations[1]
        self.assertEqual((first.kind, first.state, first.timing), ("AllReduce", "finished", "gpu timer"))
        self.assertEqual((first.ticket, first.sequence, first.bytes, first.peer), (1, 2, 4_000_012, -1))
        self.assertEqual((first.communicator, first.datatype_bytes, first.channels), (0, 4, 0))
        self.assertEqual(first.started_at_ns - first.enqueued_at_ns, 1000)

    def test_refuses_what_is_no_ring(self):
        self.rings("healthy")
        good = next(self.scratch.glob("*/*.ring")).read_bytes()
        bad = self.scratch / "bad"
        for damage in (b"", good[:1000], b"X" + good[1:], good[:8] + b"\x02" + good[9:], good[:-1],
                       good[:28] + b"\x03" + good[29:], good[:16] + b"\x40" + good[17:]):
            bad.write_bytes(damage)
            with self.assertRaises(NotARing):
                read_ring(bad)

    def test_leaves_out_a_slot_that_is_being_written(self):
        self.rings("healthy")
        path = next(self.scratch.glob("*/*.ring"))
        data = bytearray(path.read_bytes())
        data[1024 + 8 * 128] |= 1  # the version of the first slot
        path.write_bytes(data)
        self.assertEqual(len(read_ring(path).operations), 60)


class ChecksTest(RingsTest):
    def test_a_healthy_job_passes(self):
        self.assertEqual(check_healthy(self.rings("healthy"), TRUTH), [])

    def test_what_is_missing_or_lost_is_said(self):
        rings = self.rings("healthy")
        self.assertIn("not 61", " ".join(check_healthy(rings, dict(TRUTH, steps=61))))
        self.assertIn("rings of the ranks", " ".join(check_healthy(rings[:1], TRUTH)))
        self.assertIn("1 lost", " ".join(check_healthy(self.rings("lossy"), TRUTH)))
        self.assertIn("did not finish", " ".join(check_healthy(self.rings("stuck"), TRUTH)))

    def test_the_late_rank_is_named(self):
        rings = self.rings("slow")
        self.assertEqual(check_slow(rings, SLOW), [])
        self.assertEqual(least_waiting(rings, TRUTH["payload"]), {1: 60})

    def test_the_wrong_rank_is_not(self):
        self.assertNotEqual(check_slow(self.rings("slow"), dict(SLOW, slow_rank=0)), [])
        self.assertNotEqual(check_slow(self.rings("healthy"), SLOW), [])

    def test_without_gpu_times_nobody_is_accused(self):
        for quality in (PROXY_ENVELOPE, HOST_ENQUEUE):
            self.assertEqual(check_slow(self.rings("slow", quality), SLOW), [])

    def test_the_stuck_rank_is_outside_and_the_others_inside(self):
        self.assertEqual(check_stuck(self.rings("stuck"), STUCK), [])
        self.assertNotEqual(check_stuck(self.rings("healthy"), STUCK), [])
        self.assertNotEqual(check_stuck(self.rings("stuck", HOST_ENQUEUE), dict(STUCK, stuck_rank=1)), [])

    def test_clocks_are_compared_with_the_events_of_the_job(self):
        rings = self.rings("healthy")
        results = [{"rank": ring.rank, "payload": TRUTH["payload"], "on_gpu_ns": [
            [operation.started_at_ns - 3000, operation.finished_at_ns + 2000, tie]
            for operation, tie in zip((o for o in ring.operations if o.bytes == TRUTH["payload"]), [10] * 59 + [10**9])]}
            for ring in rings]
        errors = clock_errors(rings, results)
        self.assertEqual((errors["begin_p50"], errors["end_p99"], errors["duration_p50"]), (3, 2, 5))
        for result in results:
            result["on_gpu_ns"][-1][1] += 10**6  # not tied: its duration counts all the same
        self.assertEqual(clock_errors(rings, results)["end_p99"], 2)
        self.assertGreater(clock_errors(rings, results)["duration_p99"], 900)
        self.assertEqual(clock_errors(self.rings("healthy", HOST_ENQUEUE), results), {})

    def test_overhead_compares_medians(self):
        plain, recorded, share = overhead([[1.0, 9.0, 1.0], [1.0], [5.0]], [[1.1], [1.1, 1.1], [0.1]])
        self.assertEqual((plain, recorded), (1.0, 1.1))
        self.assertAlmostEqual(share, 0.1)


class DriveTest(RingsTest):
    """The driver, with a job that writes the rings which a real one would leave behind."""

    def setUp(self):
        super().setUp()
        for name, value in (("JOB", HERE / "testing/fake_job.py"), ("SETTLE_SECONDS", 0.1), ("ALTERNATIONS", 1)):
            self.replace(name, value)
        os.environ["LOCKSTEP_TEST_WRITE_RINGS"] = str(WRITE_RINGS)

    def replace(self, name, value):
        self.addCleanup(setattr, drive, name, getattr(drive, name))
        setattr(drive, name, value)

    def drive(self, recorder, gpus=2, preload=None):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            status = drive.run(self.scratch, recorder, gpus, preload)
        return status, printed.getvalue()

    def test_passes_and_prints_its_figures(self):
        status, printed = self.drive(pathlib.Path("/a/recorder.so"), preload=pathlib.Path("/a/preload.so"))
        self.assertEqual(status, 0, printed)
        self.assertTrue(printed.endswith("PASSED\n"), printed)
        names = [json.loads(line).get("name") for line in printed.splitlines()[:-1]]
        self.assertIn("gpu_step_overhead_ratio", names)

    def test_fails_where_the_recorder_does_nothing(self):
        status, printed = self.drive(pathlib.Path("/a/idle.so"))
        self.assertEqual(status, drive.EXIT_FAILED)
        self.assertIn("healthy: rings of the ranks []", printed)

    def test_fails_where_the_preloaded_recorder_does_nothing(self):
        status, printed = self.drive(pathlib.Path("/a/recorder.so"), preload=pathlib.Path("/a/preload-idle.so"))
        self.assertEqual(status, drive.EXIT_FAILED)
        self.assertIn("preloaded: rings of the ranks []", printed)

    def test_skips_where_two_ranks_cannot_share_the_gpu(self):
        self.replace("JOB", HERE / "testing/no_such_job.py")
        with contextlib.redirect_stderr(io.StringIO()):
            status, printed = self.drive(pathlib.Path("/a/recorder.so"), gpus=1)
        self.assertEqual(status, drive.EXIT_SKIPPED)
        self.assertIn("SKIPPED", printed)

    def test_what_needs_a_gpu_is_python(self):
        for name in ("job.py", "train.py", "chain.py"):
            compile((HERE / name).read_text(encoding="utf-8"), name, "exec")


class RunTest(unittest.TestCase):
    def test_skips_where_there_is_no_gpu(self):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as empty:
            tools = pathlib.Path(empty)
            # A machine of its own making: no GPU driver, then a driver that lists none, then no PyTorch.
            for name in ("dirname", "grep", "bash", "env", "mktemp", "rm"):
                (tools / name).symlink_to(f"/usr/bin/{name}")
            self.assertIn("no NVIDIA driver", self.run_with(tools))
            smi = tools / "nvidia-smi"
            smi.write_text("#!/bin/bash\nexit 9\n")
            smi.chmod(0o755)
            self.assertIn("no NVIDIA GPU", self.run_with(tools))
            smi.write_text("#!/bin/bash\necho 'GPU 0: fake'\n")
            self.assertIn("no g++", self.run_with(tools))

    def run_with(self, tools):
        done = subprocess.run(["/bin/bash", RUN], env={"PATH": str(tools)}, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertTrue(done.stdout.startswith("SKIPPED: "), done.stdout)
        return done.stdout


if __name__ == "__main__":
    unittest.main()
