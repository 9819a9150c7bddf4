#!/bin/sh
# Usage: cudnn_front_end.sh DIR. Puts the headers of NVIDIA's C++ front end of cuDNN in DIR/cudnn-frontend/include, where
# CMake looks for them: neither a toolkit nor Debian has them. They come from the package index that pip is set up for
# (nvidia-cudnn-frontend, MIT and Apache-2.0). Does nothing where they are there, or where cuDNN or nvcc isn't.
# Exits 77 with the reason where they can't be had.
#
# cudnn_front_end.sh --find prints the folder of cuDNN's own headers; exits 1 where they aren't found.
set -eu

argument=${1:?usage: cudnn_front_end.sh DIR, or --find}
folder=$argument/cudnn-frontend
package=nvidia-cudnn-frontend==1.32.0
python=/usr/bin/python3

skip() {
  echo "cudnn_front_end: $1" >&2
  exit 77
}

# find_cudnn NVCC: where cmake/FindCUDNN.cmake looks as well: what the environment names, beside the toolkit, the system.
find_cudnn() {
  beside=$(dirname "$(readlink -f "$1")")/..
  for place in "${CUDNN_ROOT:-}" "${CUDNN_HOME:-}" "${CUDA_PATH:-}" "${CUDA_HOME:-}" "$beside" "$beside/../cudnn" \
    /usr/local /usr; do
    [ -n "$place" ] || continue
    # A prefix of wheels has a folder for each; Debian's packages have one for each kind of processor.
    for headers in "$place/include" "$place/nvidia/cudnn/include" "$place"/include/*-linux-gnu; do
      if [ -e "$headers/cudnn_version.h" ]; then
        echo "$headers"
        return 0
      fi
    done
  done
  return 1
}

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [ "$argument" = --find ]; then
  find_cudnn "$nvcc"
  exit
fi
if [ ! -x "$nvcc" ] || ! find_cudnn "$nvcc" >/dev/null || [ -e "$folder/include/cudnn_frontend.h" ]; then exit 0; fi
mkdir -p "$argument"
scratch=$(mktemp -d "$argument/cudnn-frontend.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
"$python" -m venv "$scratch/venv" || skip "venv failed (Debian: python3-venv)"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --retries 1 \
  --target "$scratch/package" "$package" >&2 || skip "pip could not install $package"
[ -e "$scratch/package/include/cudnn_frontend.h" ] || skip "$package has no headers where they were"
rm -rf "$folder"
mkdir "$folder"
mv "$scratch/package/include" "$folder/include"
