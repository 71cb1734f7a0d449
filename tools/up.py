#!/usr/bin/env python3
"""`./dev up`: Lockstep on this machine, watching a real 4-process job that is really slowed and really stopped."""

import argparse
import os
import pathlib
import random
import signal
import socket
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from demo.scenario import Scenario, Verdict  # noqa: E402
from demo.stack import RANKS, ROOT, Stack, StackError  # noqa: E402

DEFAULT_PORTS = {"grpc_port": 7070, "http_port": 7071, "agent_port": 7072}


def free_or_any(port):
    """`port` if nobody listens on it, else 0: let the system choose."""
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
            return port
        except OSError:
            return 0


def default_patience():
    """Ranks that share a core slow each other down: what one of them does more is less of its time, and told later."""
    return max(1, RANKS / len(os.sched_getaffinity(0)))


def parse():
    parser = argparse.ArgumentParser(prog="./dev up", description=__doc__)
    parser.add_argument("--once", action="store_true",
                        help="end after the scenario; exit 0 only if both culprits and nobody else were named")
    parser.add_argument("--seed", type=int, default=random.randrange(1000), help="chooses the two ranks (default: random)")
    parser.add_argument("--healthy-seconds", type=float, default=10, help="length of the first healthy phase")
    parser.add_argument("--patience", type=float, default=default_patience(),
                        help="multiplies the time limits: for a machine that does other work as well (default: 1, or "
                             "ranks per core where there are fewer cores than ranks)")
    parser.add_argument("--binaries", type=pathlib.Path, default=ROOT / "bazel-bin", help=argparse.SUPPRESS)
    parser.add_argument("--state-directory", type=pathlib.Path, default=ROOT / ".lockstep", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    arguments = parse()
    slow_rank, stopped_rank = random.Random(arguments.seed).sample(range(RANKS), 2)
    print(f"seed {arguments.seed}: rank {slow_rank} will be slowed, rank {stopped_rank} will be stopped")
    if arguments.patience != 1:
        print(f"time limits are multiplied by {arguments.patience:g} (--patience)")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # A shell that starts us in the background has SIGINT ignored; Ctrl-C must work all the same.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    state = arguments.state_directory
    state.mkdir(parents=True, exist_ok=True)
    if arguments.once:
        state = tempfile.mkdtemp(prefix="once-", dir=state)
    ports = {} if arguments.once else {name: free_or_any(port) for name, port in DEFAULT_PORTS.items()}
    try:
        with Stack(state, arguments.binaries, **ports) as stack:
            stack.start_collector()
            stack.start_agent()
            print(f"collector: gRPC {stack.address}, metrics http://127.0.0.1:{stack.http_port}/metrics, logs in {state}")
            stack.start_job()
            scenario = Scenario(stack, slow_rank, stopped_rank, arguments.healthy_seconds, arguments.patience)
            scenario.run()
            if not arguments.once:
                stay_up(stack, scenario)
    except KeyboardInterrupt:
        return 0
    except (StackError, Verdict) as error:
        print(f"./dev up: {error}", file=sys.stderr)
        return 1
    return 0


def stay_up(stack, scenario):
    """Leaves everything running until Ctrl-C, so that a newcomer can look around."""
    print(f"""
Everything stays up until Ctrl-C. Have a look:
  bazel-bin/cli/lockstep --collector {stack.address} status
  bazel-bin/cli/lockstep --collector {stack.address} ranks {stack.job}
  bazel-bin/cli/lockstep --collector {stack.address} incidents
  bazel-bin/cli/lockstep --collector {stack.address} explain 1
  http://127.0.0.1:{stack.http_port}/metrics
Break it yourself:
  echo "3 2.0" > {stack.slow_file}     # rank 3 computes twice as much
  : > {stack.slow_file}                # healed
""", flush=True)
    while True:
        scenario.follow(3600)


if __name__ == "__main__":
    sys.exit(main())
