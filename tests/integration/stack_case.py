"""For tests that share one collector: it is started before the first of them and gone after the last."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from demo.stack import Stack  # noqa: E402


class StackCase(unittest.TestCase):
    """`stack` has a collector, and what begin() of a class starts besides; `place` is a folder for its files."""

    @classmethod
    def setUpClass(cls):
        cls._directory = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        cls.addClassCleanup(cls._directory.cleanup)
        cls.place = pathlib.Path(cls._directory.name)
        cls.stack = Stack(cls.place / "state")
        cls.addClassCleanup(cls.stack.close)
        cls.prepare()
        cls.stack.start_collector()
        cls.begin()

    @classmethod
    def prepare(cls):
        """Nothing; the collector is started after it."""

    @classmethod
    def begin(cls):
        """Nothing but the collector."""
