#!/bin/sh
# Usage: find_cudnn.sh REPOSITORY. Whether scripts/cudnn_front_end.sh finds cuDNN's headers wherever FindCUDNN.cmake does:
# each way of laying them out is made in an empty folder, and that one is to be named, before any of this machine.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
unset CUDNN_ROOT CUDNN_HOME CUDA_PATH CUDA_HOME

# expect FOLDER VARIABLE=VALUE...: headers lie in FOLDER and nowhere else in the scratch folder.
expect() {
  headers=$1
  shift
  mkdir -p "$headers"
  touch "$headers/cudnn_version.h"
  found=$(env "$@" "$script" --find) || found="nothing"
  rm "$headers/cudnn_version.h"
  [ "$(realpath "$found")" = "$(realpath "$headers")" ] || {
    echo "with $*: found $found, not $headers" >&2
    exit 1
  }
}

script=$1/scripts/cudnn_front_end.sh
for variable in CUDNN_ROOT CUDNN_HOME CUDA_PATH CUDA_HOME; do
  expect "$scratch/given/include" "$variable=$scratch/given"
done
expect "$scratch/wheels/nvidia/cudnn/include" "CUDNN_ROOT=$scratch/wheels"
expect "$scratch/debian/include/x86_64-linux-gnu" "CUDNN_ROOT=$scratch/debian"

# Beside the compiler: a toolkit, and a toolkit of wheels.
mkdir -p "$scratch/nvidia/cuda_nvcc/bin"
printf '#!/bin/sh\n' >"$scratch/nvidia/cuda_nvcc/bin/nvcc"
chmod +x "$scratch/nvidia/cuda_nvcc/bin/nvcc"
expect "$scratch/nvidia/cuda_nvcc/include" "PATH=$scratch/nvidia/cuda_nvcc/bin:$PATH"
expect "$scratch/nvidia/cudnn/include" "PATH=$scratch/nvidia/cuda_nvcc/bin:$PATH"
