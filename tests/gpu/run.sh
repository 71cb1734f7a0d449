#!/usr/bin/env bash
# Proof on real hardware: needs an NVIDIA GPU, PyTorch with CUDA and g++, and nothing else of ours.
#
#   tests/gpu/run.sh [BINARIES RESULTS]
#
# Builds the NCCL recorder with one g++ line, runs a real multi-rank NCCL job (two ranks on one GPU where there is no
# other, else one per GPU) in health, with a slow rank and with a stuck rank, compares the rings with what the job did and
# with CUDA events, and measures step times with and without the recorder in alternation. Prints one JSON object per
# figure.
#
# BINARIES is a folder that tests/gpu/bundle.sh has made on a machine that builds: then collector and agent watch a
# training job of four ranks as well, of which one is slowed, one stopped, and one broken by a wild write on the GPU. What
# Lockstep printed goes to the folder RESULTS.
#
# Exit status: 0 passed, 1 failed, 77 skipped (no GPU, no PyTorch, no compiler: the message says which).
set -euo pipefail
cd "$(dirname "$0")/../.."

python=${PYTHON:-python3}

skip() {
  echo "SKIPPED: $*"
  exit 77
}

command -v nvidia-smi >/dev/null || skip "no NVIDIA driver on this machine (nvidia-smi is not there)"
nvidia-smi -L 2>/dev/null | grep -q '^GPU ' || skip "no NVIDIA GPU on this machine (nvidia-smi lists none)"
command -v g++ >/dev/null || skip "no g++"
command -v "$python" >/dev/null || skip "no $python"
gpus=$("$python" -c 'import torch; print(torch.cuda.device_count() if torch.distributed.is_nccl_available() else 0)' \
  2>/dev/null) || skip "$python has no PyTorch"
[[ "$gpus" -gt 0 ]] || skip "this PyTorch has no CUDA with NCCL"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
recorder=$scratch/libnccl-profiler-lockstep.so
mapfile -t sources < <(ls agent/recorder/{nccl_*,job_identity,ring_file,ring_writer}.cc | grep -v _test.cc)
g++ -std=c++20 -O2 -fPIC -shared -fvisibility=hidden -ftls-model=initial-exec -fno-exceptions -fno-rtti \
  -static-libstdc++ -static-libgcc -Wl,-z,nodelete -Wl,--version-script=agent/recorder/nccl_exports.lds -I. \
  -o "$recorder" "${sources[@]}" -ldl -lpthread

status=0
"$python" tests/gpu/drive.py "$recorder" "$gpus" ${1:+"$1/liblockstep-preload.so"} || status=$?
(($# == 2)) || exit "$status"
"$python" tests/gpu/chain.py "$1" "$recorder" "$2" || status=1
exit "$status"
