#!/usr/bin/env python3
"""Fails if a metric of the catalogue is read by no source of the agent. Usage: metrics.py ROOT

A source's tables and readers name the metric by its constant. What nobody names can only ever be missing, and rules and
detectors that wait for it are silent for ever.
"""

import pathlib
import re
import sys

CATALOGUE = "base/metric_catalog"
SOURCES = "agent/sources"


def named_by_sources(root):
    names = set()
    for path in root.glob(f"{SOURCES}/**/*.[ch]*"):
        if "_test." in path.name or "testing" in path.parts:
            continue
        code = re.sub(r"//[^\n]*", "", path.read_text())
        names |= set(re.findall(r"\b(?:Metric|M)::(k\w+)", code))
        if re.search(r"\busing enum (?:::)?(?:lockstep::)?Metric;", code):
            names |= set(re.findall(r"\b(k[A-Z]\w+)", code))
    return names


def violations(root):
    declared = set(re.findall(r"^  (k\w+) = \d+,", (root / f"{CATALOGUE}.h").read_text(), re.MULTILINE))
    listed = set(re.findall(r"\{Metric::(k\w+),", (root / f"{CATALOGUE}.cc").read_text()))
    for name in sorted(declared - listed - {"kUnspecified"}):
        yield f"{CATALOGUE}.cc: {name} has no entry"
    for name in sorted(listed - named_by_sources(root)):
        yield f"{CATALOGUE}.cc: no source below {SOURCES} reads {name}"


if __name__ == "__main__":
    found = list(violations(pathlib.Path(sys.argv[1])))
    print("\n".join(found))
    sys.exit(1 if found else 0)
