#!/usr/bin/env bash
# Sets up, builds and runs every test.
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
while [ $# -gt 0 ]; do
  case "$1" in
    --asan) preset=asan; shift ;;
    --clang) preset=clang; shift ;;
    --preset) preset=${2:?--preset needs a name}; shift 2 ;;
    -h | --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) break ;;
  esac
done

scripts/build.sh "$preset"

# Two threads find what goes wrong between threads; waiting ones must not take the processor from
# the tests beside them.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
exec ctest --preset "$preset" -j "$(nproc 2>/dev/null || echo 2)" "$@"
