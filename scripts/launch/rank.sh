#!/usr/bin/env bash
# What each rank runs: the program that is right for the machine it is on (scripts/preset.sh).
#
#   scripts/launch/rank.sh train CONFIG.json ...
set -euo pipefail
dashlm=$("$(dirname "$0")/../preset.sh" --program)
exec "$dashlm" "$@"
