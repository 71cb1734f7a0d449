#!/usr/bin/env python3
"""A real job, agent and collector, of which the collector is killed (kill -9) while something is wrong: no incident is
lost, called over, or told twice; no alert is lost; no sample that was acknowledged is missing.

Usage: restart_test.py; under Bazel, or by hand with the binaries in bazel-bin
"""

import os
import pathlib
import signal
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from demo.stack import RANKS, metrics  # noqa: E402
from stack_case import StackCase  # noqa: E402

PATIENCE_SECONDS = 120
HOLDS_SECONDS = 8  # an incident whose cause is missed resolves after 3
STOPPED_RANK = 2  # what a slow rank costs depends on who else uses the machine; that one stands still does not


class RestartTest(StackCase):
    @classmethod
    def begin(cls):
        cls.stack.start_agent()
        cls.stack.start_job()

    def setUp(self):
        self.stack.wait_until("the job", self.job, PATIENCE_SECONDS)
        self.stack.wait_until("all ranks", lambda: len(self.stack.ranks()) == RANKS, PATIENCE_SECONDS)
        # Of a crowded machine the job may be slow or irregular by itself.
        self.stack.wait_until("a judged job", lambda: self.job()["state"] not in ("unknown", "hung"), PATIENCE_SECONDS)
        self.known = {i["id"] for i in self.stack.incidents()}
        self.heard = len(self.stack.alerts.received)

    def job(self):
        return next((j for j in self.stack.lockstep("jobs")["jobs"] if j["job"] == self.stack.job), None)

    def incidents(self):
        """Number and state of the incidents of this test. Of a crowded machine the host itself may be told as well."""
        return [(i["id"], i["state"]) for i in self.stack.incidents()
                if i["id"] not in self.known and i["verdict"]["scope"] == "machine"]

    def wait_for(self, *states):
        """Until there are incidents in these states and no others; their numbers as alerts write them."""
        def found():
            incidents = self.incidents()
            return [s for _, s in incidents] == list(states) and incidents

        return [str(n) for n, _ in self.stack.wait_until(f"incidents {states}", found, PATIENCE_SECONDS)]

    def told(self):
        """What the receiver heard, in order; what it heard as an update of the numbers counts once."""
        words = []
        for _, payload in self.stack.alerts.received[self.heard:]:
            word = (payload["groupLabels"]["incident_id"], payload["status"])
            if payload["commonLabels"]["scope"] == "machine" and words[-1:] != [word]:
                words.append(word)
        return words

    def heard_of(self, number):
        return sum(p["groupLabels"]["incident_id"] == number for _, p in self.stack.alerts.received)

    def wait_for_told(self, *words):
        self.stack.wait_until(f"alerts {words}", lambda: len(self.told()) >= len(words), PATIENCE_SECONDS)
        self.assertEqual(self.told(), list(words))

    def all_answers_are_noted(self):
        """Of this life of the collector, which has told something."""
        shown = metrics(self.stack.http_port)
        sent = shown.get('lockstep_collector_alerts_total{outcome="sent",receiver="webhook_url"}')
        return sent and shown["lockstep_collector_alerts_waiting"] == 0

    def restart(self):
        self.stack.stop("collector", signal.SIGKILL)
        time.sleep(1)
        self.stack.start_collector()

    def expect_open(self, number):
        """For longer than a cause that is missed leaves an incident open."""
        until = time.monotonic() + HOLDS_SECONDS
        while time.monotonic() < until:
            incidents = self.incidents()
            self.assertEqual([(str(n), state) for n, state in incidents], [(number, "open")], self.stack.incidents())
            time.sleep(0.5)

    def test_a_hang_stays_one_incident_and_every_change_is_told_once(self):
        pid = self.stack.ranks()[STOPPED_RANK]["pid"]
        os.kill(pid, signal.SIGSTOP)
        self.addCleanup(os.kill, pid, signal.SIGCONT)
        number, = self.wait_for("open")
        self.wait_for_told((number, "firing"))
        self.stack.text("ack", number, "--note", "somebody looks at it")
        acknowledgement = lambda: self.stack.lockstep("incidents", "show", number)["acknowledgement"]
        before = acknowledgement()
        self.assertEqual(before["note"], "somebody looks at it")
        self.restart()
        self.expect_open(number)
        self.assertEqual(self.told(), [(number, "firing")])
        self.assertEqual(acknowledgement(), before)

        self.stack.alerts.refuse(True)
        self.addCleanup(self.stack.alerts.refuse, False)
        os.kill(pid, signal.SIGCONT)
        self.wait_for("resolved")
        self.restart()
        self.assertEqual(self.told(), [(number, "firing")])
        self.stack.alerts.refuse(False)
        self.wait_for_told((number, "firing"), (number, "resolved"))
        *_, newest = (p for _, p in self.stack.alerts.received if p["groupLabels"]["incident_id"] == number)
        self.assertEqual(newest["commonAnnotations"]["acknowledgement_note"], before["note"])
        # A collector that dies before it has noted an answer tells once more, rather than never.
        self.stack.wait_until("every answer to be noted", self.all_answers_are_noted, PATIENCE_SECONDS)
        heard = self.heard_of(number)
        self.restart()
        time.sleep(HOLDS_SECONDS)
        self.assertEqual(self.heard_of(number), heard, "what it has taken it is not told again")

    def test_samples_that_were_acknowledged_are_in_history(self):
        query = f'host_memory_available_bytes{{host="{os.uname().nodename}"}}'

        def seconds():
            # A raster as fine as that has no two samples of one second in one step, however late the agent's tick was.
            series = self.stack.lockstep("history", query, "--since", "10m", "--step", "100ms")["series"]
            return sorted(p[0] / 1e9 for s in series for p in s["points"])

        before = self.stack.wait_until("samples of ten seconds", lambda: (s := seconds())[10:] and s, PATIENCE_SECONDS)
        for _ in range(2):
            self.restart()
            known = seconds()
            # The raster may begin anywhere in a step.
            lost = [s for s in before if not any(abs(s - k) < 0.2 for k in known)]
            self.assertEqual(lost, [], "the agent cannot have sent them again so soon")
        newest = before[-1]
        self.stack.wait_until("newer samples", lambda: max(seconds()) > newest + 5, PATIENCE_SECONDS)


if __name__ == "__main__":
    unittest.main(verbosity=2)
