#!/bin/sh
# Usage: cudnn_front_end.sh DIR. Puts the headers of NVIDIA's C++ front end of cuDNN in DIR/cudnn-frontend/include, where
# CMake looks for them: neither a toolkit nor Debian has them. They come from the package index that pip is set up for
# (nvidia-cudnn-frontend, MIT and Apache-2.0). Does nothing where they are there, or where cuDNN or nvcc isn't.
# Exits 77 with the reason where they can't be had.
set -eu

folder=${1:?usage: cudnn_front_end.sh DIR}/cudnn-frontend
package=nvidia-cudnn-frontend==1.32.0
python=/usr/bin/python3

skip() {
  echo "cudnn_front_end: $1" >&2
  exit 77
}

# has_cudnn NVCC: a toolkit of packages or of wheels, or the system.
has_cudnn() {
  beside=$(dirname "$(readlink -f "$1")")/..
  for place in "${CUDNN_ROOT:-}" "${CUDNN_HOME:-}" "$beside" "$beside/../cudnn" /usr /usr/local; do
    if [ -n "$place" ] && [ -e "$place/include/cudnn.h" ]; then return 0; fi
  done
  return 1
}

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [ ! -x "$nvcc" ] || ! has_cudnn "$nvcc" || [ -e "$folder/include/cudnn_frontend.h" ]; then exit 0; fi
mkdir -p "$1"
scratch=$(mktemp -d "$1/cudnn-frontend.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
"$python" -m venv "$scratch/venv" || skip "venv failed (Debian: python3-venv)"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --retries 1 \
  --target "$scratch/package" "$package" >&2 || skip "pip could not install $package"
[ -e "$scratch/package/include/cudnn_frontend.h" ] || skip "$package has no headers where they were"
rm -rf "$folder"
mkdir "$folder"
mv "$scratch/package/include" "$folder/include"
