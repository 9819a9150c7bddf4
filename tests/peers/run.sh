#!/bin/sh
# Usage: run.sh BUILD_DIR PEER_DUMP. Dumps a few models and steps of ours, and compares them with PyTorch's.
set -eu

here=$(dirname "$0")
python=$("$here/make_venv.sh" "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$2" "$folder"
OMP_NUM_THREADS=1 "$python" "$here/compare_with_transformers.py" "$folder"
