#!/usr/bin/env python3
"""Real collector, and `lockstep feed` playing recordings to it: what arrives there is what the files hold, and whom
the files would name is named while they are played.

Usage: feed_test.py; under Bazel, or by hand with the binaries in bazel-bin
"""

import collections
import csv
import json
import pathlib
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))

from demo.stack import BINARIES  # noqa: E402
from stack_case import StackCase  # noqa: E402

SLOW_RANK = 5
SPEED = 20
SPEED_TO_JUDGE = 4  # looks are a second apart, however quickly a job is played
PATIENCE_SECONDS = 30


def lockstep(*arguments):
    """Exit code, stdout and stderr."""
    done = subprocess.run([str(BINARIES / "cli/lockstep"), *map(str, arguments)], capture_output=True, text=True,
                          timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def simulate(directory, faults, steps=20):
    directory.mkdir()
    code, _, error = lockstep("sim", directory, "--gpus", 32, "--steps", steps, "--faults", faults)
    assert code == 0, error
    return directory / "ops.csv"


def collectives(path):
    """By rank: the highest sequence number of its collectives, enqueued and finished, added up over communicators."""
    enqueued, finished = collections.defaultdict(dict), collections.defaultdict(dict)
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if row["op"] in ("Send", "Recv"):
                continue
            of_rank, sequence = int(row["rank"]), int(row["seq"])
            enqueued[of_rank][row["comm"]] = max(sequence, enqueued[of_rank].get(row["comm"], 0))
            if row["end_ns"]:
                finished[of_rank][row["comm"]] = max(sequence, finished[of_rank].get(row["comm"], 0))
    return {r: (sum(enqueued[r].values()), sum(finished[r].values())) for r in enqueued}


class FeedTest(StackCase):
    def feed(self, path, job, *more, speed=SPEED):
        """Plays `path` and returns the summary, in which nothing may be missing."""
        code, out, error = lockstep("-o", "json", "feed", path, "--to", self.stack.address, "--job", job,
                                    "--speed", speed, *more)
        self.assertEqual(code, 0, error)
        self.assertEqual(error, "")  # progress is for terminals
        summary = json.loads(out)
        self.assertEqual(summary["job"], job)
        self.assertEqual(summary["stored"], summary["reports"])
        self.assertEqual(summary["dropped"], 0)
        self.assertEqual(summary["streams_ended_early"], 0)
        return summary

    def job(self, name):
        return next((j for j in self.stack.lockstep("jobs")["jobs"] if j["job"] == name), None)

    def progress(self, job):
        """By rank: enqueued, finished; nothing while the job is not known yet."""
        if self.job(job) is None:
            return {}
        return {r["rank"]: (r["enqueued"], r["finished"]) for r in self.stack.lockstep("ranks", job)["ranks"]}

    def wait_for_end(self, job, expected):
        """Until all that is in the files has been seen, and the job has ended."""
        self.stack.wait_until(f"all progress of {job}", lambda: self.progress(job) == expected, PATIENCE_SECONDS)
        self.stack.wait_until(f"{job} to end", lambda: self.job(job)["state"] == "ended", PATIENCE_SECONDS)

    def test_a_slow_job_arrives_whole_and_its_slow_rank_is_named(self):
        steps = 48
        path = simulate(self.place / "slow", f"compute_slow:{SLOW_RANK}@12*1.0", steps)
        summary = self.feed(path, "slow", speed=SPEED_TO_JUDGE)
        self.assertEqual((summary["ranks"], summary["hosts"]), (32, 4))
        self.assertEqual(summary["reports"], summary["seconds"] * summary["hosts"])
        expected = collectives(path)
        self.wait_for_end("slow", expected)
        job = self.job("slow")
        self.assertEqual((job["ranks"], job["world_size"], job["hosts"]), (32, 32, 4))
        self.assertTrue(steps // 2 <= job["steps"] <= steps, job["steps"])
        verdicts = [i["verdict"] for i in self.stack.lockstep("incidents")["incidents"] if i["job"] == "slow"]
        self.assertEqual(self.stack.incidents(), [], "those of other jobs are no part of a run of `./dev up`")
        accused = [[c["rank"] for c in v["culprits"]] for v in verdicts if v["scope"] in ("machine", "network")]
        self.assertEqual(accused, [[SLOW_RANK]], verdicts)
        states = {r["process_state"] for r in self.stack.lockstep("ranks", "slow")["ranks"]}
        self.assertEqual(states, {"finalized"})

        # What the collector received of it, played once more, is the same job again.
        capture = self.place / "slow.lockcap"
        self.stack.text("--output", "json", "capture", "slow", "-o", str(capture))
        summary = self.feed(capture, "again")
        self.assertEqual((summary["ranks"], summary["hosts"]), (32, 4))
        self.wait_for_end("again", expected)

    def test_what_is_in_flight_at_the_end_stays_in_flight(self):
        path = simulate(self.place / "hung", "hang_not_entered:9@5", steps=8)
        expected = collectives(path)
        self.assertTrue(any(enqueued > finished for enqueued, finished in expected.values()))
        self.feed(path, "hung")
        self.stack.wait_until("all progress to be seen", lambda: self.progress("hung") == expected, PATIENCE_SECONDS)
        self.assertNotEqual(self.job("hung")["state"], "ended")
        states = {r["process_state"] for r in self.stack.lockstep("ranks", "hung")["ranks"]}
        self.assertNotIn("finalized", states)

    def test_machines_of_which_only_counters_tell_arrive_and_a_lost_link_is_named(self):
        seconds, lost_at = 30, 15
        loads = {"m0": [1 + second / 8 for second in range(seconds)], "m1": [9.5] * seconds}
        path = self.place / "metrics.csv"
        with open(path, "w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(("time_ms", "job", "host", "device", "metric", "value"))
            for second in range(seconds):
                for host, load in loads.items():
                    now_ms = 1_760_000_000_000 + 1000 * second
                    rows.writerow((now_ms, "machines", host, "", "host_load1", load[second]))
                    lost = int(host == "m1" and second >= lost_at)
                    rows.writerow((now_ms, "machines", host, "mlx5_0/1", "ib_link_downed_total", lost))
        summary = self.feed(path, "machines", "--format", "metrics-csv", speed=3)
        self.assertEqual((summary["ranks"], summary["hosts"]), (0, 2))
        self.assertEqual(summary["reports"], summary["seconds"] * summary["hosts"])

        def accused():
            verdicts = [i["verdict"] for i in self.stack.lockstep("incidents")["incidents"]]
            return [(v["class"], c["host"], c["device"]) for v in verdicts for c in v["culprits"] if c["host"] in loads]
        self.stack.wait_until("the lost link to be named", accused, PATIENCE_SECONDS)
        self.assertEqual(accused(), [("link_slow", "m1", "mlx5_0/1")])

        def arrived(host):
            query = f'host_load1{{host="{host}"}}'
            series = self.stack.lockstep("history", query, "--since", "5m", "--step", "100ms")["series"]
            return [p[1] for s in series for p in s["points"]]
        for host, load in loads.items():
            self.stack.wait_until("all samples", lambda h=host: len(arrived(h)) >= seconds, PATIENCE_SECONDS)
            self.assertEqual(arrived(host), load)

    def test_hosts_that_report_already_are_not_cut_off(self):
        path = simulate(self.place / "busy", "", steps=4)
        command = ["feed", path, "--to", self.stack.address, "--job", "first", "--speed", 1]
        with subprocess.Popen([str(BINARIES / "cli/lockstep"), *map(str, command)], stdout=subprocess.PIPE) as first:
            self.stack.wait_until("the first agents to report", lambda: self.job("first") is not None, PATIENCE_SECONDS)
            code, _, error = lockstep("feed", path, "--to", self.stack.address, "--job", "second", "--speed", SPEED)
            self.assertEqual(code, 2, error)
            self.assertIn("--host-prefix", error)
            self.feed(path, "third", "--host-prefix", "other-")
            hosts = {r["host"] for r in self.stack.lockstep("ranks", "third")["ranks"]}
            self.assertTrue(hosts and all(host.startswith("other-") for host in hosts), hosts)
            first.communicate(timeout=60)
            self.assertEqual(first.returncode, 0)

    def test_a_second_simulated_feed_of_the_same_seed_says_why_nothing_is_stored(self):
        def play(seed, steps):
            return lockstep("sim", "--feed", self.stack.address, "--gpus", 8, "--steps", steps, "--speed", 100,
                            "--job", "seeded", "--seed", seed)
        code, _, error = play(77, steps=2)
        self.assertEqual(code, 0, error)
        self.assertRegex(error, r"\b([1-9]\d*) reports sent, \1 stored")
        code, _, error = play(77, steps=2)
        self.assertEqual(code, 2, error)
        self.assertRegex(error, r"\b([1-9]\d*) reports sent, 0 stored")
        self.assertRegex(error, r"the collector had ([1-9]\d*) of \1 reports already.*another --seed")
        # Of a longer one the rest is stored: a feed goes on after the collector was killed.
        code, _, error = play(77, steps=20)
        self.assertEqual(code, 0, error)
        self.assertRegex(error, r"reports sent, [1-9]\d* stored")
        self.assertIn("reports already", error)
        self.assertEqual(play(78, steps=2)[0], 0)

    def test_errors_are_one_line_and_an_exit_code(self):
        path = simulate(self.place / "small", "", steps=2)
        for expected, arguments in ((4, (path, "--to", "127.0.0.1:1")),
                                    (3, (self.place / "absent.csv", "--to", self.stack.address)),
                                    (2, (path, "--to", self.stack.address, "--speed", 0))):
            code, out, error = lockstep("feed", *arguments)
            self.assertEqual(code, expected, error)
            self.assertEqual(out, "")
            self.assertRegex(error, r"\Alockstep: [^\n]+\n\Z")


if __name__ == "__main__":
    unittest.main()
