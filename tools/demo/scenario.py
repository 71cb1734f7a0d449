"""Break a running job on purpose and check what Lockstep says: who, how soon, and that nobody else is accused."""

import os
import signal
import time

ACCUSING_SCOPES = ("machine", "network", "software")
PLANTED_SCOPES = ("machine", "network")  # of what the run itself breaks


class Verdict(Exception):
    """The scenario failed; the message says what was expected and what came."""


class Narrator:
    """Prints lines with the seconds since the start, and every incident transition that the collector reports."""

    def __init__(self, stack, out=print):
        self._stack, self._out, self._begin = stack, out, time.monotonic()
        self._told = {}

    def say(self, text):
        self._out(f"[{time.monotonic() - self._begin:6.1f} s] {text}", flush=True)

    def incidents(self):
        """Asks for all incidents, tells what is new about them, returns them."""
        found = self._stack.incidents()
        for incident in sorted(found, key=lambda i: int(i["id"])):
            seen = self._told.get(incident["id"])
            now = (incident["state"], incident.get("reopened", 0))
            if seen != now:
                self._told[incident["id"]] = now
                self._tell(incident, first=seen is None)
        return found

    def _tell(self, incident, first):
        verdict = incident["verdict"]
        if incident["state"].upper().endswith("RESOLVED"):
            self.say(f"RESOLVED incident {incident['id']}: {verdict['class']}")
            return
        self.say(f"{'OPENED' if first else 'REOPENED'} incident {incident['id']}: {verdict['class']} "
                 f"({verdict['scope']}): {' and '.join(describe(c) for c in verdict.get('culprits', []))}")
        for evidence in verdict.get("evidence", []):
            self.say(f"    {evidence['text']}")


def describe(culprit):
    """Host, rank and pid of a culprit as a person would say it."""
    parts = [f"host {culprit.get('host', '?')}"]
    if culprit.get("rank", 0) >= 0:
        parts.insert(0, f"rank {culprit.get('rank', 0)}")
    if culprit.get("pid"):
        parts.append(f"pid {culprit['pid']}")
    return ", ".join(parts)


