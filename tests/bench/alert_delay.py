#!/usr/bin/env python3
"""From an incident to the alert: how long after a real collector, with its history on disk, says that an incident began
or ended a receiver on loopback has the message. Simulated jobs are played to it, each with a rank that is slow for a while.
"""

import argparse
import datetime
import json
import pathlib
import subprocess
import sys
import tempfile
import time


def delay_ms(wall, payload):
    """Of a message that came at `wall`, since what it tells of; None for an update."""
    alert = payload["alerts"][0]
    told = alert["endsAt"] if payload["status"] == "resolved" else alert["startsAt"]
    then = datetime.datetime.fromisoformat(told.replace("Z", "+00:00")).timestamp()
    return 1e3 * (wall - then)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="accepted for uniformity; output is always JSON lines")
    parser.add_argument("--jobs", type=int, default=12, help="played, one after the other")
    arguments = parser.parse_args()
    root = pathlib.Path(sys.argv[0] + ".runfiles").absolute() / "lockstep"
    sys.path.insert(0, str(root / "tools/demo"))
    from stack import Stack  # pylint: disable=import-outside-toplevel

    with tempfile.TemporaryDirectory() as state, Stack(state, binaries=root) as stack:
        stack.start_collector()
        offset = time.time() - time.monotonic()
        for number in range(1, arguments.jobs + 1):  # one after the other: all have the same hosts
            played = subprocess.run(
                [root / "cli/lockstep", "sim", "--feed", stack.address, "--speed", "4", "--gpus", "64", "--dimensions", "1",
                 "--steps", "90", "--seed", str(number), "--job", f"job-{number}", "--faults", "compute_slow:17@2*0.5/50"],
                stdout=subprocess.DEVNULL, check=False)
            if played.returncode != 0:
                sys.exit("a job could not be played")
        turns = {}  # first message of each begin and end, by incident and its turn
        for at, payload in list(stack.alerts.received):
            alert = payload["alerts"][0]
            key = (payload["groupLabels"]["incident_id"], payload["status"], alert["startsAt"], alert["endsAt"])
            turns.setdefault(key, delay_ms(at + offset, payload))
        delays = sorted(turns.values())
        if not delays:
            sys.exit("no incident was told")
        at = lambda share: round(delays[min(int(share * len(delays)), len(delays) - 1)], 1)
        for name, value, unit in (("alert_delay/transitions", len(delays), "1"), ("alert_delay/p50", at(0.5), "ms"),
                                  ("alert_delay/p95", at(0.95), "ms"), ("alert_delay/max", round(delays[-1], 1), "ms")):
            print(json.dumps({"name": name, "value": value, "unit": unit}), flush=True)


if __name__ == "__main__":
    main()
