#!/usr/bin/env bash
# Runs each fuzz target of the importers for some time. Called by `./bootstrap soak [SECONDS]`, which builds them.
#
#   scripts/soak.sh SECONDS
#
# Inputs that were found to do something new are kept in build/fuzz/corpus for the next time, those that fail in
# build/fuzz/found. Exits 1 if one failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The folder of the published files that a target reads.
published_folder() {
  case $1 in
    nccl_xml | hwloc_xml | nvidia_smi_topo | topograph_yaml | astra_sim) tr _ - <<<"$1" ;;
    slurm_topology) echo slurm ;;
    netq) echo netq-json ;;
    topology) echo . ;;
    *) echo "$1" ;;
  esac
}

# soak TARGET NAME SECONDS: its own seeds and, where they are, the published files.
soak() {
  local folder corpora=("build/fuzz/corpus/$2")
  mkdir -p "build/fuzz/corpus/$2" build/fuzz/found
  for folder in "tests/fuzz/seeds/${2#topology}" "../shared/topologies/$(published_folder "$2")"; do
    if [ -d "$folder" ]; then corpora+=("$folder"); fi
  done
  "$1" -max_total_time="$3" -timeout=20 -rss_limit_mb=3072 -max_len=65536 -verbosity=0 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/found/$2-" "${corpora[@]}" 2>&1 | sed '/ # Uses: /d; /ecommended dictionary/d' | tail -n 40
}

seconds=${1:?usage: soak.sh SECONDS} failed=()
for target in build/fuzz/tests/fuzz/fuzz_*; do
  if [ ! -f "$target" ] || [ ! -x "$target" ]; then continue; fi
  name=${target##*/fuzz_}
  printf '\n==> %s, %s s\n' "$name" "$seconds"
  soak "$target" "$name" "$seconds" || failed+=("$name")
done
[ ${#failed[@]} = 0 ] || { echo "soak: failed: ${failed[*]}; the inputs are in build/fuzz/found" >&2; exit 1; }
