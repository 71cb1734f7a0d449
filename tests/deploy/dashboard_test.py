#!/usr/bin/python3
"""Every query of the Grafana dashboard returns data from a real Prometheus that scrapes a live collector and agent
with the shipped scrape configuration, and every alerting rule evaluates."""

import json
import math
import shutil
import subprocess
import sys
import time
import unittest
import urllib.parse
import urllib.request

import yaml

from live_stack import live_stack
from places import ROOT

from demo.stack import free_port

PATIENCE_SECONDS = 60
# What Grafana would put in the place of its variables.
VARIABLES = {"$__rate_interval": "10s", "$job": ".*"}


def panel_queries():
    """(panel title, query) of every target."""
    dashboard = json.loads((ROOT / "deploy/grafana/lockstep.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            query = target["expr"]
            for name, value in VARIABLES.items():
                query = query.replace(name, value)
            yield panel["title"], query


class Prometheus:
    """Debian's Prometheus on a free port, with the shipped configuration pointed at `targets` by job name."""

    def __init__(self, directory, targets):
        self.address = f"127.0.0.1:{free_port()}"
        config = yaml.safe_load((ROOT / "deploy/prometheus/scrape.yaml").read_text())
        config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        config["rule_files"] = [str(ROOT / "deploy/prometheus/rules.yaml")]
        for scrape in config["scrape_configs"]:
            scrape["static_configs"] = [{"targets": [targets[scrape["job_name"]]]}]
        (directory / "prometheus.yaml").write_text(yaml.safe_dump(config))
        self._log = open(directory / "prometheus.log", "wb")
        self._child = subprocess.Popen(
            ["prometheus", f"--config.file={directory / 'prometheus.yaml'}", f"--storage.tsdb.path={directory / 'tsdb'}",
             f"--web.listen-address={self.address}"], stdout=self._log, stderr=subprocess.STDOUT)

    def get(self, path, **parameters):
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=10) as response:
            return json.load(response)["data"]

    def has_data(self, query):
        try:
            samples = self.get("query", query=query)["result"]
        except OSError:  # not listening yet
            return False
        return any(not math.isnan(float(sample["value"][1])) for sample in samples)

    def close(self):
        self._child.terminate()
        self._child.wait(20)
        self._log.close()


class DashboardTest(unittest.TestCase):
    def setUp(self):
        self.assertTrue(shutil.which("prometheus"), "prometheus is missing: apt-get install prometheus")

    def test_dashboard_is_well_formed(self):
        dashboard = json.loads((ROOT / "deploy/grafana/lockstep.json").read_text())
        identifiers = [p["id"] for p in dashboard["panels"]]
        self.assertEqual(len(identifiers), len(set(identifiers)))
        for panel in dashboard["panels"]:
            if panel["type"] != "row":
                self.assertTrue(panel["targets"] and panel["description"], panel["title"])

    def test_every_panel_has_data_and_every_rule_evaluates(self):
        waiting = list(panel_queries())
        self.assertGreater(len(waiting), 20)
        with live_stack("dashboard") as (stack, directory):
            prometheus = Prometheus(directory, {"lockstep-collector": f"127.0.0.1:{stack.http_port}",
                                                "lockstep-agent": f"127.0.0.1:{stack.agent_port}"})
            try:
                deadline = time.monotonic() + PATIENCE_SECONDS
                while waiting and time.monotonic() < deadline:
                    stack.check_alive()
                    waiting = [(title, query) for title, query in waiting if not prometheus.has_data(query)]
                    time.sleep(0.5)
                self.assertEqual(waiting, [], "panels without data")
                self.check_rules(prometheus)
            finally:
                prometheus.close()

    def check_rules(self, prometheus):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
            if all(rule["health"] != "unknown" for rule in rules) or time.monotonic() > deadline:
                break
            time.sleep(0.5)
        self.assertGreater(len(rules), 5)
        self.assertEqual([(r["name"], r.get("lastError")) for r in rules if r["health"] != "ok"], [])
        self.assertEqual([r["name"] for r in rules if r["state"] == "firing"], [], "alerts on a healthy system")


if __name__ == "__main__":
    sys.exit(unittest.main())
