#!/bin/sh
# Gathers what a GPU node knows about its topology, as plain text, for `trainyard topology`.
#
#   sh collect.sh [FOLDER]
#
# Needs no root, installs nothing, changes nothing: it runs the tools that are there, says which are missing, and
# writes their output into FOLDER (default: trainyard-topology-HOST) and FOLDER.tar. There are names of hosts and
# devices and addresses in it: read it before you send it anywhere.

set -u

host=$(uname -n 2>/dev/null || echo node)
folder=${1:-trainyard-topology-$host}
limit=120 # seconds a tool may take
found=0
missing=''

case $folder in
-h | --help)
  echo "Usage: sh collect.sh [FOLDER]"
  exit 0
  ;;
esac

if ! mkdir -p "$folder" 2>/dev/null; then
  echo "collect: can't make the folder $folder; give another one: sh collect.sh FOLDER" >&2
  exit 1
fi

has() { command -v "$1" >/dev/null 2>&1; }

# limited COMMAND...: ends it after a while, where this system has timeout.
limited() {
  if has timeout; then timeout "$limit" "$@"; else "$@"; fi
}

kept() {
  found=$((found + 1))
  printf '  %-28s %s\n' "$1" "$2"
}
lacks() {
  missing="$missing
  $1: $2"
}

# save FILE WHAT COMMAND...: the command's output as a file, if it gave any. What it complains of goes to errors.txt.
save() {
  file=$1
  what=$2
  shift 2
  if ! has "$1"; then
    lacks "$file" "no $1 on this node ($what)"
    return 0
  fi
  if limited "$@" >"$folder/$file" 2>>"$folder/errors.txt" </dev/null; then status=0; else status=$?; fi
  if [ "$status" = 0 ] && [ -s "$folder/$file" ]; then
    kept "$file" "$what"
  else
    echo "collect: $1 ended with $status" >>"$folder/errors.txt"
    lacks "$file" "$1 gave nothing; see errors.txt ($what)"
    rm -f "$folder/$file"
  fi
  return 0
}

# copy FILE WHAT PATH...: the first of the paths that can be read.
copy() {
  file=$1
  what=$2
  shift 2
  for path in "$@"; do
    if [ -r "$path" ] && [ -f "$path" ] && cat "$path" >"$folder/$file" 2>>"$folder/errors.txt"; then
      kept "$file" "$what"
      return 0
    fi
  done
  lacks "$file" "no $1 ($what)"
  return 0
}

# GPU names above the matrix: with them, NVLink's and PCIe's generations are known.
gpu_matrix() {
  limited nvidia-smi -L && limited nvidia-smi topo -m
}

# first_line PATH: what a file of /sys says, or "-".
first_line() {
  line=-
  if [ -r "$1" ]; then IFS= read -r line <"$1" 2>/dev/null || line=-; fi
  printf '%s' "${line:--}"
}

# Every PCI device with its class, place in the tree, link now and at most, and NUMA node.
pci_tree() {
  echo "# address class vendor device speed width most-speed most-width numa path"
  for device in "${SYSFS:-/sys}"/bus/pci/devices/*; do
    [ -e "$device/class" ] || continue
    printf '%s %s %s %s "%s" %s "%s" %s %s %s\n' "${device##*/}" "$(first_line "$device/class")" \
      "$(first_line "$device/vendor")" "$(first_line "$device/device")" \
      "$(first_line "$device/current_link_speed")" "$(first_line "$device/current_link_width")" \
      "$(first_line "$device/max_link_speed")" "$(first_line "$device/max_link_width")" \
      "$(first_line "$device/numa_node")" "$(readlink "$device" 2>/dev/null || echo -)"
  done
}

# Network ports with their rates: InfiniBand and RoCE, then Ethernet.
network_ports() {
  echo "# name port state rate link-layer"
  for port in "${SYSFS:-/sys}"/class/infiniband/*/ports/*; do
    [ -e "$port/state" ] || continue
    name=${port%/ports/*}
    printf '%s %s "%s" "%s" %s\n' "${name##*/}" "${port##*/}" "$(first_line "$port/state")" \
      "$(first_line "$port/rate")" "$(first_line "$port/link_layer")"
  done
  echo "# interface state speed-Mbit/s device"
  for interface in "${SYSFS:-/sys}"/class/net/*; do
    [ -e "$interface/device" ] || continue
    speed=$(cat "$interface/speed" 2>/dev/null) || speed=-
    printf '%s %s %s %s\n' "${interface##*/}" "$(first_line "$interface/operstate")" "${speed:--}" \
      "$(readlink "$interface/device" 2>/dev/null || echo -)"
  done
}

