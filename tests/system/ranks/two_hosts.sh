#!/usr/bin/env bash
# Two "hosts" on one machine: network namespaces with names of their own, joined by a cable. Starts
# Open MPI's mpirun on the first, with one rank on each; the second is reached by an agent in ssh's
# place.
#
#   two_hosts.sh check                        exit code 0 if this is possible here, else a reason
#   two_hosts.sh run MPIRUN PROGRAM...        exit code of mpirun
#   two_hosts.sh die FILE MPIRUN PROGRAM...   the same, but the second host dies without a word once
#                                             FILE has three lines
#   two_hosts.sh unplug FILE MPIRUN PROGRAM...    the same, but only the cable is pulled
set -euo pipefail

# Nothing that follows may happen to the machine itself.
if [ "$1" != inside ]; then exec unshare -r -n -u "$0" inside "$@"; fi
shift

# The second host is a namespace of processes too, whose first one is $other: with it all others of
# the host end. Nothing else is ever killed here.
other=
clean_up() {
  [ -z "$other" ] || kill -KILL "$other" 2>/dev/null || true
  [ -z "${agent:-}" ] || rm -f "$agent"
}
trap clean_up EXIT

make_hosts() {
  hostname first-host
  local starter
  unshare -n -u -p --fork sleep 300 2>/dev/null &  # it complains when that is killed
  starter=$!
  for _ in $(seq 100); do
    other=$(cat "/proc/$starter/task/$starter/children" 2>/dev/null | tr -d ' ')
    [ -z "$other" ] || break
    sleep 0.05
  done
  [ -n "$other" ] || { echo "the second host does not start" >&2; exit 1; }
  nsenter -t "$other" -u hostname second-host
  ip link add cable type veth peer name cable netns "$other"
  ip link set lo up
  ip addr add 10.99.0.1/24 dev cable
  ip link set cable up
  nsenter -t "$other" -n sh -c \
    'ip link set lo up && ip addr add 10.99.0.2/24 dev cable && ip link set cable up'
}

# In ssh's place: AGENT HOST COMMAND...
make_agent() {
  agent=$(mktemp)
  printf 'shift\nexec nsenter -t %s -n -u -p sh -c "$*"\n' "$other" >"$agent"
}

start() {  # MPIRUN PROGRAM...
  local mpirun=$1
  shift
  make_agent
  timeout -k 10 100 "$mpirun" --host 10.99.0.1:1,10.99.0.2:1 -n 2 --bind-to none --mca plm_rsh_agent "sh $agent" \
    --mca btl self,tcp --mca btl_tcp_if_include 10.99.0.0/24 --mca oob_tcp_if_include 10.99.0.0/24 \
    --mca oob_tcp_keepalive_time 5 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 3 \
    "$@" &
  job=$!
}

mode=$1
shift
if [ "$mode" = check ]; then
  for command in ip nsenter hostname; do
    command -v "$command" >/dev/null || { echo "there is no $command"; exit 1; }
  done
  make_hosts 2>&1
  exit 0
fi
if [ "$mode" != run ]; then
  file=$1
  shift
fi
make_hosts
start "$@"
if [ "$mode" != run ]; then
  while kill -0 "$job" && [ "$(cat "$file" 2>/dev/null | wc -l)" -lt 3 ]; do sleep 0.05; done
  if [ "$mode" = unplug ]; then
    ip link set cable down
  else
    kill -KILL "$other"
    other=
  fi
fi
code=0
wait "$job" || code=$?
exit "$code"
