#!/usr/bin/env bash
# Trains on the machines of a hostfile, which reach each other by ssh and share the file system that
# program, config, data and run directory are on.
#
#   scripts/launch/hostfile.sh HOSTFILE CONFIG.json --out DIR [--resume] [--set KEY=VALUE]...
#
# A line of HOSTFILE is "NAME slots=RANKS": how many ranks that machine runs. Everything runs in
# this directory on every machine. Stop it as with one_node.sh.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; exit 1; }
hostfile=$1
shift

if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
scripts=$(cd "$(dirname "$0")" && pwd)
# A machine that no longer answers is noticed after a minute; Open MPI alone takes eight.
exec mpirun --hostfile "$hostfile" --map-by slot --bind-to none -wdir "$PWD" \
  --mca odls_base_sigkill_timeout 10 --mca oob_tcp_keepalive_time 30 \
  --mca oob_tcp_keepalive_intvl 10 --mca oob_tcp_keepalive_probes 3 "$scripts/rank.sh" train "$@"
