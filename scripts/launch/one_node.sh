#!/usr/bin/env bash
# Trains on one machine, one rank for each of RANKS devices or shares of its processors.
#
#   scripts/launch/one_node.sh RANKS CONFIG.json --out DIR [--resume] [--set KEY=VALUE]...
#
# Each rank takes an equal share of the processors for its threads. To stop with a checkpoint:
# kill -USR1 (no deadline), or Ctrl-C or kill -TERM (the job ends 20 s later, done or not).
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; exit 1; }
ranks=$1
shift

if [ "$(id -u)" -eq 0 ]; then  # as in a container; mpirun wants to be sure
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
# 10 s from SIGCONT to SIGTERM, and from there to SIGKILL: Open MPI's 1 s is short for a checkpoint.
exec mpirun -n "$ranks" --bind-to none --oversubscribe --mca odls_base_sigkill_timeout 10 \
  "$(dirname "$0")/rank.sh" train "$@"
