#!/usr/bin/env python3
"""Fails if a line of the threat model has no answer, or is shown by no test that exists. Usage: threats.py ROOT

The last column of the table in docs/security.md names targets as `folder:test`, and behind a target in parentheses the tests
in it, by their names or by how these begin: (WhoChanges..., test_keys). All that a folder has is no answer: `folder/...`
shows nothing about one threat.
"""

import pathlib
import re
import sys

DOCUMENT = "docs/security.md"
HEADING = "## What could go wrong"
TEST_RULE = re.compile(r"^(?:\w+_test|lockstep_fuzzer)\(\n(.*?)^\)", re.DOTALL | re.MULTILINE)
TEST_NAME = re.compile(r"\bTEST(?:_F|_P)?\(\s*\w+,\s*(\w+)\)|def (test_\w+)")
REFERENCE = re.compile(r"`([^`]+)`(?:\s*\(([^)]*)\))?")


def rows(text):
    """Cells of the table, each line."""
    table = text.partition(HEADING)[2]
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def tests_of(root, package):
    """Sources of each test and fuzzer of a folder, by name."""
    build = root / package / "BUILD.bazel"
    rules = TEST_RULE.findall(build.read_text(encoding="utf-8")) if build.exists() else []
    found = {}
    for rule in rules:
        name = re.search(r'\bname = "([^"]+)"', rule)
        sources = re.search(r"\bsrcs? = (?:\[(.*?)\]|(\"[^\"]+\"))", rule, re.DOTALL)
        if name and sources and ('"manual"' not in rule):
            found[name.group(1)] = re.findall(r'"([^":]+)"', sources.group(0))
    return found


def wrong_with(root, label, names):
    if label.endswith("..."):
        yield f"{label} names a folder, and not the tests in it"
        return
    package, _, name = label.partition(":")
    sources = tests_of(root, package).get(name)
    if sources is None:
        yield f"{label} is no test that is run"
        return
    text = "".join((root / package / source).read_text(encoding="utf-8") for source in sources)
    known = [cc or py for cc, py in TEST_NAME.findall(text)]
    for wanted in filter(None, (name.strip() for name in names.split(","))):
        begin = wanted.removesuffix("...")
        if not any(test.startswith(begin) if begin != wanted else test == wanted for test in known):
            yield f"{label} has no test {wanted}"


def violations(root):
    table = rows((root / DOCUMENT).read_text(encoding="utf-8"))
    if not table:
        yield f"{DOCUMENT}: no table below '{HEADING}'"
    for cells in table:
        where = f"{DOCUMENT}: '{cells[0]}'"
        if len(cells) != 3 or not all(cells):
            yield f"{where}: expected a threat, an answer and what shows it"
            continue
        references = REFERENCE.findall(cells[2])
        if not references:
            yield f"{where}: is shown by nothing"
        for label, names in references:
            yield from (f"{where}: {wrong}" for wrong in wrong_with(root, label, names))


if __name__ == "__main__":
    complaints = list(violations(pathlib.Path(sys.argv[1])))
    print("\n".join(complaints))
    sys.exit(1 if complaints else 0)
