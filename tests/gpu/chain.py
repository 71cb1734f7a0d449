"""Collector, agent and command line on a machine with a GPU, watching a real training job (train.py) that is really slowed,
stopped and broken.

    chain.py BINARIES RECORDER RESULTS [RANKS]

BINARIES: a folder made by bundle.sh. RECORDER: the NCCL recorder. RESULTS: a folder for what Lockstep printed, which this
makes. Called by run.sh; see there. Prints one JSON object per figure, what was wrong, and PASSED or FAILED.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tools"))

from demo.stack import Stack, StackError  # noqa: E402
from drive import environment, figure, SEPARATE_HOSTS  # noqa: E402
from shared_gpu import shared_gpu  # noqa: E402

PORT = 29_411
START_LIMIT_SECONDS = 120
HEALTHY_SECONDS, CALM_SECONDS = 25, 5
NAMED_LIMIT_SECONDS = 45
RESOLVED_LIMIT_SECONDS = 60
STACKS_LIMIT_SECONDS = 20
STACKS_OF = 3  # a culprit and two victims
SLOW_RANK, SLOW_FACTOR, STOPPED_RANK, FAULT_RANK = 2, 1.6, 1, 3
HANGS = ("hang_not_entered", "hang_in_communication")
# What NVML has to have told of a GPU that computes, and what of it nvidia-smi says as well.
GPU_METRICS = ("gpu_utilization_ratio", "gpu_memory_used_bytes", "gpu_temperature_celsius", "gpu_power_watts",
               "gpu_sm_clock_hertz", "gpu_energy_joules_total", "gpu_processes", "gpu_clock_event_reasons")
SAME_AS_SMI = {"gpu_memory_total_bytes": ("memory.total", 2**20), "gpu_power_limit_watts": ("enforced.power.limit", 1),
               "gpu_pcie_link_width_max": ("pcie.link.width.max", 1)}


class Chain:
    """The pieces, the job, and what was complained about so far. `results`: where texts are kept."""

    def __init__(self, stack, recorder, results, ranks, sharing):
        self.stack, self.recorder, self.results, self.world, self.sharing = stack, recorder, results, ranks, sharing
        self.control = stack.state / "control"
        self.port = PORT if sharing else PORT + 1
        self.complaints = []
        self.expected = set()  # ids of incidents about what was planted
        self.pids = {}

    def start(self, *of_agent):
        self.stack.start_collector()
        self.stack.start_agent(*of_agent)
        for rank in range(self.world):
            variables = environment(rank, self.world, self.port, self.recorder, self.stack.rings,
                                    dict(SEPARATE_HOSTS, NCCL_DEBUG="INFO", **self.sharing))
            variables["LOCKSTEP_JOB_ID"] = self.stack.job
            child = self.stack.start(f"rank{rank}", [sys.executable, HERE / "train.py", self.control], **variables)
            self.pids[rank] = child.pid
        self.stack.wait_until("the job", self.job, START_LIMIT_SECONDS)
        self.stack.wait_until("all ranks", lambda: len(self.stack.ranks()) == self.world, START_LIMIT_SECONDS)
        self.stack.wait_until("the job to be called healthy", lambda: self.job().get("state") == "healthy",
                              START_LIMIT_SECONDS)

    def job(self):
        return next((j for j in self.stack.lockstep("jobs").get("jobs", []) if j["job"] == self.stack.job), {})

    def plan(self, **plan):
        temporary = self.control.with_suffix(".new")
        temporary.write_text(json.dumps(plan), encoding="utf-8")
        temporary.rename(self.control)

    def keep(self, name, *arguments):
        """Saves what the command line prints."""
        try:
            text = self.stack.text(*arguments)
        except StackError as error:
            text = f"{error}\n"
        (self.results / name).write_text(text, encoding="utf-8")

    def accusations(self):
        """Of the job: what its machine went through before is an incident of the host."""
        return [i for i in self.stack.incidents()
                if i.get("job") == self.stack.job and i["verdict"].get("culprits") and i["id"] not in self.expected]

    def stay_healthy(self, seconds, when):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.stack.check_alive()
            time.sleep(0.5)
        for incident in self.accusations():
            self.complaints.append(f"{when}: {incident['verdict']['class']} of {incident['verdict']['culprits']}")
            self.expected.add(incident["id"])  # said once

    def named(self, what, rank, classes, first=()):
        """Waits until an incident names exactly this rank as one of `classes`; it may begin as one of `first`, which
        name its GPU."""
        begin = time.monotonic()
        while time.monotonic() - begin < NAMED_LIMIT_SECONDS:
            for incident in self.accusations():
                verdict = incident["verdict"]
                culprits = [(c.get("rank", 0), c.get("pid", 0)) for c in verdict["culprits"]]
                if verdict["class"] in first and [c.get("gpu", 0) for c in verdict["culprits"]] == [0]:
                    self.keep(f"{what}.first.txt", "explain", str(incident["id"]))
                    continue
                self.expected.add(incident["id"])
                self.keep(f"{what}.explain.txt", "explain", str(incident["id"]))
                if verdict["class"] in classes and culprits == [(rank, self.pids[rank])]:
                    figure(f"gpu_{what}_named_seconds", round(time.monotonic() - begin, 1), "s")
                    return
                self.complaints.append(f"{what}: {verdict['class']} of {culprits}, not {classes} of rank {rank}")
            time.sleep(0.2)
        self.complaints.append(f"{what}: rank {rank} was not named within {NAMED_LIMIT_SECONDS} s")

    def resolved(self, what):
        begin = time.monotonic()
        while time.monotonic() - begin < RESOLVED_LIMIT_SECONDS:
            if all(i["state"].upper().endswith("RESOLVED") for i in self.stack.incidents() if i["id"] in self.expected):
                figure(f"gpu_{what}_resolved_seconds", round(time.monotonic() - begin, 1), "s")
                return
            time.sleep(0.5)
        self.complaints.append(f"{what}: not resolved {RESOLVED_LIMIT_SECONDS} s after it was healed")

    def check_dump(self):
        """Who looks at a rank while it runs finds it in main() of train.py."""
        begin = time.monotonic()
        folded = self.stack.text("dump", self.stack.job, "-o", "folded")
        figure("gpu_dump_seconds", round(time.monotonic() - begin, 1), "s")
        (self.results / "dump.folded.txt").write_text(folded, encoding="utf-8")
        self.keep("dump.txt", "dump", self.stack.job)
        self.keep("dump.svg", "dump", self.stack.job, "-o", "svg")
        self.check_frames("dump", folded, range(self.world))

    def check_frames(self, what, folded, ranks):
        for rank in ranks:
            lines = [line for line in folded.splitlines() if line.startswith(f"rank {rank};")]
            if not any("main (train.py:" in line for line in lines):
                self.complaints.append(f"{what}: no stack of rank {rank} is in main of train.py: {lines[:2]}")

    def stacks_were_taken(self, what, rank):
        """By themselves, of the rank that is named and of those that wait for it."""
        (incident,) = [i for i in self.stack.incidents() if i["id"] in self.expected and i["verdict"]["class"] in HANGS]
        begin = time.monotonic()

        def kept():
            try:
                return self.stack.text("incidents", "show", str(incident["id"]), "--stacks", "folded")
            except StackError:
                return None

        try:
            folded = self.stack.wait_until("stacks", kept, STACKS_LIMIT_SECONDS, every=0.5)
        except StackError as error:
            self.complaints.append(f"{what}: {error}")
            return
        figure(f"gpu_{what}_stacks_seconds", round(time.monotonic() - begin, 1), "s")
        (self.results / f"{what}.stacks.txt").write_text(folded, encoding="utf-8")
        of = [r for r in range(self.world) if f"rank {r};" in folded]
        if rank not in of or len(of) < min(STACKS_OF, self.world):
            self.complaints.append(f"{what}: stacks of ranks {of}, not of {rank} and two that wait")
        self.check_frames(what, folded, of)

    def check_gpu_names(self):
        """Every rank is on the GPU that nvidia-smi lists under this index."""
        uuid, address = smi("uuid"), smi("pci.bus_id")
        for rank, told in self.stack.ranks().items():
            found = (told.get("gpu", 0), told.get("gpu_uuid"), (told.get("gpu_pci_address") or "").lower()[-12:])
            if found != (0, uuid, address.lower()[-12:]):
                self.complaints.append(f"rank {rank}: on GPU {found}, nvidia-smi says 0, {uuid}, {address}")

    def check_counters(self):
        told = {}
        for metric in GPU_METRICS + tuple(SAME_AS_SMI):
            series = self.stack.lockstep("history", metric + '{device=~"*"}', "--since", "30s").get("series", [])
            values = [value for one in series for _, value in one["points"]]
            told[metric] = values[-1] if values else None
            if not values:
                self.complaints.append(f"counters: nothing of {metric}")
        for metric, (field, unit) in SAME_AS_SMI.items():
            if told[metric] is not None and abs(told[metric] - float(smi(field)) * unit) > 0.01 * told[metric]:
                self.complaints.append(f"counters: {metric} is {told[metric]}, nvidia-smi says {smi(field)}")
        print(json.dumps({"counters": told}), flush=True)

    def look_around(self):
        self.check_gpu_names()
        self.check_counters()
        self.check_dump()
        for name, command in (("status", ["status"]), ("jobs", ["jobs"]), ("hosts", ["hosts"]),
                              ("ranks", ["ranks", self.stack.job]), ("ranks.json", ["-o", "json", "ranks", self.stack.job]),
                              ("doctor", ["doctor", "--all"])):
            self.keep(f"{name}.txt", *command)
        agent = self.stack.state / "agent.log"
        (self.results / "agent.log").write_bytes(agent.read_bytes())

    def slow(self):
        self.plan(slow_rank=SLOW_RANK, factor=SLOW_FACTOR)
        self.named("slow", SLOW_RANK, ("compute_slow", "host_slow"))
        self.keep("slow.jobs.txt", "jobs")
        self.plan()
        self.resolved("slow")
        self.stay_healthy(CALM_SECONDS, "after the slow rank")

    def stop_one(self):
        os.kill(self.pids[STOPPED_RANK], signal.SIGSTOP)
        self.named("stop", STOPPED_RANK, HANGS)
        self.stacks_were_taken("stop", STOPPED_RANK)
        os.kill(self.pids[STOPPED_RANK], signal.SIGCONT)
        self.resolved("stop")
        self.stay_healthy(CALM_SECONDS, "after the stopped rank")

    def fault(self):
        """A wild write on the GPU: an Xid, then the death of one rank, then of all."""
        for rank in range(self.world):
            self.stack.expect_end(f"rank{rank}")
        self.plan(fault_rank=FAULT_RANK)
        self.named("fault", FAULT_RANK, ("process_dead",), first=("gpu_fault",))
        self.keep("fault.incidents.txt", "incidents")
        self.keep("fault.incidents.json.txt", "-o", "json", "incidents")
        self.keep("fault.jobs.txt", "jobs")
        if "Xid" not in json.dumps(self.stack.incidents()):
            self.complaints.append("fault: no incident speaks of an Xid")

    def be_healthy(self):
        self.stay_healthy(HEALTHY_SECONDS, "healthy")
        figure("gpu_job_step_seconds", self.job().get("step_seconds_median", 0), "s")


def smi(field):
    done = subprocess.run(["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader,nounits", "--id=0"],
                          capture_output=True, text=True, check=True)
    return done.stdout.strip()


def watch(name, stack, arguments, ranks, sharing, planted):
    """Runs a job under Lockstep and plants things in it; complaints. What was printed and logged is kept."""
    recorder, results = arguments
    results = results / name
    results.mkdir(parents=True)
    chain = Chain(stack, recorder, results, ranks, sharing)
    try:
        chain.start()
        for plant in planted:
            plant(chain)
        chain.keep("capture.txt", "capture", stack.job, "-o", str(results / "gpu.lockcap"))
    except StackError as error:
        chain.complaints.append(str(error))
    chain.keep("incidents.txt", "incidents")
    for rank in range(ranks):
        stack.stop(f"rank{rank}", signal.SIGKILL)
    for log in stack.state.glob("*.log"):
        (results / log.name).write_bytes(log.read_bytes()[-200_000:])
    return [f"{name}: {text}" for text in chain.complaints]


def main():
    binaries, recorder, results = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    ranks = int(sys.argv[4]) if len(sys.argv) > 4 else 4
    complaints = []
    with tempfile.TemporaryDirectory(prefix="lockstep-chain-") as folder:
        with shared_gpu(folder, ranks) as sharing, Stack(f"{folder}/beside", binaries) as stack:
            complaints += watch("beside", stack, (recorder, results), ranks, sharing,
                                (Chain.be_healthy, Chain.look_around, Chain.slow, Chain.stop_one))
        # By turns: a wild write ends all processes that share a GPU through MPS.
        with Stack(f"{folder}/turns", binaries) as stack:
            complaints += watch("turns", stack, (recorder, results), ranks, {}, (Chain.be_healthy, Chain.fault))
    print("\n".join(f"FAILED: {text}" for text in complaints) or "PASSED: the whole chain")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
