#!/usr/bin/env bash
# Runs clang-tidy, with the checks of .clang-tidy, over C++ sources.
#
#   scripts/tidy.sh [--recent N | FILE...]     default: all sources of src, tests and bench
#
#   --recent N   only the N sources that were changed last: those with changes that are not
#                committed, then by commit. What a test can afford.
#
# It reads how each file is compiled from build/release, so build that first. A header is checked
# through the sources that include it, and counts as a change of the source of its name. Sources of
# backends that build/release does not compile are left out. Returns 1 if anything is found, 77 where
# clang-tidy 14 is missing (scripts/setup.sh --checks installs it).
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/clang_tool.sh

build=build/release
recent=
case "${1:-}" in
  --recent) recent=${2:?--recent needs a number}; shift 2 ;;
  -h | --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
  -*) echo "tidy: unknown option '$1'; see --help" >&2; exit 1 ;;
esac
if ! clang_tidy=$(clang_tool clang-tidy); then
  echo "tidy: clang-tidy 14 is missing: nothing is checked" >&2
  exit 77
fi
if [ ! -f "$build/compile_commands.json" ]; then
  echo "tidy: there is no $build/compile_commands.json; run scripts/build.sh release first" >&2
  exit 1
fi

compiled() {  # the sources that the build compiles, relative to this folder
  sed -n "s|^ *\"file\": \"$PWD/\(.*\)\".*|\1|p" "$build/compile_commands.json" | sort -u
}

last_changed() {  # newest first; a header stands for the source of its name
  { git status --porcelain | cut -c4-; git log -300 --format= --name-only; } 2>/dev/null |
    sed -n 's|\.h$|.cpp|; /\.cpp$/p' | awk '!seen[$0]++'
}

if [ -n "$recent" ]; then
  files=$(last_changed | grep -Fx -f <(compiled) | head -n "$recent" || true)
elif [ $# -gt 0 ]; then
  files=$(printf '%s\n' "$@")
else
  files=$(compiled)
fi
[ -n "$files" ] || { echo "tidy: no source to check"; exit 0; }

# What it counts on the standard error output are warnings of other people's headers.
xargs -P "$(nproc 2>/dev/null || echo 2)" -n 2 "$clang_tidy" -p "$build" --quiet \
  2>/dev/null <<<"$files" || {
  echo "tidy: clang-tidy found something, or could not compile a source (it is run as" \
    "$clang_tidy -p $build FILE)" >&2
  exit 1
}
echo "tidy: $(wc -l <<<"$files") sources are sound"
