#!/usr/bin/env bash
# Puts the collector, the agent, the command line and what they are linked to into one folder, for a machine that has none
# of our packages: tests/gpu/run.sh takes it as its argument there. Needs a build (`./dev build`).
#
#   tests/gpu/bundle.sh FOLDER
set -euo pipefail
into=${1:?tests/gpu/bundle.sh needs a folder to write to}
mkdir -p "$into"
into=$(realpath "$into")
cd "$(dirname "$0")/../.."

mkdir -p "$into/lib"
for binary in collector/lockstep-collector agent/lockstep-agent cli/lockstep; do
  mkdir -p "$into/$(dirname "$binary")"
  strip -o "$into/$binary.bin" "bazel-bin/$binary"
  # The C library and its kin are the machine's own: two of them do not go together in one process.
  ldd "bazel-bin/$binary" | awk '$2 == "=>" { print $3 }' |
    grep -Ev '/(libc|libm|libdl|libpthread|librt|libresolv|libstdc\+\+|libgcc_s)\.so' |
    xargs -I{} sh -c 'strip -o "$1/$(basename "$2")" "$2"' _ "$into/lib" {}
  cat >"$into/$binary" <<'TEXT'
#!/bin/sh
folder=$(dirname "$(dirname "$(realpath "$0")")")
LD_LIBRARY_PATH="$folder/lib:$LD_LIBRARY_PATH" exec "$folder/$(basename "$(dirname "$0")")/$(basename "$0").bin" "$@"
TEXT
  chmod +x "$into/$binary"
done
cp bazel-bin/agent/recorder/liblockstep-preload.so "$into/"
du -sh "$into"
