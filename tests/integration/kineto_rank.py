#!/usr/bin/python3
"""A rank as python_rank.py, which besides speaks what a PyTorch with KINETO_USE_DAEMON=1 speaks: it registers with the daemon
of its machine, asks it for orders, and writes the trace that it is told to. In the trace of SLOW_RANK the data loader takes
half of each step.

Usage: kineto_rank.py FILE SLOW_RANK
"""

import json
import os
import pathlib
import socket
import struct
import sys
import threading
import time

import python_rank

DAEMON = "\0dynolog\0"
HEADER = struct.Struct("<Q32s")
ACTIVITIES = 2
POLL_SECONDS = 0.5
STEP, STEPS = 100_000, 5  # microseconds
LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


def message(kind, body):
    return HEADER.pack(len(body), kind) + body


def ask(link, kind, body):
    """The body of the answer; empty while there is no daemon."""
    try:
        link.sendto(message(kind, body), DAEMON)
        return link.recv(4096)[HEADER.size:]
    except OSError:
        return b""


def trace(rank, is_slow):
    loader = STEP // 2 if is_slow else STEP // 100
    events = []

    def add(category, name, begin, duration, thread):
        events.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": thread, "ts": begin, "dur": duration,
                       "args": {"stream": thread}})

    for step in range(STEPS):
        begin, end = step * STEP, (step + 1) * STEP
        computed = begin + loader + STEP * 4 // 10
        add("user_annotation", f"ProfilerStep#{step}", begin, STEP, 1)
        add("user_annotation", LOADER, begin, loader, 1)
        add("kernel", "sm90_gemm", begin + loader, STEP * 4 // 10, 7)
        add("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", computed, end - computed, 8)
    return {"distributedInfo": {"rank": rank}, "traceEvents": events}


def serve(rank, is_slow):
    """For ever: what the thread of Kineto does."""
    link = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    link.bind(f"\0kineto-rank-{os.getpid()}-{rank}")
    link.settimeout(5)
    ask(link, b"ctxt", struct.pack("<iiq", rank, os.getpid(), 0))
    while True:
        order = ask(link, b"req", struct.pack("<iiqi", ACTIVITIES, 1, 0, os.getpid())).decode()
        for line in order.splitlines():
            if line.startswith("ACTIVITIES_LOG_FILE="):
                pathlib.Path(line.split("=", 1)[1]).write_text(json.dumps(trace(rank, is_slow)), encoding="utf-8")
        time.sleep(POLL_SECONDS)


def main():
    rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
    threading.Thread(target=serve, args=(rank, rank == int(sys.argv[2])), daemon=True).start()
    python_rank.main()


if __name__ == "__main__":
    main()
