#!/usr/bin/env bash
# Makes models/minder_default.model anew: simulated jobs, eight healthy ones and one per fault of Minder's mix, then
# `lockstep train`. Same build, same bytes. Usage: models/make_minder_default.sh LOCKSTEP OUT
set -euo pipefail
lockstep=$1 out=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

simulate() { # NAME ARGUMENTS...
  mkdir "$work/$1"
  "$lockstep" sim "$work/$1" --job "$1" --metrics --no-ops --compress zst "${@:2}" >&2
}

for seed in 1 2 3 4 5 6 7 8; do
  simulate "healthy-$seed" --gpus $((64 * (1 + seed % 2))) --steps 600 --seed "$seed"
done
seed=100
for fault in gpu_lost gpu_lost gpu_lost process_dead process_dead gpu_stuck pcie_degraded hang_in_communication \
  machine_unreachable storage_stall nvlink_slow nic_send_slow host_slow; do
  seed=$((seed + 1))
  simulate "$fault-$seed" --gpus 128 --steps 260 --seed "$seed" --faults "$fault@170"
done

# Counters of a simulated job begin at 0; a fault lasts to its end.
/usr/bin/python3 - "$work" >"$work/labels.csv" <<'PYTHON'
import glob, json, sys
print("job,begin_ms,end_ms")
for path in sorted(glob.glob(sys.argv[1] + "/*/truth.json")):
    with open(path, encoding="utf-8") as file:
        truth = json.load(file)
    for cause in truth["causes"]:
        print(f'{truth["job"]},{cause["onset_ns"] // 10**6},{10**9}')
PYTHON

"$lockstep" train "$work"/*/metrics.csv.zst --labels "$work/labels.csv" --out "$out" --seed 1 --epochs 20
