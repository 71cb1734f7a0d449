#!/usr/bin/python3
"""How fast real traces of PyTorch's profiler become patterns, in how much memory, and how large these are.

    ./dev bench trace_speed TRACE... [--megabytes 1030]

Prints the bytes that the patterns of each TRACE (.json or .json.gz) have as JSON. The largest TRACE is then made so
large, by repeating its events, each time later by its length, and is read three times, as it is and as gzip: CPU time,
rate over the text, and peak memory of `lockstep patterns`. The large file goes into the temporary folder, and away.
"""

import argparse
import gzip
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

TIMES = 3


def read(path):
    data = pathlib.Path(path).read_bytes()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)


def repeat(source, size, path):
    """Writes the large trace; prints how many bytes of text and events that are."""
    trace = read(source)
    opening = gzip.open if path.suffix == ".gz" else open
    with opening(path, "wt") as out:
        print(*write(trace, size, out))


def write(trace, size, out):
    events = trace.pop("traceEvents")
    timed = [event for event in events if "ts" in event]
    length = max(e["ts"] + e.get("dur", 0) for e in timed) - min(e["ts"] for e in timed) + 1
    head = json.dumps(trace)[:-1]
    written = out.write(head + (", " if trace else "") + '"traceEvents": [')
    count = 0
    while written < size:
        for event in events:
            if "ts" in event and count >= len(events):
                event["ts"] += length
            written += out.write((",\n" if count else "") + json.dumps(event))
            count += 1
    return written + out.write("]}\n"), count


def use_of(command):
    """CPU seconds and peak bytes of a command."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command}: status {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def show(name, value, unit):
    print(json.dumps({"name": f"trace_speed/{name}", "value": value, "unit": unit}), flush=True)


def main():
    if sys.argv[1:2] == ["--repeat"]:
        repeat(sys.argv[2], int(sys.argv[3]), pathlib.Path(sys.argv[4]))
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="accepted for uniformity; output is always JSON lines")
    parser.add_argument("traces", nargs="+", type=pathlib.Path)
    parser.add_argument("--megabytes", type=float, default=1030)
    arguments = parser.parse_args()
    lockstep = pathlib.Path(sys.argv[0] + ".runfiles").absolute() / "lockstep/cli/lockstep"
    sizes = []
    for trace in arguments.traces:
        told = subprocess.run([lockstep, "-o", "json", "patterns", trace], capture_output=True, check=True)
        sizes.append(len(told.stdout))
        show(f"patterns/{trace.name}", sizes[-1], "bytes")
    show("patterns/median", statistics.median(sizes), "bytes")
    show("patterns/largest", max(sizes), "bytes")
    largest = max(arguments.traces, key=lambda path: path.stat().st_size)
    with tempfile.TemporaryDirectory(prefix="lockstep-trace-") as directory:
        plain, packed = pathlib.Path(directory, "large.json"), pathlib.Path(directory, "large.json.gz")
        for path, megabytes in ((plain, arguments.megabytes), (packed, arguments.megabytes / 4)):
            # In a process of its own: what this one takes would count for all that it starts.
            done = subprocess.run([sys.executable, __file__, "--repeat", largest, str(int(megabytes * 1e6)), path],
                                  capture_output=True, text=True, check=True)
            written, events = map(int, done.stdout.split())
            uses = [use_of([lockstep, "patterns", path]) for _ in range(TIMES)]
            seconds, peak = min(uses)[0], max(memory for _, memory in uses)
            for name, value, unit in (("events", events, "1"), ("text", written, "bytes"),
                                      ("file", path.stat().st_size, "bytes"), ("cpu", round(seconds, 2), "s"),
                                      ("rate", round(written / 1e6 / seconds), "MB/s"), ("peak", peak, "bytes")):
                show(f"{path.name}/{name}", value, unit)


if __name__ == "__main__":
    main()
