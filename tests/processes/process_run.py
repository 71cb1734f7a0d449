"""One run of real processes under troubles that follow from a seed: two agents with spools, a collector, a receiver of
alerts, and a job of eight ranks of which now and then one stands still.

Each fault is held until its alert was heard, and its end until that was heard; troubles come all the while. From outside
it has to hold: every report of every life of every agent is in history, once; each fault is one incident about the rank
that stood still; the receiver hears each transition once, in order; nobody else is accused; memory stays within limits;
and everything ends in order.
"""

import dataclasses
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from demo.stack import Stack, StackError, metrics  # noqa: E402
from network_proxy import NetworkProxy  # noqa: E402

HOSTS = ("node-1", "node-2")
RANKS = 8
WRITTEN_SECONDS = 0.2  # after a tick its report is in the spool: a thread writes it, which wants a processor
HEARD_SECONDS = 90  # by then a transition has been told, whatever the troubles
CROSSED_OFF_SECONDS = 1  # after a receiver has taken an alert, history has forgotten that it had to be told
MOST_MEGABYTES = {"collector": 400, "agent": 100}

# Kind, whether it is about one of the hosts, and the longest it lasts: a host that is silent for 8 s is a finding.
TROUBLES = (
    ("kill_collector", False, 3.0),
    ("restart_collector", False, 1.0),
    ("stop_collector", False, 4.0),
    ("kill_agent", True, 2.0),
    ("restart_agent", True, 1.0),
    ("kill_agent_cut_off", True, 2.0),
    ("stop_agent", True, 3.0),
    ("cut", True, 3.0),
    ("silent", True, 3.0),
    ("slow", True, 6.0),
    ("receiver_refuses", False, 6.0),
    ("receiver_hangs", False, 6.0),
)


@dataclasses.dataclass
class Life:
    """Of an agent, from its start to its end."""

    incarnation: str
    port: str
    ticks: int = 0  # that it had made at least when it was ended: each is a report

    def metric(self, name):
        return int(metrics(self.port)[f"lockstep_agent_{name}"])

    def count_ticks(self):
        self.ticks = self.metric("ticks_total")

    def has_delivered(self):
        """What was made before. In an orderly end an agent that is connected delivers the rest."""
        return self.metric("connected") == 1 and self.metric("outbox_former_reports") == 0


