#!/usr/bin/env python3
"""Turns Bazel's build events of one test run into a list of failures and a last line "N passed, N failed".

A GoogleTest binary counts as many tests as it ran; anything else counts as one.
"""

import argparse
import json
import sys
import urllib.parse
import xml.etree.ElementTree


def test_results(events_path):
    """Yields (label, status, path of test.xml or None) per finished test target."""
    with open(events_path, encoding="utf-8") as events:
        for line in events:
            event = json.loads(line)
            identity = event.get("id", {}).get("testResult")
            result = event.get("testResult")
            if identity and result:
                outputs = {o["name"]: o.get("uri", "") for o in result.get("testActionOutput", [])}
                uri = outputs.get("test.xml", "")
                yield identity["label"], result["status"], urllib.parse.urlparse(uri).path or None


def failed_targets(events_path):
    """Yields labels of targets that did not build."""
    with open(events_path, encoding="utf-8") as events:
        for line in events:
            event = json.loads(line)
            identity = event.get("id", {}).get("targetCompleted")
            completed = event.get("completed")
            if identity and completed is not None and not completed.get("success", False):
                yield identity["label"]


def count_cases(xml_path):
    """Returns (cases, failed names) of one test.xml; an unreadable file counts as one case."""
    try:
        root = xml.etree.ElementTree.parse(xml_path).getroot()
    except (OSError, TypeError, xml.etree.ElementTree.ParseError):
        return 1, []
    cases = [c for c in root.iter("testcase") if c.get("status") != "notrun"]
    failed = [
        f'{c.get("classname", "")}.{c.get("name")}'
        for c in cases
        if c.find("failure") is not None or c.find("error") is not None
    ]
    return max(1, len(cases)), failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", required=True, help="file written by --build_event_json_file")
    parser.add_argument("--label", required=True, help="name of the run, for the list of failures")
    parser.add_argument("--bazel-status", type=int, default=0, help="exit status of Bazel")
    arguments = parser.parse_args()

    passed, failures = 0, []
    try:
        for label, status, xml_path in test_results(arguments.events):
            cases, failed = count_cases(xml_path)
            if status in ("PASSED", "FLAKY"):
                passed += cases
            else:
                failed = failed or ["(whole target)"]
                passed += cases - len(failed) if len(failed) < cases else 0
                failures += [f"{label} {name} [{status}]" for name in failed]
        failures += [f"{label} [does not build]" for label in failed_targets(arguments.events)]
    except OSError as error:
        failures.append(f"no build events: {error}")
    if arguments.bazel_status and not failures:
        failures.append(f"Bazel ended with status {arguments.bazel_status}")
    for failure in failures:
        print(f"{arguments.label} FAILED: {failure}")
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
