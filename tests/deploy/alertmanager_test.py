#!/usr/bin/python3
"""A real collector tells two real Alertmanagers: what they show, what they pass on, and what becomes of it when the
collector is killed. The runbook has a section per class of incident, to which alerts link."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request

from places import BINARIES, ROOT

from demo.stack import AlertReceiver, Stack, free_port

PATIENCE_SECONDS = 90
LABELS = {"alertname", "fleet", "incident_id", "job", "host", "class", "severity", "scope"}
RECEIVERS = """
fleet: test-fleet
external_url: "http://console.test/incidents/{incident}"
runbook_url: "http://wiki.test/runbook"
receivers:
  - {name: am, type: alertmanager, urls: ["http://127.0.0.1:%d", "http://127.0.0.1:%d"], repeat: 1s}
routes:
  - {match: {scope: [machine, network]}, receivers: [am]}
"""


def alertmanager_configuration(webhook):
    return f"""
route: {{receiver: next, group_by: [incident_id], group_wait: 1ms, group_interval: 1s, repeat_interval: 1h}}
receivers:
  - name: next
    webhook_configs: [{{url: "{webhook}", send_resolved: true}}]
"""


class AlertmanagerTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(directory.cleanup)
        self.place = pathlib.Path(directory.name)
        self.stack = Stack(self.place / "state", BINARIES)
        self.next = AlertReceiver()  # whom the first Alertmanager tells
        self.addCleanup(self.next.close)
        self.addCleanup(self.stack.close)
        self.ports = [free_port(), free_port()]
        for number, port in enumerate(self.ports):
            self.start_alertmanager(number, port)
        (self.place / "alerts.yaml").write_text(RECEIVERS % tuple(self.ports))

    def start_alertmanager(self, number, port):
        configuration = self.place / f"alertmanager-{number}.yaml"
        configuration.write_text(alertmanager_configuration(self.next.url if number == 0 else "http://127.0.0.1:1/"))
        name = f"alertmanager-{number}"
        self.stack.start(name, ["prometheus-alertmanager", f"--config.file={configuration}",
                                f"--storage.path={self.place / name}", f"--web.listen-address=127.0.0.1:{port}",
                                "--cluster.listen-address="])
        self.addCleanup(self.stack.stop, name)
        self.stack.wait_until(name, lambda: self.answers(port), PATIENCE_SECONDS)

    @staticmethod
    def answers(port):
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=5) as answer:
                return answer.status == 200
        return False

    def start_collector(self, *flags):
        ports = self.place / "ports.json"
        ports.unlink(missing_ok=True)
        self.stack.start("collector", [
            BINARIES / "collector/lockstep-collector", f"--data-directory={self.place / 'history'}",
            "--listen-address=127.0.0.1:0", "--http-listen-address=127.0.0.1:0", f"--ports-file={ports}",
            f"--alert-routes={self.place / 'alerts.yaml'}", *flags])
        self.stack.wait_until("the collector", ports.exists, PATIENCE_SECONDS)
        self.stack.grpc_port = json.loads(ports.read_text())["grpc"]

    def alerts(self, port):
        """What this Alertmanager shows as open."""
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v2/alerts", timeout=5) as answer:
            return json.loads(answer.read())

    def wait_for_alerts(self, port, count):
        self.stack.wait_until(f"{count} alert(s)", lambda: len(self.alerts(port)) == count, PATIENCE_SECONDS)
        return self.alerts(port)

    def feed(self):
        done = subprocess.run([BINARIES / "cli/lockstep", "sim", "--feed", self.stack.address, "--speed", "4", "--gpus",
                               "64", "--dimensions", "1", "--steps", "60", "--faults", "compute_slow:17@2*0.5"],
                              capture_output=True, text=True, timeout=180, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_incident_is_one_alert_as_long_as_it_lasts(self):
        self.start_collector()
        feeding = threading.Thread(target=self.feed)
        feeding.start()
        self.addCleanup(feeding.join)
        shown = [self.wait_for_alerts(port, 1)[0] for port in self.ports]
        feeding.join()
        for alert in shown:
            self.assertEqual(set(alert["labels"]), LABELS)
            self.assertEqual(alert["labels"]["fleet"], "test-fleet")
            self.assertEqual(alert["labels"]["class"], "compute_slow")
            self.assertEqual(alert["labels"]["severity"], "warning")
            self.assertEqual(alert["annotations"]["runbook_url"], "http://wiki.test/runbook#compute_slow")
            self.assertEqual(alert["generatorURL"],
                             f"http://console.test/incidents/{alert['labels']['incident_id']}")
            self.assertIn(alert["labels"]["host"], alert["annotations"]["summary"])
        self.assertEqual(shown[0]["fingerprint"], shown[1]["fingerprint"], "replicas see the same alert")
        passed_on = self.stack.wait_until("what it passes on", lambda: self.next.received, PATIENCE_SECONDS)[0][1]
        self.assertEqual(passed_on["alerts"][0]["labels"], shown[0]["labels"])

        # A second Alertmanager that was away hears of it again without being told of a change.
        self.stack.stop("alertmanager-1", signal.SIGKILL)
        self.start_alertmanager(1, self.ports[1])
        self.assertEqual(self.wait_for_alerts(self.ports[1], 1)[0]["fingerprint"], shown[0]["fingerprint"])

        # Nobody tells of it any more: it ends by itself, four repetitions later.
        self.stack.stop("collector", signal.SIGKILL)
        killed = time.monotonic()
        self.wait_for_alerts(self.ports[0], 0)
        self.assertLess(time.monotonic() - killed, 30)

        # The next life goes on with it; then the job is given up, and so is the incident.
        self.start_collector()
        again = self.wait_for_alerts(self.ports[0], 1)[0]
        self.assertEqual(again["fingerprint"], shown[0]["fingerprint"])
        self.stack.stop("collector")
        self.start_collector("--forget-job-after=1s")
        self.wait_for_alerts(self.ports[0], 0)
        self.stack.wait_until("the end to be passed on",
                              lambda: any(p["status"] == "resolved" for _, p in self.next.received), PATIENCE_SECONDS)
        self.assertNotIn("given up", (self.stack.state / "collector.log").read_text())

    def test_a_file_that_is_wrong_is_refused_with_its_line(self):
        (self.place / "alerts.yaml").write_text("receivers:\n  - {name: am, type: alertmanger}\n")
        (self.place / "collector.yaml").write_text(f"\nalert_routes: {self.place / 'alerts.yaml'}\n")
        done = subprocess.run([BINARIES / "collector/lockstep-collector", "--check-config", "--config",
                               self.place / "collector.yaml"], capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, r"collector\.yaml:2: alert_routes: .*alerts\.yaml: line 2: type 'alertmanger'")
        self.assertIn("did you mean 'alertmanager'?", done.stderr)

    def test_alert_test_reaches_each_replica(self):
        done = subprocess.run([BINARIES / "cli/lockstep", "alert", "test", "--config", self.place / "alerts.yaml"],
                              capture_output=True, text=True, timeout=30, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(len(re.findall(r"^am http\S+ +alertmanager +yes", done.stdout, re.M)), 2, done.stdout)


class RunbookTest(unittest.TestCase):
    def test_every_class_has_a_section(self):
        source = (ROOT / "detector/verdict/verdict.cc").read_text()
        table = source[source.index("kClasses[] = {"):]
        classes = re.findall(r'\{"(\w+)", "\w+"[,}]', table[:table.index("};")])
        self.assertGreater(len(classes), 20)
        classes += re.findall(r'kSlowUnexplained\[\] = "(\w+)"', (ROOT / "detector/verdict/verdict.h").read_text())
        self.assertIn("slow_unexplained", classes)
        sections = re.findall(r"^## (\w+)$", (ROOT / "docs/runbook.md").read_text(), re.M)
        self.assertEqual(sorted(classes + ["test"]), sorted(sections))


if __name__ == "__main__":
    sys.exit(unittest.main())
