#!/bin/sh
# Usage: make_venv.sh DIR. Makes DIR/peers-venv with PyTorch's and transformers' Llama, for the tests in this
# folder. PyTorch and NumPy are Debian's (python3-torch 1.13.1, python3-numpy); the rest comes from the
# package index that pip is set up for, at versions that work with them. Prints the interpreter's path.
# Exits 77 with the reason where it can't be made.
set -eu

venv=${1:?usage: make_venv.sh DIR}/peers-venv
python=/usr/bin/python3
pins="transformers==4.46.3 tokenizers==0.20.3 huggingface-hub==0.26.5 safetensors==0.4.5"

skip() {
  echo "make_venv: $1" >&2
  exit 77
}

works() {
  "$venv/bin/python" -c 'import torch, safetensors.torch; from transformers import LlamaForCausalLM' 2>"$venv/import.log"
}

"$python" -c 'import torch, numpy' 2>/dev/null || skip "PyTorch is missing (Debian: python3-torch)"
if [ ! -e "$venv/complete" ]; then
  rm -rf "$venv"
  "$python" -m venv --system-site-packages "$venv" || skip "venv failed (Debian: python3-venv)"
  # shellcheck disable=SC2086  # a list of requirements
  "$venv/bin/pip" install --quiet --disable-pip-version-check $pins >&2 || skip "pip could not install $pins"
  works || skip "the packages don't import: $(tail -n 1 "$venv/import.log")"
  touch "$venv/complete"
fi
echo "$venv/bin/python"
