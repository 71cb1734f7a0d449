#!/usr/bin/env python3
"""The rules of style that a program can check, one row each. Usage: tidy.py ROOT"""

import pathlib
import re
import subprocess
import sys

MAX_HEADER_LINES = 220
MAX_SOURCE_LINES = 450
MAX_TEST_LINES = 700
MAX_FUNCTION_LINES = 70
MAX_MAIN_LINES = 100

THREAD_SAFETY_WORDS = re.compile(
    r"[Tt]hread-safe|[Tt]hread-compatible|[Nn]ot thread-safe|[Ii]mmutable|\b[Pp]ure\b|[Ss]ingle-threaded|async-signal-safe")

# (what is wrong, pattern, in which files, except in which files); patterns see code without comments and strings
BANNED = [
    ("reads a clock; take a Clock&", r"absl::Now\(|system_clock|steady_clock|clock_gettime|gettimeofday",
     r"\.(h|cc)$", r"^base/(clock|boot_clock|thread_cpu_time)\.cc|^base/mutex\.h|^agent/recorder/|^tests/demo/"
                   r"|^tests/faults/libc_hooks\.cc"),
    ("draws chance; take a Random&", r"random_device|\brand\(\)|mt19937", r"\.(h|cc)$", r"^base/random\.cc"),
    ("bypasses base/mutex.h", r"std::(mutex|lock_guard|unique_lock|condition_variable)\b|absl::Mutex\b",
     r"\.(h|cc)$", r"^base/mutex\.h"),
    ("throws", r"\bthrow\b", r"\.(h|cc)$", r"^$"),
    ("is unfinished", r"\b(TODO|FIXME|XXX)\b", r"", r"^tests/tidy/"),
    ("sleeps in a test", r"sleep_for|usleep|SleepFor|nanosleep", r"_test\.cc$", r"^agent/recorder/|_integration_test\.cc$"),
    ("is a test that is a friend", r"friend class .*Test", r"\.h$", r"^$"),
    # What users and the field call surprisal, degraded, counterfactual and missing-record artefact.
    ("has a word of its own for one of the field's", r"[Ss]urpris(?!al)|[Ss]uffer|[Hh]eal(?!th)|[Hh]urt|[Ww]ander|[Gg]host",
     r"^(detector|docs|cli/render)/.*\.(h|cc|md)$", r"^$"),
    ("names a path of somebody's machine", r"/work/(main|shared)|/tmp/ob_|/home/[a-z]", r"", r"^tests/tidy/"),
]
VAGUE_NAME = re.compile(r"util|common|helper|misc|stuff")
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def tracked_files(root):
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=root, check=True,
                            capture_output=True, text=True).stdout.split("\n")
    for name in sorted(set(filter(None, listed))):
        path = root / name
        if path.is_file() and "testdata" not in path.parts:
            yield name, path


def check_banned(name, text):
    is_cpp = name.endswith((".h", ".cc"))
    code = COMMENT_OR_STRING.sub("", text) if is_cpp else text
    for wrong, pattern, files, exceptions in BANNED:
        if not re.search(files, name) or re.search(exceptions, name):
            continue
        searched = text if wrong.startswith(("is unfinished", "has a word", "names a path")) else code
        found = re.search(pattern, searched)
        if found:
            yield f"{name}: {wrong}: {found.group(0)!r}"


def check_size(name, text):
    lines = text.count("\n")
    if name.endswith("main.cc"):
        limit = MAX_MAIN_LINES
    elif name.endswith("_test.cc"):
        limit = MAX_TEST_LINES
    elif name in ("base/metric_catalog.cc", "base/metric_catalog.h"):
        limit = None
    elif name.endswith(".h"):
        limit = MAX_HEADER_LINES
    else:
        limit = MAX_SOURCE_LINES
    if limit and lines > limit:
        yield f"{name}: {lines} lines, at most {limit}"


def check_header(name, text):
    if not text.startswith("//"):
        yield f"{name}: a header opens with a comment that says what it is for"
    if re.search(r"^(class|struct) \w+[^;]*\{", text, re.MULTILINE) and not THREAD_SAFETY_WORDS.search(text):
        yield f"{name}: says nothing about threads (Thread-safe, Not thread-safe, Immutable, Pure, ...)"


def check_proto(name, text):
    for enum, body in re.findall(r"enum (\w+) \{([^}]*)\}", text):
        first = re.search(r"(\w+)\s*=\s*(-?\d+)", body)
        if not first or first.group(2) != "0" or not first.group(1).endswith("UNSPECIFIED"):
            yield f"{name}: enum {enum} must begin with ..._UNSPECIFIED = 0"


def check_functions(root, names):
    listed = subprocess.run(["ctags", "-f", "-", "--fields=ne", "--c++-kinds=f", "-L", "-"], cwd=root, text=True,
                            input="\n".join(names), capture_output=True, check=True).stdout
    for line in listed.splitlines():
        fields = line.split("\t")
        numbers = dict(f.split(":", 1) for f in fields[3:] if ":" in f)
        if "end" in numbers and "line" in numbers:
            length = int(numbers["end"]) - int(numbers["line"]) + 1
            if length > MAX_FUNCTION_LINES:
                yield f"{fields[1]}: {fields[0]} has {length} lines, at most {MAX_FUNCTION_LINES}"


def check_one_definition(root, names):
    """A type defined twice under one qualified name: a program that links both is undefined, and no linker says so."""
    listed = subprocess.run(["ctags", "-f", "-", "--fields=nsk", "--c++-kinds=csgu", "-L", "-"], cwd=root, text=True,
                            input="\n".join(names), capture_output=True, check=True).stdout
    first = {}
    for line in listed.splitlines():
        name, path, *_ = line.split("\t")
        scope = re.search(r"\tnamespace:(\S+)", line)
        if not scope or "__anon" in line:
            continue  # in a function or a type (whose own name is unique), in no namespace, or of one file only
        qualified = f"{scope.group(1)}::{name}"
        if first.setdefault(qualified, path) != path:
            yield f"{path}: {qualified} is also defined in {first[qualified]}"


def violations(root):
    cpp = []
    for name, path in tracked_files(root):
        if path.suffix not in (".h", ".cc", ".proto", ".py", ".sh", ".md", ".yaml", ".bazel", ".bzl"):
            continue
        text = path.read_text(encoding="utf-8")
        yield from check_banned(name, text)
        if VAGUE_NAME.search(path.stem):
            yield f"{name}: name the concept, not a {VAGUE_NAME.search(path.stem).group(0)!r}"
        if path.suffix in (".h", ".cc"):
            cpp.append(name)
            yield from check_size(name, text)
        if path.suffix == ".h":
            yield from check_header(name, text)
        if path.suffix == ".proto":
            yield from check_proto(name, text)
    yield from check_functions(root, cpp)
    yield from check_one_definition(root, cpp)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    found = list(violations(root))
    print("\n".join(found) or "tidy: clean")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
