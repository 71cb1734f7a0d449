"""Kustomizations as the real kubectl renders them."""

import functools
import os
import subprocess
import sys
import unittest

import yaml

from places import ROOT


def kubectl():
    """./dev names it; by hand it is looked for."""
    named = os.environ.get("LOCKSTEP_KUBECTL")
    if named:
        return named
    found = subprocess.run([sys.executable, ROOT / "tools/kubectl.py"], capture_output=True, text=True, check=False)
    if found.returncode:
        raise unittest.SkipTest(f"no kubectl that renders components is to be had here: {found.stderr}")
    return found.stdout.strip()


@functools.lru_cache(maxsize=None)
def rendered(directory):
    """All objects of a kustomization. The folder itself is taken, and not Bazel's links to its files, which lead out of it."""
    folder = (directory / "kustomization.yaml").resolve().parent
    done = subprocess.run([kubectl(), "kustomize", str(folder)], capture_output=True, text=True, check=False)
    if done.returncode or done.stderr:
        raise AssertionError(f"{directory}: {done.stderr}")
    return list(yaml.safe_load_all(done.stdout))
