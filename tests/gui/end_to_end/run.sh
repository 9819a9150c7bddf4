#!/usr/bin/env bash
# run.sh PROGRAM: the program on a display of its own, in a home of its own. 77: skipped, for want of a tool.
set -euo pipefail
for tool in Xvfb xdotool; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed (Debian: xvfb xdotool)"; exit 77; }
done
home=$(mktemp -d)
server=
cleanup() {
  [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server" 2>/dev/null; } || true
  rm -rf "$home"
}
trap cleanup EXIT
# Xvfb picks a free display and says which.
exec 3>"$home/display"
Xvfb -displayfd 3 -screen 0 1280x800x24 -nolisten tcp >"$home/xvfb.log" 2>&1 &
server=$!
for _ in $(seq 100); do
  [ -s "$home/display" ] && break
  kill -0 "$server" 2>/dev/null || { cat "$home/xvfb.log"; echo "skipped: Xvfb doesn't start here"; exit 77; }
  sleep 0.1
done
mkdir -m 700 "$home/runtime"
env HOME="$home" XDG_RUNTIME_DIR="$home/runtime" XDG_CONFIG_HOME="$home/config" XDG_DATA_HOME="$home/data" \
  DISPLAY=":$(tr -d '\n' <"$home/display")" QT_QPA_PLATFORM=xcb "$@"
