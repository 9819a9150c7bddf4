#!/usr/bin/env bash
# The main job from end to end on this machine: measure it, plan a sharded training of a small Llama on two ranks,
# predict it, run it on real text, and print prediction against measurement. Then the same planner's answer for a
# cluster of 16,384 accelerators.
#   Usage: scripts/demo.sh TRAINYARD [FOLDER]     TRAINYARD: the built program; FOLDER: for what it makes
set -euo pipefail
program=$(realpath "${1:?usage: scripts/demo.sh TRAINYARD [FOLDER]}")
shown_program=$1
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=${2:-build/demo}
steps=${DEMO_STEPS:-60}
PATH=$(dirname "$program"):$PATH

bold='' dim='' plain=''
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
  bold=$'\033[1m' dim=$'\033[2m' plain=$'\033[0m'
fi
step() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

# show COMMAND...: prints the command, in lines of at most 100 columns, then runs it.
show() {
  local word line='$'
  printf '%s' "$dim"
  for word in "$@"; do
    if [ $((${#line} + ${#word})) -gt 96 ] && [ "${word#--}" != "$word" ]; then
      printf '%s \\\n' "$line"
      line='   '
    fi
    line+=" $word"
  done
  printf '%s%s\n' "$line" "$plain"
  "$@"
}

mkdir -p "$folder"
rm -rf "$folder/run"

step "1. The text: the King James Bible"
command -v bible >/dev/null || { echo "demo: no program 'bible'; Debian's package bible-kjv has it" >&2; exit 1; }
bible -f gen1:1-rev22:21 </dev/null >"$folder/bible.txt"
printf '%s: %d bytes\n' "$folder/bible.txt" "$(stat -c %s "$folder/bible.txt")"

step "2. Measure this machine, all ranks at once"
show trainyard doctor
show trainyard calibrate --ranks 2 --quick --output "$folder/profile.json"

step "3. Plan a training of a small Llama on two ranks"
show trainyard plan --model models/llm/demo-llama.json --profile "$folder/profile.json" --ranks 2 \
  --sequence 256 --global-batch 16 --steps "$steps" --output "$folder/plan.json"

step "4. Predict it"
show trainyard simulate "$folder/plan.json" --profile "$folder/profile.json" --chrome "$folder/predicted.trace.json"

step "5. Run it: two processes, real text"
show trainyard run "$folder/plan.json" --data "$folder/bible.txt" --output "$folder/run"

step "6. Prediction against measurement"
show trainyard compare "$folder/plan.json" "$folder/run" --profile "$folder/profile.json"
show trainyard trace "$folder/run" --chrome "$folder/measured.trace.json"

step "7. The same planner on a big case, from published numbers: Llama 3.1 405B on 16,384 H100"
show trainyard plan --model models/llm/llama-3.1-405b.json --cluster models/clusters/llama3-16k-h100.json \
  --ranks 16384 --sequence 8192 --global-batch 2048 --top 5

printf '\nIn %s: profile.json, plan.json, run/ (record and weights), and the step as predicted and as measured:\n' "$folder"
printf 'open predicted.trace.json and measured.trace.json at https://ui.perfetto.dev.\n'
printf 'More: %s --help\n' "$shown_program"
