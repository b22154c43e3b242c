#!/usr/bin/env bash
# Sets up, configures and builds.
#
#   scripts/build.sh [PRESET [TARGET...]]     default: auto
#
# "auto" makes the program that is right for this machine (scripts/preset.sh): where
# there is an NVIDIA GPU and the CUDA toolkit, build/cuda/dashlm, which computes on GPUs and CPUs;
# elsewhere, toolkit or not, build/release with the tests. The CUDA sources take minutes to compile,
# which a machine without a GPU need not spend. A login node whose cluster has GPUs asks for it:
# scripts/build.sh cuda
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:-auto}
shift || true
if [ "$preset" = auto ]; then
  preset=$(scripts/preset.sh)
  if [ "$preset" = cuda ] && ! scripts/setup.sh --has-cuda; then
    echo "build: this machine has an NVIDIA GPU, but no CUDA toolkit from version 13 on (nvcc): the" \
      "program will compute on the CPU. Install the toolkit and build again" >&2
    preset=release
  fi
fi

setup=()
[ "$preset" = clang ] && setup=(--clang)
[[ "$preset" = cuda* ]] && setup=(--cuda)
scripts/setup.sh "${setup[@]}"

# Where the system's g++ is too old, as on Ubuntu 22.04, setup.sh has put a newer one beside it.
gcc_version=$(g++ -dumpversion 2>/dev/null | cut -d. -f1 || true)
if [ -z "${CXX:-}" ] && [ "${gcc_version:-0}" -lt 12 ] && command -v g++-12 >/dev/null; then
  export CC=gcc-12 CXX=g++-12
fi

# One compiler takes up to 2 GB.
gigabytes=$(awk '/^MemAvailable:/ {print int($2 / 1048576)}' /proc/meminfo 2>/dev/null || echo 8)
jobs=$(nproc 2>/dev/null || echo 2)
[ "$jobs" -le $((gigabytes / 2)) ] || jobs=$((gigabytes / 2))
[ "$jobs" -ge 1 ] || jobs=1

cmake --preset "$preset" -Wno-dev --log-level=WARNING
targets=()
[ $# -gt 0 ] && targets=(--target "$@")
cmake --build --preset "$preset" -j "$jobs" "${targets[@]}"
echo "build: build/$preset"
