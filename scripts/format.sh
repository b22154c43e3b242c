#!/usr/bin/env bash
# Formats every C++ and CUDA source in place; with --check only reports what would change, and
# returns 1 if anything would, 77 where clang-format 14 is missing (scripts/setup.sh --checks
# installs it).
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/clang_tool.sh
if ! clang_format=$(clang_tool clang-format); then
  echo "format: clang-format 14 is missing: nothing is formatted or checked" >&2
  exit 77
fi
mode=(-i)
[ "${1:-}" = --check ] && mode=(--dry-run -Werror)
find src tests bench examples -name build -prune -o \
  \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
  xargs -0 "$clang_format" "${mode[@]}"
