#!/usr/bin/python3
"""promtool accepts the Prometheus files, the alerts fire when they should, and every metric named anywhere exists."""

import json
import re
import shutil
import subprocess
import sys
import unittest

from places import ROOT

FILES = ROOT / "deploy/prometheus"
REGISTRIES = ("collector/metrics.cc", "collector/alert_metrics.cc", "collector/history_metrics.cc",
              "collector/job_metrics.cc", "collector/hook/incident_hook.cc", "collector/profiles/profile_metrics.cc",
              "agent/metrics.cc")


def promtool(*arguments):
    done = subprocess.run(["promtool", *arguments], cwd=FILES, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


class PrometheusTest(unittest.TestCase):
    def setUp(self):
        self.assertTrue(shutil.which("promtool"), "promtool is missing: apt-get install prometheus")

    def check(self, *arguments):
        status, text = promtool(*arguments)
        self.assertEqual(status, 0, text)
        self.assertNotIn("FAILED", text)

    def test_scrape_configuration(self):
        self.check("check", "config", "scrape.yaml")

    def test_rules(self):
        self.check("check", "rules", "rules.yaml")

    def test_alerts_fire_when_they_should(self):
        self.check("test", "rules", "rules_test.yaml")

    def test_every_alert_has_a_unit_test(self):
        alerts = re.findall(r"- alert: (\w+)", (FILES / "rules.yaml").read_text())
        tested = (FILES / "rules_test.yaml").read_text()
        self.assertGreater(len(alerts), 5)
        self.assertEqual([a for a in alerts if f"alertname: {a}" not in tested], [])

    def test_every_metric_is_registered_by_a_daemon(self):
        registered = set()
        for source in REGISTRIES:
            registered |= set(re.findall(r'"((?:lockstep|process)_[a-z0-9_]+)"', (ROOT / source).read_text()))
        dashboard = json.loads((ROOT / "deploy/grafana/lockstep.json").read_text())
        texts = [(FILES / "rules.yaml").read_text()]
        texts += [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
        for text in texts:
            for name in re.findall(r"\b(?:lockstep|process)_[a-z0-9_]+(?=[{\[)\s])", text):
                base = re.sub(r"_(bucket|sum|count)$", "", name)
                self.assertTrue({name, base} & registered, f"no daemon exports {name}")


if __name__ == "__main__":
    sys.exit(unittest.main())
