#!/usr/bin/env python3
"""Real jobs that end in every way: a rank that is killed, crashes or ends with an exit code, with a launcher that ends
the others or one that cannot, a user who stops them all, and an end in order. A job that dies has one incident with one
alert, which names the first death and how; the others do not.

Usage: death_test.py; under Bazel, or by hand with the binaries in bazel-bin
"""

import os
import pathlib
import signal
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from demo.stack import RANKS  # noqa: E402
from stack_case import StackCase  # noqa: E402

PATIENCE_SECONDS = 120
HOLDS_SECONDS = 8  # an incident whose cause is missed resolves after 3
HANGS = ("process_dead", "hang_not_entered", "hang_in_communication", "gpu_fault", "machine_unreachable")


# As ProcessEnd's sources: since 6.15 everybody is told, before that who hears the process connector.
INITIAL_PID_NAMESPACE = "pid:[4026531836]"
KERNEL_TELLS = tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 15) or (
    os.geteuid() == 0 and os.readlink("/proc/self/ns/pid") == INITIAL_PID_NAMESPACE)


@unittest.skipUnless(KERNEL_TELLS, "this kernel does not tell how processes end that their parent has reaped")
class DeathTest(StackCase):
    @classmethod
    def begin(cls):
        cls.stack.start_agent()

    def setUp(self):
        self.stack.job = self.id().rsplit(".", 1)[-1]
        self.heard = len(self.stack.alerts.received)

    def start(self, *arguments):
        """A job whose ranks have been through some steps; their pids by rank."""
        self.stack.start_job(*arguments)
        self.addCleanup(self.stack.stop, "job")
        self.stack.wait_until("all ranks", lambda: len(self.living()) == RANKS, PATIENCE_SECONDS)
        self.stack.wait_until("steps", lambda: all(r["finished"] > 40 for r in self.living().values()), PATIENCE_SECONDS)
        return {rank: row["pid"] for rank, row in self.stack.ranks().items()}

    def living(self):
        if self.job()["state"] == "none":
            return {}
        return {n: r for n, r in self.stack.ranks().items() if r["process_state"] in ("running", "uninterruptible")}

    def job(self):
        return next((j for j in self.stack.lockstep("jobs")["jobs"] if j["job"] == self.stack.job), {"state": "none"})

    def wait_for_state(self, *states):
        self.stack.wait_until(f"state {states}", lambda: self.job()["state"] in states, PATIENCE_SECONDS)
        return self.job()

    def of_the_end(self):
        """Incidents of this job that a death may open. Of a crowded machine the host itself may be told as slow."""
        return [i for i in self.stack.incidents() if i["job"] == self.stack.job and i["verdict"]["class"] in HANGS]

    def firing(self, number):
        return [p for _, p in self.stack.alerts.received[self.heard:]
                if p["groupLabels"]["incident_id"] == str(number) and p["status"] == "firing"]

    def expect_one_death(self, rank, pid, how, scope):
        incidents = self.stack.wait_until("an incident", self.of_the_end, PATIENCE_SECONDS)
        self.wait_for_state("failed")
        until = time.monotonic() + HOLDS_SECONDS
        while time.monotonic() < until:
            incidents = self.of_the_end()
            self.assertEqual([i["state"] for i in incidents], ["open"], incidents)
            time.sleep(0.5)
        verdict = incidents[0]["verdict"]
        self.assertEqual(verdict["class"], "process_dead")
        self.assertEqual(verdict["scope"], scope, verdict)
        self.assertEqual([(c["rank"], c["pid"]) for c in verdict["culprits"]], [(rank, pid)])
        text = "\n".join(e["text"] for e in verdict["evidence"])
        self.assertIn(f"rank {rank} (host {os.uname().nodename}), pid {pid} was the first to end: it {how}", text)
        self.assertRegex(text, rf"rank {rank} (recorded is|had called) AllReduce \d+")
        job = self.job()
        self.assertEqual(job["state"], "failed")
        self.assertIn(f"The job died: rank {rank} ", job["note"])
        number = incidents[0]["id"]
        self.stack.wait_until("the alert", lambda: self.firing(number), PATIENCE_SECONDS)
        opened = {p["groupLabels"]["incident_id"] for _, p in self.stack.alerts.received[self.heard:]
                  if p["commonLabels"]["job"] == self.stack.job and p["commonLabels"]["class"] in HANGS}
        self.assertEqual(opened, {str(number)}, "one alert")
        return number, text

    def expect_no_death(self, *states):
        job = self.wait_for_state(*states)
        time.sleep(HOLDS_SECONDS / 2)
        self.assertEqual(self.of_the_end(), [])
        return job

    def test_a_rank_that_is_killed_takes_the_others_with_it(self):
        pids = self.start()
        self.stack.expect_end("job")
        os.kill(pids[2], signal.SIGKILL)
        _, text = self.expect_one_death(2, pids[2], "was ended by SIGKILL (signal 9)", "machine")
        self.assertRegex(text, r"3 others of 4 ranks ended .*: they followed, and are not to blame")
        ends = {rank: row["end"] for rank, row in self.stack.ranks().items()}
        self.assertEqual(ends.pop(2), "SIGKILL")
        self.assertEqual(set(ends.values()), {"SIGTERM"}, "as the launcher ends those who are left")
        self.assertIn("gone (SIGKILL)", self.stack.text("ranks", self.stack.job))

    def test_an_exit_code_is_the_programs_own_fault(self):
        pids = self.start("--fail-code", "3")
        self.stack.expect_end("job")
        os.kill(pids[1], signal.SIGUSR1)
        self.expect_one_death(1, pids[1], "ended with exit code 3", "software")

    def test_a_crash_is_named_with_its_signal_and_ends_with_the_next_life_of_the_job(self):
        pids = self.start()
        self.stack.expect_end("job")
        os.kill(pids[3], signal.SIGSEGV)
        number, _ = self.expect_one_death(3, pids[3], "was ended by SIGSEGV (signal 11", "software")
        self.start()
        over = self.stack.wait_until("the incident to end", lambda: next(
            (i for i in self.of_the_end() if i["id"] == number and i["state"] == "resolved"), None), PATIENCE_SECONDS)
        self.assertEqual(over["resolution"], "job_died", "nobody has seen the cause go")
        self.assertIn("started again", over["transitions"][-1]["why"])
        self.assertIn("job died", self.stack.text("incidents", "--job", self.stack.job))

    def test_a_death_while_the_launcher_cannot_end_the_others_stays_one_incident(self):
        pids = self.start()
        launcher = self.stack.expect_end("job")
        os.kill(launcher.pid, signal.SIGSTOP)
        self.addCleanup(launcher.kill)
        os.kill(pids[0], signal.SIGKILL)
        incidents = self.stack.wait_until("an incident", self.of_the_end, PATIENCE_SECONDS)
        time.sleep(HOLDS_SECONDS / 2)
        self.assertEqual(len(self.living()), RANKS - 1, "they hang")
        os.kill(launcher.pid, signal.SIGCONT)
        number, _ = self.expect_one_death(0, pids[0], "was ended by SIGKILL (signal 9)", "machine")
        self.assertEqual(number, incidents[0]["id"])

    def test_a_hang_of_which_the_job_dies_stays_one_incident(self):
        pids = self.start()
        self.stack.expect_end("job")
        os.kill(pids[2], signal.SIGSTOP)
        number = self.stack.wait_until("an incident", self.of_the_end, PATIENCE_SECONDS)[0]["id"]
        time.sleep(2)
        os.kill(pids[1], signal.SIGABRT)
        self.wait_for_state("failed")
        time.sleep(HOLDS_SECONDS)
        incidents = self.of_the_end()
        self.assertEqual([(i["id"], i["state"]) for i in incidents], [(number, "open")], incidents)
        self.assertEqual([c["rank"] for c in incidents[0]["verdict"]["culprits"]], [2])
        text = "\n".join(e["text"] for e in incidents[0]["verdict"]["evidence"])
        self.assertIn("The job died while this held it up", text)
        self.assertIn("SIGABRT", text)

    def test_a_user_who_stops_all_ranks_accuses_nobody(self):
        pids = self.start()
        self.stack.expect_end("job")
        for pid in pids.values():
            os.kill(pid, signal.SIGTERM)
        job = self.expect_no_death("stopped")
        self.assertIn("SIGTERM", job["note"])
        self.assertIn("from outside", job["note"])

    def test_an_end_in_order_is_one(self):
        self.start("--seconds", "15")
        self.stack.expect_end("job")
        job = self.expect_no_death("ended")
        self.assertEqual(job["note"], "All ranks have ended.")
        self.assertEqual({r["process_state"] for r in self.stack.ranks().values()}, {"finalized"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
