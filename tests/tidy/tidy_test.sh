#!/usr/bin/env bash
# Runs tidy_test.py on the source tree itself, not on the copies that Bazel lays out.
set -euo pipefail
exec /usr/bin/python3 "$(dirname "$(readlink -f "$TEST_SRCDIR/lockstep/tests/tidy/tidy.py")")/tidy_test.py"