# NCCL writes its topology when a program starts it: nccl-tests here, else PyTorch.
nccl_dump() {
  dump=$folder/nccl-topo.xml
  if has all_reduce_perf; then
    NCCL_TOPO_DUMP_FILE=$dump limited all_reduce_perf -b 8 -e 8 -n 1 -w 0 -g 1 >>"$folder/errors.txt" 2>&1 </dev/null
  elif has python3; then
    NCCL_TOPO_DUMP_FILE=$dump MASTER_ADDR=127.0.0.1 MASTER_PORT=${MASTER_PORT:-29511} \
      limited python3 -c 'import torch, torch.distributed as d
torch.cuda.set_device(0)
d.init_process_group("nccl", rank=0, world_size=1)
d.all_reduce(torch.ones(1, device="cuda"))
d.destroy_process_group()' >>"$folder/errors.txt" 2>&1 </dev/null
  fi
  if [ -s "$dump" ]; then
    kept nccl-topo.xml "NCCL's own view of this node"
  elif [ -n "${NCCL_TOPO_FILE:-}" ]; then
    copy nccl-topo.xml "the NCCL topology this machine is told to use" "$NCCL_TOPO_FILE"
  else
    rm -f "$dump"
    lacks nccl-topo.xml "neither nccl-tests nor PyTorch with CUDA could write it; run any NCCL program with NCCL_TOPO_DUMP_FILE=nccl-topo.xml"
  fi
}

echo "Gathering into $folder:"
: >"$folder/errors.txt" || exit 1

if has nvidia-smi; then
  if gpu_matrix >"$folder/nvidia-smi-topo.txt" 2>>"$folder/errors.txt" </dev/null; then
    kept nvidia-smi-topo.txt "GPUs, NVLinks and NICs of this node"
  else
    lacks nvidia-smi-topo.txt "nvidia-smi failed; see errors.txt"
    rm -f "$folder/nvidia-smi-topo.txt"
  fi
else
  lacks nvidia-smi-topo.txt "no nvidia-smi on this node"
fi
nccl_dump
save rocm-smi-topo.txt "AMD GPUs and their links" rocm-smi --showtopo
save hwloc.xml "sockets, PCIe tree and devices" lstopo-no-graphics --of xml
save ibnetdiscover.txt "the InfiniBand fabric; run it where the fabric may be asked" ibnetdiscover
save ibstat.txt "InfiniBand ports of this node" ibstat
save slurm-topology.txt "switches or blocks as Slurm knows them" scontrol show topology
copy topology.conf "Slurm's topology.conf" /etc/slurm/topology.conf /etc/slurm-llnl/topology.conf \
  /var/spool/slurmd/conf-cache/topology.conf
save lspci.txt "PCI devices and link widths" lspci -vv
pci_tree >"$folder/pci.txt" 2>>"$folder/errors.txt"
kept pci.txt "PCI devices, links now and at most, by /sys"
network_ports >"$folder/ports.txt" 2>>"$folder/errors.txt"
kept ports.txt "network ports and their rates, by /sys"

if [ -n "$missing" ]; then
  printf 'Missing:%s\n' "$missing"
  printf 'Missing:%s\n' "$missing" >"$folder/missing.txt"
fi
if [ ! -s "$folder/errors.txt" ]; then rm -f "$folder/errors.txt"; fi
if has tar && tar cf "$folder.tar" "$folder" 2>/dev/null; then
  echo "$found files, also in $folder.tar."
else
  rm -f "$folder.tar"
  echo "$found files."
fi
echo "Next, where trainyard is: trainyard topology FABRIC --node $folder/nccl-topo.xml"
echo "(FABRIC: ibnetdiscover.txt, slurm-topology.txt or topology.conf; the node: nccl-topo.xml, hwloc.xml or nvidia-smi-topo.txt.)"
