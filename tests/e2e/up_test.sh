#!/usr/bin/env bash
# `./dev up --once`, shortened: real collector, agent and 4-process MPI job; one rank slowed, another stopped; both must
# be named and nobody else accused. Time is measured by hand on a quiet machine (docs/quality.md), not here: CI is none.
set -euo pipefail
binaries="$TEST_SRCDIR/lockstep"
exec /usr/bin/python3 "$(readlink -f "$binaries/tools/up.py")" --once --healthy-seconds 6 --patience 4 \
  --binaries "$binaries" --state-directory "$TEST_TMPDIR/state"
