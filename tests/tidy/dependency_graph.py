#!/usr/bin/env python3
"""Fails if a folder includes what the architecture forbids.

Bazel's visibility keeps targets apart; this test says the same in one table that a person can read, and also covers
system headers: the detector must stay pure, the recorder must stand alone.
"""

import pathlib
import re
import sys

# folder -> folders of ours it may include (its own is implied). The longest matching folder wins.
ALLOWED = {
    "base": [],
    "proto": [],
    "detector": ["base"],
    "daemon": ["base"],
    "agent": ["base", "proto", "daemon", "agent/recorder", "agent/profiles"],
    # Makes patterns of a trace where the trace is: it must not leave the machine.
    "agent/profiles": ["base", "proto", "agent", "detector", "formats"],
    "agent/recorder": [],
    "collector": ["base", "proto", "daemon", "detector", "collector/profiles"],
    # Compares the patterns that agents send, as the command line does.
    "collector/profiles": ["base", "proto", "detector", "collector", "formats"],
    "formats": ["base", "proto", "detector"],
    "cli": ["base", "proto", "daemon", "detector", "collector", "formats", "sim", "sim/second", "eval", "eval/live",
            "eval/metamorphic", "cli/doctor"],
    "eval": ["base", "detector", "sim", "sim/second"],
    # Plays to the collector's own conversion and pipeline, as agents do.
    "eval/live": ["base", "proto", "detector", "collector", "sim", "eval"],
    # Changes recordings row by row, and reads them again as files are read.
    "eval/metamorphic": ["base", "detector", "formats", "sim", "eval"],
    # `lockstep doctor` reads rings with the agent's own reader.
    "cli/doctor": ["base", "cli", "agent", "agent/recorder"],
    "sim": ["base", "proto", "detector", "formats"],
    "sim/second": ["base", "detector", "formats"],
    "tests/demo": ["base"],
}

# folder -> folders of ours that not even its tests may include: what is right in both simulators knows the habits of
# neither only as long as they share no code.
APART = {"sim": ["sim/second"], "sim/second": ["sim"]}

# room of detector/ -> rooms that it may include (its own is implied), bottom up. Tests and detector/testing may
# include all.
ROOMS = {
    "stats": [],
    "model": [],
    "verdict": ["model"],
    "hardware": ["model", "verdict"],
    "steps": ["stats", "model"],
    "sentinel": ["stats", "model"],
    "structure": ["stats", "verdict", "steps"],
    "slow": ["stats", "model", "verdict", "steps", "structure"],
    "network": ["stats", "model", "verdict", "steps", "structure"],
    "hang": ["model", "verdict", "hardware"],
    "counters": ["stats", "model", "verdict", "hardware"],
    "patterns": ["stats", "model", "verdict"],
    "engine": ["stats", "model", "verdict", "hardware", "steps", "sentinel", "structure", "slow", "network", "hang",
               "counters"],
}

# folder -> (pattern of included header, why not)
FORBIDDEN_HEADERS = {
    "detector": (r"<(thread|mutex|fstream|iostream|chrono|filesystem|random|ctime|unistd.h|sys/.*)>|\.pb\.h|grpc|rocksdb",
                 "detector/ is pure: no clock, thread, I/O, protobuf or global"),
    "agent/recorder": (r"absl/|grpc|google/|\.pb\.h|<iostream>|<thread>",
                       "the recorder lives in somebody's job: nothing but libc and the MPI it interposes"),
}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)


def rule_for(path, table):
    """The key of `table` that is the longest folder above `path`, or None."""
    folders = [str(p) for p in path.parents]
    return next((f for f in folders if f in table), None)


def room_of(path):
    """The room of a file of detector/, or None."""
    return path.parts[1] if path.parts[0] == "detector" and len(path.parts) > 2 else None


def is_test(path):
    return path.name.endswith(("_test.cc", "_bench.cc")) or "testing" in path.parts


def violations(root):
    for path in sorted(root.rglob("*")):
        if path.suffix not in (".h", ".cc") or any(p.startswith((".", "bazel-")) for p in path.parts[len(root.parts):]):
            continue
        relative = path.relative_to(root)
        folder = rule_for(relative, ALLOWED)
        if folder is None:
            continue
        text = path.read_text(encoding="utf-8")
        for kind, header in INCLUDE.findall(text):
            spelled = f"<{header}>" if kind == "<" else f'"{header}"'
            if not is_test(relative):
                purity = rule_for(relative, FORBIDDEN_HEADERS)
                if purity and re.search(FORBIDDEN_HEADERS[purity][0], spelled):
                    yield f"{relative}: includes {spelled}; {FORBIDDEN_HEADERS[purity][1]}"
            room, entered = room_of(relative), room_of(pathlib.PurePosixPath(header))
            if room and entered and room != entered and not is_test(relative) and entered not in ROOMS.get(room, []):
                yield f"{relative}: detector/{room} must not include {spelled}"
            target = rule_for(pathlib.PurePosixPath(header), ALLOWED)
            if kind == "<" or target is None or target == folder:
                continue
            is_apart = target in APART.get(folder, [])
            if is_apart or (target not in ALLOWED[folder] and not is_test(relative)):
                yield f"{relative}: {folder}/ must not include {spelled}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    found = list(violations(root))
    print("\n".join(found) or "dependency graph: as designed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
