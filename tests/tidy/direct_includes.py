#!/usr/bin/env python3
"""Fails if a file includes a header of ours that its target does not depend on directly.

BUILD files are read as the Python that they almost are. Usage: direct_includes.py ROOT
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
CC_RULES = ("cc_library", "cc_binary", "cc_test")


class Target:
    def __init__(self, package, rule, attributes):
        self.label = f"//{package}:{attributes['name']}"
        self.package, self.rule = package, rule
        self.hdrs = [f"{package}/{h}" for h in attributes.get("hdrs", [])]
        self.srcs = [f"{package}/{s}" for s in attributes.get("srcs", []) if not s.startswith((":", "//"))]
        self.deps = [self._absolute(d) for d in attributes.get("deps", [])]

    def _absolute(self, label):
        if label.startswith(":"):
            return f"//{self.package}{label}"
        if ":" not in label:
            return f"{label}:{label.rsplit('/', 1)[-1]}"
        return label


def _proto_target(package, attributes):
    stem = attributes["src"][:-len(".proto")]
    headers = [stem + ".pb.h"] + ([stem + ".grpc.pb.h"] if attributes.get("grpc") else [])
    return Target(package, "cc_library", dict(attributes, hdrs=headers, srcs=[]))


class _Anything(dict):
    """The globals of a BUILD file: every rule that we do not care about does nothing."""

    def __missing__(self, name):
        if name in __builtins__ if isinstance(__builtins__, dict) else hasattr(__builtins__, name):
            raise KeyError(name)
        return lambda *args, **kwargs: []


def read_targets(root):
    targets = {}
    for build in sorted(root.rglob("BUILD.bazel")):
        package = str(build.parent.relative_to(root))
        if package.startswith((".", "third_party", "bazel-")):
            continue

        def declare(rule, package=package):
            def call(**attributes):
                target = Target(package, rule, attributes)
                targets[target.label] = target
            return call

        def declare_proto(package=package, **attributes):
            target = _proto_target(package, attributes)
            targets[target.label] = target

        def declare_fuzzer(package=package, **attributes):
            target = Target(package, "cc_binary", dict(attributes, srcs=[attributes["src"]]))
            targets[target.label] = target

        def find(patterns, package=package, **_):
            folder = root / package
            return [str(p.relative_to(folder)) for pattern in patterns for p in sorted(folder.glob(pattern))]

        names = _Anything({rule: declare(rule) for rule in CC_RULES})
        names.update(lockstep_proto_library=declare_proto, lockstep_fuzzer=declare_fuzzer, glob=find)
        exec(compile(build.read_text(encoding="utf-8"), str(build), "exec"), names)  # pylint: disable=exec-used
    return targets


def violations(root):
    targets = read_targets(root)
    known_headers = {h for t in targets.values() for h in t.hdrs}
    for target in targets.values():
        visible = set(target.hdrs) | set(target.srcs)
        for dep in target.deps:
            visible.update(targets[dep].hdrs if dep in targets else [])
        for source in target.hdrs + target.srcs:
            path = root / source
            if path.suffix not in (".h", ".cc") or not path.is_file():
                continue
            for header in INCLUDE.findall(path.read_text(encoding="utf-8")):
                if header in known_headers and header not in visible:
                    yield f"{target.label}: {source} includes {header}, of which no direct dependency is declared"


def main():
    found = list(violations(pathlib.Path(sys.argv[1]).resolve()))
    print("\n".join(found) or "direct includes: all declared")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
