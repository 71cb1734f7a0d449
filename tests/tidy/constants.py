#!/usr/bin/env python3
"""Fails if a number of the detector has no comment, or if too many are chosen by judgement. Usage: constants.py ROOT

A number is a constexpr scalar with a literal in it. Numbers that follow each other without a blank line share the
comment above the first of them. What follows from another constant, or is the name of a limit of a type, needs none.
"""

import pathlib
import re
import sys

MOST_BY_JUDGEMENT = 61

NUMBER = re.compile(
    r"\s*(?:static |inline )*constexpr (?:double|float|u?int\d*(?:_t)?|size_t|auto)\s+(k[A-Z]\w*)(?:\[\])?\s*=\s*(.*)")
# Units, sentinels and codes are what they are.
PLAIN = re.compile(r"numeric_limits|kNano|Per(?:Second|Day|Milli)|^k(?:None|No[A-Z]\w*)$")
JUDGEMENT = re.compile(r"[Bb]y (?:judgement|hand)|Assumed")


def constants(path):
    """(line, name, initializer, comments that speak of it)"""
    lines = path.read_text().split("\n")
    above, result = "", []
    previous_was_number = False
    for i, line in enumerate(lines):
        stripped = line.strip()
        if stripped.startswith("//"):
            said = stripped.lstrip("/ ")
            above = said if previous_was_number or not above else above + " " + said
            previous_was_number = False
            continue
        match = NUMBER.match(line)
        if not match:
            if not re.match(r"\s+\S", line) or not previous_was_number:
                above, previous_was_number = "", False
            continue
        text, j = line, i
        while ";" not in text and j + 1 < len(lines):
            j += 1
            text += " " + lines[j].strip()
        trailing = text.split("//", 1)[1] if "//" in text else ""
        result.append((i + 1, match[1], text.split("//")[0], trailing, above))
        previous_was_number = True
    return result


def violations(root):
    by_judgement = 0
    for path in [*sorted(root.glob("base/shares.h")), *sorted(root.glob("detector/**/*.[ch]*"))]:
        if "_test." in path.name or "testing" in path.parts:
            continue
        for line, name, text, trailing, above in constants(path):
            value = text.split("=", 1)[1]
            if PLAIN.search(value) or PLAIN.search(name) or not re.search(r"\d", re.sub(r"k[A-Z]\w*", "", value)):
                continue
            if not trailing and not above:
                yield f"{path.relative_to(root)}:{line}: {name} does not say where its value comes from"
            by_judgement += 1 if JUDGEMENT.search(trailing + above) else 0
    if by_judgement > MOST_BY_JUDGEMENT:
        yield f"{by_judgement} numbers of detector/ are chosen by judgement, more than {MOST_BY_JUDGEMENT}"


def main(root):
    found = list(violations(root))
    for violation in found:
        print(violation)
    if not found:
        print("constants: all say where they come from")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