class Scenario:
    """healthy -> one rank slowed -> healed -> another rank stopped -> continued."""

    SLOW_FACTOR = 1.5
    SLOW_LIMIT_SECONDS = 15
    STOP_LIMIT_SECONDS = 10
    RESOLVE_LIMIT_SECONDS = 20

    def __init__(self, stack, slow_rank, stopped_rank, healthy_seconds=10, patience=1):
        self._stack, self._healthy_seconds, self._patience = stack, healthy_seconds, patience
        self._slow_rank, self._stopped_rank = slow_rank, stopped_rank
        self._narrator = Narrator(stack)
        self._expected = {}  # incident id -> what it was about

    def run(self):
        self._discover()
        self._stay_healthy(self._healthy_seconds)
        self._slow()
        self._stay_healthy(2)
        self._stop()
        self._stay_healthy(2)
        self._check_alerts()
        self._narrator.say("both culprits were named, nobody else was accused")

    def follow(self, seconds):
        """Tells what happens without breaking anything."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._stack.check_alive()
            self._accusations()
            time.sleep(0.5)

    # The acts

    def _discover(self):
        say, stack = self._narrator.say, self._stack
        say(f"waiting for the collector to see job {stack.job}")
        stack.wait_until("the job to be discovered", lambda: self._job(), 20)
        stack.wait_until("all ranks", lambda: len(stack.ranks()) == 4, 20)
        say("job discovered: " + "; ".join(describe(r) for _, r in sorted(stack.ranks().items())))
        stack.wait_until("the job to be called healthy", lambda: self._job().get("state") == "healthy", 20)

    def _stay_healthy(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._stack.check_alive()
            if self._accusations():
                raise Verdict(f"an accusation in a healthy phase: {self._accusations()}")
            time.sleep(0.25)
        job = self._job()
        self._narrator.say(f"job is {job.get('state')}: {job.get('steps_per_second', 0):.1f} steps/s, "
                           f"median step {1000 * job.get('step_seconds_median', 0):.1f} ms")

    def _slow(self):
        rank = self._slow_rank
        self._narrator.say(f">>> rank {rank} now computes {self.SLOW_FACTOR} times as much per step")
        self._stack.slow_down(rank, self.SLOW_FACTOR)
        self._expect(rank, ("compute_slow", "host_slow"), self._patience * self.SLOW_LIMIT_SECONDS)
        self._narrator.say(f">>> rank {rank} is healed")
        self._stack.heal()
        self._expect_resolved()

    def _stop(self):
        rank = self._stopped_rank
        pid = self._stack.ranks()[rank]["pid"]
        self._narrator.say(f">>> rank {rank} (pid {pid}) is stopped with SIGSTOP")
        os.kill(pid, signal.SIGSTOP)
        try:
            self._expect(rank, ("hang_not_entered", "hang_in_communication"), self._patience * self.STOP_LIMIT_SECONDS)
        finally:
            self._narrator.say(f">>> rank {rank} is continued")
            os.kill(pid, signal.SIGCONT)
        self._expect_resolved()

    # The judge

    def _expect(self, rank, classes, limit_seconds):
        """Waits for the one incident that blames `rank`; any other accusation fails at once."""
        begin = time.monotonic()
        pid = self._stack.ranks()[rank]["pid"]
        while time.monotonic() - begin < limit_seconds:
            self._stack.check_alive()
            for incident in self._accusations():
                verdict = incident["verdict"]
                culprits = [(c.get("rank", 0), c.get("pid", 0)) for c in verdict.get("culprits", [])]
                if verdict["class"] not in classes or culprits != [(rank, pid)]:
                    raise Verdict(f"expected rank {rank} (pid {pid}) as {' or '.join(classes)}, "
                                  f"got {verdict['class']} of {culprits}")
                self._expected[incident["id"]] = verdict["class"]
                self._narrator.say(f"named {time.monotonic() - begin:.1f} s after onset (limit {limit_seconds:g} s)")
                self._explain(incident["id"])
                return
            time.sleep(0.2)
        raise Verdict(f"rank {rank} was not named within {limit_seconds:g} s; on a machine that is busy or slow, "
                      "a larger --patience waits for longer")

    def _expect_resolved(self):
        begin = time.monotonic()

        def all_resolved():
            if self._accusations():
                raise Verdict("an accusation while the job recovers")
            return all(i["state"].upper().endswith("RESOLVED") for i in self._narrator.incidents()
                       if i["id"] in self._expected)

        self._stack.wait_until("the incident to resolve", all_resolved, self._patience * self.RESOLVE_LIMIT_SECONDS, every=0.25)
        self._narrator.say(f"resolved {time.monotonic() - begin:.1f} s after healing")

    def _explain(self, incident_id):
        for line in self._stack.text("explain", str(incident_id)).splitlines():
            self._narrator.say(f"    | {line}")

    def _check_alerts(self):
        """Every accusation must have been announced and called off through the webhook."""
        def statuses():
            found = {}
            for _, payload in self._stack.alerts.received:
                # What blames no machine was not planted and may hold on: ranks that stall by turns, a job that changed.
                for alert in (a for a in payload["alerts"] if a["labels"]["scope"] in PLANTED_SCOPES):
                    found.setdefault(alert["labels"]["class"], []).append(alert["status"])
            return found

        def complete():
            return all(s[0] == "firing" and s[-1] == "resolved" for s in statuses().values()) and (
                set(statuses()) >= set(self._expected.values()))

        self._stack.wait_until("the alerts to arrive", complete, self._patience * 10)
        self._narrator.say(f"alerts delivered to the webhook: {statuses()}")

    def _accusations(self):
        """Open or past incidents that name somebody and were not expected. That ranks stall by turns, as they do where
        they share too few cores, is true and names nobody."""
        return [i for i in self._narrator.incidents()
                if i["verdict"]["scope"] in ACCUSING_SCOPES and i["verdict"].get("culprits")
                and i["id"] not in self._expected]

    def _job(self):
        jobs = {j["job"]: j for j in self._stack.lockstep("jobs").get("jobs", [])}
        return jobs.get(self._stack.job)
