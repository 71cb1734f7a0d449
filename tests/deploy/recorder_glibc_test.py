#!/usr/bin/python3
"""The recorders load in images of jobs from glibc 2.17 to today: they ask for no newer version of any symbol, and for no
library beside glibc's own and the MPI that is recorded."""

import os
import re
import subprocess
import sys
import unittest

from places import BINARIES

RECORDERS = {name: str(BINARIES / "agent/recorder" / name)
             for name in ("libnccl-profiler-lockstep.so", "liblockstep-mpi.so", "liblockstep-preload.so")}
NEWEST_GLIBC = (2, 17)
LIBRARIES = {"libc.so.6", "libdl.so.2"}
MPI = {"liblockstep-mpi.so": {"libmpi.so.40"}}


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


class RecorderGlibcTest(unittest.TestCase):
    def test_symbols_are_old_enough(self):
        for name, path in RECORDERS.items():
            asked = re.findall(r"\*UND\*.*\((\w+?)_([0-9.]+)\)\s+(\S+)$", output("objdump", "-T", path), re.M)
            self.assertGreater(len(asked), 10, name)
            newer = [(family, version, symbol) for family, version, symbol in asked
                     if family != "GLIBC" or tuple(map(int, version.split("."))) > NEWEST_GLIBC]
            self.assertEqual(newer, [], name)

    def test_libraries_are_those_that_a_job_has(self):
        for name, path in RECORDERS.items():
            needed = set(re.findall(r"\(NEEDED\)\s+Shared library: \[(\S+)\]", output("readelf", "-d", path)))
            self.assertEqual(needed - LIBRARIES, MPI.get(name, set()), name)

    def test_an_old_loader_understands_the_file(self):
        for name, path in RECORDERS.items():
            self.assertIn("UNIX - System V", output("readelf", "-h", path), name)  # GNU: indirect or unique symbols
            self.assertNotIn("RELR", output("readelf", "-d", path), name)

    def test_a_program_that_has_nothing_to_record_does_not_notice(self):
        for name, path in RECORDERS.items():
            done = subprocess.run(["/bin/echo", "as always"], capture_output=True, text=True, check=False,
                                  env=dict(os.environ, LD_PRELOAD=path, LD_BIND_NOW="1"))
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "as always\n", ""), name)


if __name__ == "__main__":
    sys.exit(unittest.main())
