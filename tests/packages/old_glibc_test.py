#!/usr/bin/python3
"""The recorders of the tarball load under the glibc of Ubuntu 20.04 (2.31), the oldest that Debian's mirrors still have.

For those below, down to 2.17, tests/deploy/recorder_glibc_test.py compares versions of symbols. Needs root; `./dev package
--test` runs it.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from debian_root import kept_archive

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = pathlib.Path(os.environ.get("LOCKSTEP_PACKAGES", ROOT / "packages"))
SUITE = "bullseye"
LOAD_AND_LOOK = ("require DynaLoader; my $library = DynaLoader::dl_load_file($ARGV[0]) or die DynaLoader::dl_error();"
                 "DynaLoader::dl_find_symbol($library, qq(ncclProfiler_v$_)) or die $_ for 1 .. 7; print qq(all seven)")


class OldGlibcTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        archive = kept_archive({"perl-base", "libopenmpi3"}, SUITE, "extract")
        cls.scratch = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.scratch.name)
        subprocess.run(["tar", "-xf", archive, "-C", cls.root], check=True)
        (cls.root / "opt").mkdir(exist_ok=True)
        tarball, = PACKAGES.glob("lockstep-recorder-*.tar.xz")
        subprocess.run(["tar", "-xJf", tarball, "-C", cls.root / "opt", "--strip-components=1"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def run_inside(self, *command, **environment):
        done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=lambda: os.chroot(self.root),
                              env={"LC_ALL": "C", "LD_BIND_NOW": "1", **environment}, cwd="/")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_it_is_old(self):
        self.assertTrue((self.root / "lib/x86_64-linux-gnu/libc-2.31.so").exists())

    def test_the_plugin_is_found_as_nccl_looks_for_it(self):
        self.assertEqual(self.run_inside("/usr/bin/perl", "-e", LOAD_AND_LOOK, "/opt/libnccl-profiler-lockstep.so"),
                         "all seven")

    def test_the_others_are_preloaded(self):
        for library in ("liblockstep-preload.so", "liblockstep-mpi.so"):
            said = self.run_inside("/usr/bin/perl", "-e", "print qq(as always)", LD_PRELOAD=f"/opt/{library}")
            self.assertEqual(said, "as always", library)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