class ProcessRun:
    """`violations` are the lines that say what was wrong; `trace` what happened, with seconds since the begin."""

    def __init__(self, seed, directory, faults, only="", sabotage=""):
        self._random = random.Random(seed)
        self._stack = Stack(directory)
        self._faults, self._sabotage = faults, sabotage
        self._troubles = [t for t in TROUBLES if only in ("", t[0])]
        self._job = f"processes-{seed}"
        self._seed = seed
        self._began = time.monotonic()
        self._peak_megabytes = {"collector": 0, "agent": 0}
        self._lives = {host: [] for host in HOSTS}
        self._collector_ends = []  # when, and by which signal
        self._proxies = {}
        self._is_over = threading.Event()
        self.violations, self.trace = [], []
        self.transitions = 0
        self.troubles = 0

    def run(self):
        try:
            self._start()
            # Children die with the thread that started them: this one does so, the other one only breaks the job.
            faults = threading.Thread(target=self._make_faults)
            faults.start()
            try:
                self._make_troubles()
            finally:
                self._is_over.set()
                faults.join()
            self._come_to_rest()
            self._check_reports()
            self._check_alerts()
            self._check_memory()
        except StackError as error:
            self._wrong("processes", str(error))
        finally:
            self._close()
        return self.violations

    def _wrong(self, checker, text):
        self.violations.append(f"WRONG {checker}: {text}")
        self._note(f"WRONG {checker}: {text}")

    def _note(self, text):
        self.trace.append(f"{time.monotonic() - self._began:6.1f} {text}")

    # Processes

    def _start(self):
        self._stack.start_collector()
        for host in HOSTS:
            (self._stack.rings / host).mkdir()
            self._proxies[host] = NetworkProxy(lambda: self._stack.grpc_port)
            self._start_agent(host)
        self._ranks = self._stack.start(
            "ranks", [self._stack.binaries / "tests/processes/ring_job", "--job", self._job, "--seed", self._seed,
                      "--directories", ",".join(str(self._stack.rings / host) for host in HOSTS)],
            stdin=subprocess.PIPE)
        self._stack.wait_until("all ranks", lambda: len(self._known_ranks()) == RANKS, 60, every=0.5)

    def _known_ranks(self):
        try:
            return self._stack.lockstep("ranks", self._job).get("ranks", [])
        except StackError:  # the job is not known yet
            return []

    def _start_agent(self, host):
        state = self._stack.state / host
        state.mkdir(exist_ok=True)
        self._stack.start(host, [
            self._stack.binaries / "agent/lockstep-agent", f"--collector-address=127.0.0.1:{self._proxies[host].port}",
            f"--host-name={host}", f"--ring-directory={self._stack.rings / host}", f"--state-directory={state}",
            f"--spool-directory={state / 'spool'}", "--listen-address=127.0.0.1:0", "--nvml-library=none", "--nccl-ras-address=",
            "--tick=500ms"])
        # Before it says so a signal ends it as any other program.
        started = self._stack.wait_until(f"{host} to say that it has started", lambda: self._newest_start(host), 20)
        self._lives[host].append(Life(*started))

    def _newest_start(self, host):
        """Incarnation and port of the agent that said last that it has started; None if we know that one."""
        log = (self._stack.state / f"{host}.log").read_text(errors="replace")
        starts = re.findall(r'msg="agent started".* http_port=(\d+) incarnation=(\d+)', log)
        return (starts[-1][1], starts[-1][0]) if len(starts) > len(self._lives[host]) else None

    def _stop(self, name, how):
        """Ends it and returns its code; in an orderly end it has 15 s."""
        self._look_at_memory(name)
        if name in HOSTS:
            self._lives[name][-1].count_ticks()
            time.sleep(WRITTEN_SECONDS)
        return self._stack.stop(name, how)

    def _look_at_memory(self, name):
        kind = "collector" if name == "collector" else "agent"
        peak = self._stack.memory(name, "VmHWM") / (1 << 20)
        self._peak_megabytes[kind] = max(self._peak_megabytes[kind], peak)

    def _close(self):
        for name in ("ranks", *HOSTS, "collector"):
            self._stack.stop(name)
        for proxy in self._proxies.values():
            proxy.close()
        self._stack.close()

    # Troubles

    def _make_troubles(self):
        """One at a time; what it breaks is whole again when it is over."""
        while not self._is_over.wait(self._random.uniform(0.5, 4)):
            kind, is_of_host, longest = self._random.choice(self._troubles)
            host = self._random.choice(HOSTS) if is_of_host else ""
            seconds = self._random.uniform(0.1, longest)
            self._note(f"{kind} {host} for {seconds:.1f} s".replace("  ", " "))
            self.troubles += 1
            getattr(self, f"_{kind}")(*([host] if is_of_host else []), seconds)

    def _kill_collector(self, seconds):
        self._end_collector(signal.SIGKILL, seconds)

    def _restart_collector(self, seconds):
        self._end_collector(signal.SIGTERM, seconds)

    def _end_collector(self, how, seconds):
        code = self._stop("collector", how)
        self._collector_ends.append((time.monotonic(), how))
        if how == signal.SIGTERM and code != 0:
            self._wrong("collector", f"an orderly end has code {code}")
        if self._sabotage == "history":
            shutil.rmtree(self._stack.state / "history")
            self._sabotage = ""
        time.sleep(seconds)
        self._stack.start_collector()

    def _stop_collector(self, seconds):
        self._freeze("collector", seconds)

    def _kill_agent(self, host, seconds):
        self._end_agent(host, signal.SIGKILL, seconds)

    def _restart_agent(self, host, seconds):
        self._end_agent(host, signal.SIGTERM, seconds)

    def _kill_agent_cut_off(self, host, seconds):
        """What it has to say by then is nowhere but in its spool."""
        self._proxies[host].state = "cut"
        time.sleep(seconds)
        self._end_agent(host, signal.SIGKILL, 0)
        self._proxies[host].state = "open"

    def _end_agent(self, host, how, seconds):
        code = self._stop(host, how)
        if how == signal.SIGTERM and code != 0:
            self._wrong("agent", f"an orderly end of {host} has code {code}")
        if self._sabotage == "spool":
            shutil.rmtree(self._stack.state / host / "spool")
        time.sleep(seconds)
        self._start_agent(host)

    def _stop_agent(self, host, seconds):
        self._freeze(host, seconds)

    def _freeze(self, name, seconds):
        pid = self._stack.pid(name)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(pid, signal.SIGCONT)

    def _cut(self, host, seconds):
        self._disturb(host, "cut", seconds)

    def _silent(self, host, seconds):
        self._disturb(host, "silent", seconds)

    def _slow(self, host, seconds):
        self._disturb(host, "slow", seconds)

    def _disturb(self, host, how, seconds):
        self._proxies[host].state = how
        time.sleep(seconds)
        self._proxies[host].state = "open"

    def _receiver_refuses(self, seconds):
        self._stack.alerts.refuse(True)
        time.sleep(seconds)
        self._stack.alerts.refuse(False)

    def _receiver_hangs(self, seconds):
        self._stack.alerts.hang(True)
        time.sleep(seconds)
        self._stack.alerts.hang(False)

    # Faults

    def _order(self, text):
        self._ranks.stdin.write(text.encode() + b"\n")
        self._ranks.stdin.flush()

    def _make_faults(self):
        """One after the other, whatever troubles there are; when they are over, no further troubles come."""
        chance = random.Random(self._seed + 1)
        # A rank that stands still soon again opens its incident again: each fault is of a rank of its own.
        for number, rank in enumerate(chance.sample(range(RANKS), self._faults)):
            if self._is_over.wait(chance.uniform(1, 4)):
                return
            self._note(f"rank {rank} stands still")
            self._order(f"stop {rank}")
            if not self._hear(2 * number + 1):
                break
            self._expect_rank(rank)
            self._is_over.wait(chance.uniform(0, 3))
            self._note(f"rank {rank} goes on")
            self._order("go")
            if not self._hear(2 * number + 2):
                break
        self._is_over.set()

    def _hear(self, count):
        """Waits until the receiver heard of so many transitions."""
        deadline = time.monotonic() + HEARD_SECONDS
        while len(self._told()) < count:
            if self._is_over.wait(0.1):
                return False
            if time.monotonic() > deadline:
                self._wrong("alerts", f"after {HEARD_SECONDS} s the receiver heard only {self._told()}")
                return False
        self._note(f"heard {self._told()[-1]}")
        return True

    def _told(self):
        """Transitions in the order in which the receiver heard of them; news about one that is open are none."""
        heard = []
        for _, payload in list(self._stack.alerts.received):
            word = (payload["groupLabels"]["incident_id"], payload["status"])
            if heard[-1:] != [word] or word[1] == "resolved":
                heard.append(word)
        return heard

    def _expect_rank(self, rank):
        summary = self._stack.alerts.received[-1][1]["commonAnnotations"]["summary"]
        if not summary.startswith(f"hang_not_entered on {HOSTS[rank * len(HOSTS) // RANKS]} rank {rank} "):
            self._wrong("culprit", f"rank {rank} stands still, told was: {summary}")

    # What has to hold

    def _come_to_rest(self):
        self._stack.check_alive()
        self._note("rest")
        self._ranks.stdin.close()
        self._stack.expect_end("ranks").wait(10)
        for host in HOSTS:
            self._stack.wait_until(f"{host} to deliver", self._lives[host][-1].has_delivered, 60)
            code = self._stop(host, signal.SIGTERM)
            if code != 0:
                self._wrong("agent", f"the end of {host} has code {code}")

    def _capture(self, job):
        """The file with what history has of it; there is none if it has nothing."""
        path = self._stack.state / f"of-{job}.lockcap"
        try:
            self._stack.text("capture", job, "-o", path)
        except StackError as error:
            if "no job called" not in str(error):
                raise
        return path

    def _check_reports(self):
        captures = [c for c in (self._capture(""), self._capture(self._job)) if c.exists()]
        if not captures:
            self._wrong("history", "has no reports at all")
            return
        tally = subprocess.run([self._stack.binaries / "tests/processes/capture_tally", *captures], check=True,
                               capture_output=True, text=True)
        stored = {life["incarnation"]: life for life in map(json.loads, tally.stdout.splitlines())}
        for life in stored.values():
            if life["first"] != 1 or life["missing"] or life["doubled"] or life["dropped"]:
                self._wrong("history", f"is not what was reported: {life}")
        for host, lives in self._lives.items():
            for life in lives:
                last = stored.pop(life.incarnation, {"last": 0})["last"]
                if last < life.ticks:
                    self._wrong("history", f"of {life.ticks} reports of an agent of {host} it has {last}")
        for life in stored.values():
            self._wrong("history", f"has an agent that never was: {life}")

    def _check_alerts(self):
        told = self._told()
        self.transitions = len(told)
        if told != [(number, status) for number in dict(told) for status in ("firing", "resolved")]:
            self._wrong("alerts", f"are not one begin and one end of each: {told}")
        if len(told) != 2 * self._faults:
            self._wrong("alerts", f"{self._faults} faults, {told}")
        self._check_repeats()
        known = {str(i["id"]): i["state"] for i in self._stack.lockstep("incidents", "list")["incidents"]}
        if known != {number: "resolved" for number, _ in told}:
            self._wrong("incidents", f"known are {known}, told was {told}")

    def _check_repeats(self):
        """What was taken is told again word for word only by a later life: one that could not know, or, of an incident
        that is open, one that has found nothing newer."""
        received = list(self._stack.alerts.received)
        for later, (again_at, payload) in enumerate(received):
            for first_at, _ in (r for r in received[:later] if r[1] == payload):
                ends = [(at, how) for at, how in self._collector_ends if first_at <= at <= again_at]
                could_not_know = any(how == signal.SIGKILL and at - first_at < CROSSED_OFF_SECONDS for at, how in ends)
                if not could_not_know and not (ends and payload["status"] == "firing"):
                    self._wrong("alerts", f"the same {payload['status']} of {payload['groupLabels']['incident_id']} "
                                          f"came {again_at - first_at:.1f} s after it was taken")

    def _check_memory(self):
        self._look_at_memory("collector")
        code = self._stop("collector", signal.SIGTERM)
        if code != 0:
            self._wrong("collector", f"the end has code {code}")
        for kind, peak in self._peak_megabytes.items():
            if peak > MOST_MEGABYTES[kind]:
                self._wrong("memory", f"{kind} took {peak:.0f} MB, more than {MOST_MEGABYTES[kind]}")
