#!/usr/bin/env python3
"""What durability costs: how long an agent waits for its acknowledgement from a collector that syncs to a disk, and from
one whose history is in memory, where a sync costs nothing.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="accepted for uniformity; output is always JSON lines")
    parser.add_argument("--collector", type=pathlib.Path, help="the binary to measure; default: as built")
    parser.add_argument("--disk", default=tempfile.gettempdir(), help="a folder on the disk to measure")
    arguments = parser.parse_args()
    root = pathlib.Path(sys.argv[0] + ".runfiles").absolute() / "lockstep"
    sys.path.insert(0, str(root / "tools/demo"))
    from stack import Stack  # pylint: disable=import-outside-toplevel

    # Memory first and last: what else the machine does shows as a difference of these.
    for name, place in (("ack_memory", "/dev/shm"), ("ack_disk", arguments.disk), ("ack_memory_again", "/dev/shm")):
        with tempfile.TemporaryDirectory(dir=place) as state, Stack(state, binaries=root) as stack:
            stack.start_collector(arguments.collector)
            subprocess.run([root / "tests/bench/ack_latency", stack.address, name], check=True)


if __name__ == "__main__":
    main()
