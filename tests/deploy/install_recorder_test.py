#!/usr/bin/python3
"""install-recorder on a node whose jobs have the recorder loaded: what is mapped is neither written to nor taken away."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

from places import BINARIES, ROOT

NAME = "libnccl-profiler-lockstep.so"
# Loads the library, says so, and stays until its standard input ends.
JOB = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); print('loaded', flush=True); sys.stdin.read()"


class InstallRecorderTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.image, self.node = pathlib.Path(scratch.name) / "image", pathlib.Path(scratch.name) / "node"
        self.image.mkdir()
        # The processes of the node are those of the test: of others here some may hide what they map.
        self.proc = pathlib.Path(scratch.name) / "proc"
        self.proc.mkdir()
        shutil.copy(ROOT / "deploy/recorder/install-recorder", self.image)
        self.release("one")

    def release(self, name):
        """Another release of the library: one that differs behind its end, where no loader looks."""
        library = self.image / NAME
        library.unlink(missing_ok=True)
        library.write_bytes((BINARIES / "agent/recorder" / NAME).read_bytes() + name.encode())

    def install(self):
        return subprocess.run([self.image / "install-recorder", self.node, self.proc], capture_output=True, text=True,
                              check=True).stdout

    def job(self):
        """A process that has the recorder of now mapped."""
        job = subprocess.Popen([sys.executable, "-c", JOB, self.node / NAME], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (job.stdin.close(), job.stdout.close(), job.wait()))
        (self.proc / str(job.pid)).symlink_to(f"/proc/{job.pid}")
        self.assertEqual(job.stdout.readline(), "loaded\n")
        return job

    def versions(self):
        return sorted(p.name for p in self.node.glob(f"{NAME}.*"))

    def test_jobs_find_it_under_one_name_and_may_read_it(self):
        self.install()
        version, = self.versions()
        self.assertEqual(os.readlink(self.node / NAME), version)
        self.assertEqual((self.node / NAME).read_bytes(), (self.image / NAME).read_bytes())
        self.assertEqual([oct(p.stat().st_mode & 0o7777) for p in (self.node, self.node / NAME)], ["0o755", "0o644"])

    def test_a_second_time_changes_nothing(self):
        self.install()
        before = [(p.name, p.lstat().st_ino, p.lstat().st_mtime_ns) for p in sorted(self.node.iterdir())]
        self.assertEqual(self.install(), "")
        self.assertEqual([(p.name, p.lstat().st_ino, p.lstat().st_mtime_ns) for p in sorted(self.node.iterdir())], before)

    def test_what_a_job_has_mapped_stays_as_it_is_until_the_job_is_over(self):
        self.install()
        old, = self.versions()
        before = (self.node / old).stat()
        job = self.job()
        self.release("two")
        self.assertEqual(self.install(), f"kept: {old}\n")
        after = (self.node / old).stat()
        self.assertEqual((after.st_ino, after.st_mtime_ns), (before.st_ino, before.st_mtime_ns))
        self.assertEqual(len(self.versions()), 2)
        self.assertNotEqual(os.readlink(self.node / NAME), old)
        job.stdin.close()
        job.wait()
        self.assertEqual(self.install(), f"removed: {old}\n")
        self.assertEqual(len(self.versions()), 1)

    def test_whose_maps_cannot_be_read_may_map_anything(self):
        self.install()
        self.release("two")
        (self.proc / "1/maps").mkdir(parents=True)  # a folder cannot be read as a file
        self.assertIn("kept: ", self.install())
        self.assertEqual(len(self.versions()), 2)

    def test_a_library_that_was_put_there_by_hand_is_replaced_and_not_written_to(self):
        self.node.mkdir()
        by_hand = self.node / NAME
        shutil.copy(self.image / NAME, by_hand)
        job = self.job()
        inode = by_hand.stat().st_ino
        self.release("two")
        self.install()
        self.assertTrue(by_hand.is_symlink())
        maps = pathlib.Path(f"/proc/{job.pid}/maps").read_text()
        self.assertIn(f" {inode} ", maps)

    def test_a_job_that_begins_meanwhile_gets_one_release_or_the_other(self):
        self.install()
        contents = {(self.image / NAME).read_bytes()}
        self.release("two")
        contents.add((self.image / NAME).read_bytes())
        seen, done = set(), threading.Event()

        def read():
            while not done.is_set():
                seen.add((self.node / NAME).read_bytes())

        reader = threading.Thread(target=read)
        reader.start()
        for number in range(10):
            self.release("one" if number % 2 else "two")
            self.install()
        done.set()
        reader.join()
        self.assertTrue(seen)
        self.assertLessEqual(seen, contents)
        self.assertEqual(list(self.node.glob(".new.*")), [])


if __name__ == "__main__":
    sys.exit(unittest.main())
