#!/usr/bin/env python3
"""Real collector and agent: who sends raw bytes to the port of agents, or asks for more history than anybody can take,
holds up no report, and the memory of the collector stays bounded.

Usage: hostile_port_test.py; under Bazel, or by hand with the binaries in bazel-bin
"""

import concurrent.futures
import pathlib
import random
import socket
import struct
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from demo.stack import free_port, metrics  # noqa: E402
from stack_case import StackCase  # noqa: E402

PATIENCE_SECONDS = 60
ACKS = 5  # reports, one a second, of which the agent has to hear while it lasts
# What a client may begin a connection with, and how it may go on.
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags, stream, payload):
    """Of HTTP/2."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


DATA, HEADERS, SETTINGS = 0, 1, 4
END_HEADERS = 4
# Of a call of gRPC: POST, http, its path and its content type.
CALL = (b"\x83\x86\x44\x1b/lockstep.wire.Ingest/Stream"
        b"\x40\x0ccontent-type\x10application/grpc")
BEGUN = PREFACE + frame(SETTINGS, 0, 0, b"")
BEGINNINGS = {
    "nothing of HTTP": b"",
    "a preface": PREFACE,
    "settings": BEGUN,
    "a frame as long as can be said": BEGUN + b"\xff\xff\xff" + bytes([DATA, 0]) + struct.pack(">I", 1),
    "a call whose message says that it has 4 GiB": BEGUN + frame(HEADERS, END_HEADERS, 1, CALL)
                                                   + frame(DATA, 0, 1, b"\x00\xff\xff\xff\xff" + bytes(64)),
}
CONNECTIONS = 20
GARBAGE_BYTES = 4096
GARBAGE_MEMORY = 32 << 20  # gRPC gives a connection a few hundred KiB of buffers

# 1,024 series of 1,000 samples, played in ten seconds: more than fits into one answer, many times.
HOSTS, DEVICES, SAMPLES, SPEED = 16, 64, 1000, 100
QUERY = ('gpu_power_watts{host=~"much-*"}', "--since", "1m", "--step", "6ms", "--points")
ASKERS = 8
ANSWER_BYTES = 7 << 20  # kMaxAnswerBytes
# An answer is made, serialized and kept by gRPC until it is sent.
QUERY_MEMORY = 3 * ASKERS * ANSWER_BYTES


class HostilePortTest(StackCase):
    @classmethod
    def prepare(cls):
        cls.stack.agent_port = free_port()

    @classmethod
    def begin(cls):
        cls.stack.start_agent()

    def setUp(self):
        self.stack.wait_until("acks", lambda: self.acked() > 0, PATIENCE_SECONDS)

    def agent(self, metric):
        try:
            return metrics(self.stack.agent_port).get(metric, 0)
        except OSError:
            return 0

    def acked(self):
        return self.agent("lockstep_agent_reports_acked_total")

    def expect_acks_to_go_on(self):
        before = self.acked()
        self.stack.wait_until("more acks", lambda: self.acked() >= before + ACKS, PATIENCE_SECONDS)

    def test_raw_bytes_on_the_port_of_agents(self):
        chance = random.Random(17)
        connections, memory = self.agent("lockstep_agent_connections_total"), self.stack.memory("collector")
        held = []
        for number in range(CONNECTIONS):
            beginning = list(BEGINNINGS.values())[number % len(BEGINNINGS)]
            client = socket.create_connection(("127.0.0.1", self.stack.grpc_port), timeout=PATIENCE_SECONDS)
            self.addCleanup(client.close)
            try:
                client.sendall(beginning + chance.randbytes(GARBAGE_BYTES))
            except OSError:
                continue  # the collector has hung up: that is its answer
            held.append(client)
        self.assertTrue(held)
        self.expect_acks_to_go_on()
        self.assertEqual(self.agent("lockstep_agent_connections_total"), connections, "the agent was disconnected")
        self.assertTrue(self.stack.lockstep("status"))
        self.assertLess(self.stack.memory("collector") - memory, GARBAGE_MEMORY)

    def test_many_who_ask_for_more_history_than_one_answer_holds(self):
        recording = self.place / "metrics.csv"
        with open(recording, "w") as file:
            file.write("time_ms,job,host,device,metric,value\n")
            for second in range(SAMPLES):
                for host in range(HOSTS):
                    for device in range(DEVICES):
                        file.write(f"{1000 * second},much,much-{host},gpu{device},gpu_power_watts,{second % 97}\n")
        self.stack.text("feed", recording, "--to", self.stack.address, "--job", "much", "--speed", SPEED)
        memory = peak = self.stack.memory("collector")

        with concurrent.futures.ThreadPoolExecutor(ASKERS) as pool:
            asked = {pool.submit(self.stack.text, "history", *QUERY) for _ in range(ASKERS)}
            self.expect_acks_to_go_on()
            asking = asked
            while asking:
                peak = max(peak, self.stack.memory("collector"))
                asking = concurrent.futures.wait(asking, timeout=0.05).not_done
        for one in asked:
            self.assertGreater(len(one.result()), ANSWER_BYTES)
        self.expect_acks_to_go_on()
        self.assertLess(peak - memory, QUERY_MEMORY)


if __name__ == "__main__":
    sys.exit(unittest.main())
