#!/usr/bin/env bash
# Sets up, configures, builds and runs every test.
#
#   scripts/test.sh [--asan | --clang | --preset NAME] [CTEST OPTION...]
#
#   --asan    with AddressSanitizer and UndefinedBehaviorSanitizer
#   --clang   built by clang
#
# For example: scripts/test.sh --asan -R '^io'
set -euo pipefail
cd "$(dirname "$0")/.."

preset=release
setup=()
while [ $# -gt 0 ]; do
  case "$1" in
    --asan) preset=asan; shift ;;
    --clang) preset=clang; setup=(--clang); shift ;;
    --preset) preset=${2:?--preset needs a name}; shift 2 ;;
    -h | --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) break ;;
  esac
done

scripts/setup.sh "${setup[@]}"

# Where the system's g++ is too old, as on Ubuntu 22.04, setup.sh has put a newer one beside it.
if [ -z "${CXX:-}" ] && [ "$(g++ -dumpversion 2>/dev/null | cut -d. -f1)" -lt 12 ] 2>/dev/null ||
  ! command -v g++ >/dev/null && command -v g++-12 >/dev/null; then
  export CC=gcc-12 CXX=g++-12
fi

# One compiler takes up to 2 GB.
gigabytes=$(awk '/^MemAvailable:/ {print int($2 / 1048576)}' /proc/meminfo 2>/dev/null || echo 8)
jobs=$(nproc 2>/dev/null || echo 2)
[ "$jobs" -le $((gigabytes / 2)) ] || jobs=$((gigabytes / 2))
[ "$jobs" -ge 1 ] || jobs=1

cmake --preset "$preset"
cmake --build --preset "$preset" -j "$jobs"

# Two threads find what goes wrong between threads; waiting ones must not take the processor from
# the tests beside them.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
exec ctest --preset "$preset" -j "$jobs" "$@"
