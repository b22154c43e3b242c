#!/usr/bin/env bash
# Which build is right for this machine: "cuda" where there is an NVIDIA GPU, else "release". What
# builds, and what starts the program, ask here.
#
#   scripts/preset.sh              the preset: cuda or release
#   scripts/preset.sh --program    the program that is to run here, built by that preset; where there
#                                  is none, the other, or the one that was installed with this
#                                  script; DASHLM=PATH names one outright
set -euo pipefail

has_gpu() {
  if compgen -G '/dev/nvidia[0-9]*' >/dev/null || compgen -G '/proc/driver/nvidia/gpus/*' >/dev/null; then
    return 0
  fi
  nvidia-smi -L 2>/dev/null | grep -q '^GPU '  # as under WSL
}

preset=release
if has_gpu; then preset=cuda; fi
case "${1:-}" in
  "") echo "$preset"; exit 0 ;;
  --program) ;;
  -h | --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
  *) echo "preset: unknown option '$1'; see --help" >&2; exit 1 ;;
esac

root=$(cd "$(dirname "$0")/.." && pwd)  # of the sources, or share/dashlm below the prefix
build=$root/build
for program in ${DASHLM:+"$DASHLM"} "$build/$preset/dashlm" "$build"/{cuda,release}/dashlm \
  "$(realpath -m "$root/../../bin/dashlm")"; do
  if [ -x "$program" ]; then
    echo "$program"
    exit 0
  fi
  if [ "$program" = "${DASHLM:-}" ]; then
    echo "preset: DASHLM = '$program' is not a program" >&2
    exit 1
  fi
done
echo "preset: there is no build/$preset/dashlm; run scripts/build.sh first" >&2
exit 1
