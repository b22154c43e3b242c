#!/usr/bin/env bash
# Checks dashlm on a borrowed machine: builds a bundle here, which is copied there and run.
#
#   scripts/gpu_check.sh build [DIR]           builds (preset gpu-check) and packs; default: build
#   scripts/gpu_check.sh pack BUILD BUNDLE     packs what was built in BUILD as BUNDLE and BUNDLE.tar.gz
#   ./gpu_check.sh run [--small] [OUT]         in the bundle: runs all checks; default: results
#
# `run` needs a GPU, the libraries of CUDA 13, and nothing else: no compiler, Python or network. It
# takes less than 8 minutes, begins with what matters most, goes on when a check fails or crashes,
# and prints one table. OUT/results.json has every figure of the checks that have ended, even when
# the run itself is killed; what each check printed lies beside it. Exit code 0: all is well, or
# there is no GPU, which it says; 1: something failed or there was no time for it. --small takes tiny
# sizes, to try the bundle itself.
set -uo pipefail

# --- here -----------------------------------------------------------------------------------------

build() {  # [DIR]
  cd "$(dirname "$0")/.." || exit 1
  local dir=${1:-build}
  scripts/setup.sh --cuda &&
    cmake --preset gpu-check -B "$dir/gpu-check" -Wno-dev --log-level=WARNING &&
    cmake --build "$dir/gpu-check" -j "$(nproc)" --target dashlm golden_replay gpu_check &&
    pack "$dir/gpu-check" "$dir/gpu_check"
}

# The shared libraries that belong beside the binaries: not those of the C library, which come with
# every system, nor CUDA's, which belong to the driver's side.
own_libraries() {  # FILE...
  ldd "$@" | sed -nE 's/^\t(\S+) => (\/\S+) .*/\1 \2/p' | sort -u |
    grep -vE '^(ld-linux|lib(c|m|dl|rt|pthread)\.so|libcu(dart|blas|blasLt|solver|sparse|dnn)|libnv|libnccl)'
}

pack() {  # BUILD BUNDLE
  local build=$1 bundle=$2 name path root
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
  rm -rf "$bundle" "$bundle.tar.gz"
  mkdir -p "$bundle"/{bin,lib/gcc,golden} || exit 1
  cp "$build"/{dashlm,golden_replay,gpu_check} "$bundle/bin/" || exit 1
  cp -r "$root/configs" "$bundle/configs"
  cp "$root"/tests/golden/*.safetensors "$bundle/golden/"
  cp "$root/scripts/gpu_check.sh" "$root/LICENSE" "$bundle/"
  while read -r name path; do
    case "$name" in
      libstdc++.so* | libgcc_s.so*) cp -L "$path" "$bundle/lib/gcc/$name" ;;
      *) cp -L "$path" "$bundle/lib/$name" ;;
    esac
  done < <(own_libraries "$bundle"/bin/*)
  tar -C "$(dirname "$bundle")" -czf "$bundle.tar.gz" "$(basename "$bundle")" || exit 1
  echo "gpu_check: $bundle.tar.gz, $(($(stat -c %s "$bundle.tar.gz") / 1000000)) MB"
  echo "gpu_check: there: tar xzf $(basename "$bundle").tar.gz && $(basename "$bundle")/gpu_check.sh run"
}

# --- there ----------------------------------------------------------------------------------------

# Seconds that each section is sure to have, in the order in which they run; what is left over by
# one may be used by those after it. They are about twice what is expected of an H100 at half the
# rates aimed at, with 16 processors:
#
#   devices          2 s to start CUDA
#   peaks            4 s of products, 4 s to start CUDA and load its libraries, as in all that follow
#   train            2 s to draw the weights (27 ns each, on 16 threads), 4 s to bring them there,
#                    three steps of 5 s, 18 of one micro-batch of 0.7 s each
#   optimizer        18 rows take 1 s each to build; their steps take 13 s by the published table,
#                    the roots of EVD 9 s
#   parity           100 s of processor time for the CPU's side, some of it on one thread
#   golden           10 files of small matrices, which wait for launches
#   roots            6 s for EVD, 5 s for all others
#   attention-*      2 s to draw the input, some ms for the work
#   sanitizer        a slow start: the tool reads every kernel first
#   train-own        as train, with slower attention
readonly limits=(devices=20 peaks=25 train=75 optimizer=90 parity=80 golden=40 roots=25
  attention-own=15 attention-cudnn=15 sanitizer=40 train-own=40)
time_limit=0  # of all together: to stay below 8 minutes
for entry in "${limits[@]}"; do time_limit=$((time_limit + ${entry#*=})); done

# CUDA may be elsewhere than where the binaries look for it.
find_cuda() {
  local folder
  for folder in /usr/local/cuda*/lib64 /usr/local/cuda*/targets/x86_64-linux/lib \
    /usr/lib/x86_64-linux-gnu "${CUDA_HOME:-/nowhere}/lib64" "${CONDA_PREFIX:-/nowhere}/lib"; do
    if [ -e "$folder/libcublasLt.so.13" ]; then
      export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
      return
    fi
  done
}

# Ours may need a newer C library than the system's own do, so they are only used where those are
# missing or too old.
find_cxx_run_time() {
  if ldd "$here"/bin/* 2>&1 | grep 'not found' | grep -qE 'libstdc|libgcc_s|GLIBCXX|CXXABI'; then
    export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$here/lib/gcc
  fi
}

# One line of results, as the programs print them.
line() {  # SECTION NAME VALUE UNIT REFERENCE STATUS
  local IFS=$'\t'
  echo "$*" >>"$out/results.tsv"
}

# What a section may take: all that is not promised to those after it.
seconds_for() {  # NAME
  local entry seconds=$((time_limit - SECONDS)) after=no
  for entry in "${limits[@]}"; do
    [ "$after" = no ] || seconds=$((seconds - ${entry#*=}))
    [ "${entry%=*}" != "$1" ] || after=yes
  done
  echo "$seconds"
}

# Runs a command under its limit, takes the lines it prints, and brings results.json up to date.
section() {  # NAME COMMAND...
  local code
  run_section "$@"
  code=$?
  write_json
  return "$code"
}

run_section() {  # NAME COMMAND...
  local name=$1 seconds code
  shift
  seconds=$(seconds_for "$name")
  if [ "$seconds" -lt 5 ]; then
    echo "gpu_check: $name: no time left" >&2
    line "$name" "not run: no time left" - - - FAIL
    return 1
  fi
  echo "gpu_check: $name, at most $seconds s" >&2
  timeout --kill-after=5 "$seconds" "$@" >"$out/$name.txt" 2>"$out/$name.log"
  code=$?
  grep -P '^[^\t]*(\t[^\t]*){5}$' "$out/$name.txt" | sed "s/^[^\t]*/$name/" >>"$out/results.tsv"
  [ "$code" -eq 0 ] && return 0
  if [ "$code" -eq 124 ] || [ "$code" -eq 137 ]; then
    line "$name" "ended after $seconds s" - - - FAIL
  elif ! grep -qP '\tFAIL$' "$out/$name.txt"; then
    line "$name" "ended with exit code $code: $(reason "$name")" - - - FAIL
  elif grep -qP '\tbroke off\t' "$out/$name.txt"; then
    line "$name" "because: $(reason "$name")" - - - info
  fi
  return "$code"
}

# The last line of what a section said on its standard error, fit for a line of results.
reason() {  # NAME
  tail -n 1 "$out/$1.log" | tr '\t' ' ' | cut -c 1-200
}

# "FILE kind=... max_rel_err=... ok" as lines of results. Whole trainings by DASH take minutes where
# --small is of use.
golden() {
  local files=("$here"/golden/*.safetensors) file kind error status
  [ -z "$small" ] || files=("$here"/golden/{roots,llama_grads,dash_cn_f1,train_adamw}.safetensors)
  stdbuf -oL "$here/bin/golden_replay" "${files[@]}" | while read -r file kind error status; do
    if [[ "$kind" == kind=* ]]; then
      printf 'golden\t%s\t%s\trelative\t-\t%s\n' "$file" "${error#max_rel_err=}" "$status"
    else
      echo "$file $kind $error $status" >&2
    fi
  done
  return "${PIPESTATUS[0]}"
}

# A small training step under compute-sanitizer, if there is one.
sanitizer() {
  local tool tokens i
  tool=$(PATH=$PATH:/usr/local/cuda/bin command -v compute-sanitizer)
  if [ -z "$tool" ] && [ -z "$small" ]; then
    printf 'sanitizer\tcompute-sanitizer is not installed\t-\t-\t-\tinfo\n'
    return 0
  fi
  for ((i = 0; i < 600; ++i)); do  # little-endian uint16
    printf -v tokens '%s\\x%02x\\x00' "${tokens:-}" $((i * i % 61))
  done
  printf '%b' "$tokens" >"$out/tokens.bin"
  cat >"$out/step.json" <<JSON
{
  "model": {"n_layer": 1, "d_model": 64, "n_head": 2, "n_kv_head": 1, "d_ff": 72, "vocab_size": 61, "seq_len": 33},
  "data": {"train": "tokens.bin"},
  "train": {"steps": 2, "batch": 3, "micro_batch": 2, "precision": "bf16"},
  "eval": {"every": 0, "final": false},
  "checkpoint": {"every": 0},
  "optimizer": {"type": "dash", "block_size": 40, "inverse_root": {"type": "newton_db", "matmul": "fp16"}},
  "device": "cuda"
}
JSON
  rm -rf "$out/step"
  # Libraries probe what a card can do by calls that may fail; ours are all checked.
  if ! ${tool:+"$tool" --report-api-errors no --error-exitcode 9} "$here/bin/dashlm" train "$out/step.json" \
    --out "$out/step" >&2; then
    printf 'sanitizer\ttwo training steps\tsee sanitizer.log\t-\t-\tFAIL\n'
    return 1
  fi
  printf 'sanitizer\ttwo training steps%s\t0\terrors\t0\tok\n' "${tool:+ under compute-sanitizer}"
}

run_all() {
  export -f golden sanitizer
  export here out small
  local check=("$here/bin/gpu_check")
  local options=(--configs "$here/configs" ${small:+--small})
  section peaks "${check[@]}" peaks "${options[@]}"
  section train "${check[@]}" train "${options[@]}"
  section optimizer "${check[@]}" optimizer "${options[@]}"
  section parity "${check[@]}" parity "${options[@]}"
  section golden bash -c golden
  section roots "${check[@]}" roots "${options[@]}"
  DASHLM_ATTENTION=own section attention-own "${check[@]}" attention "${options[@]}"
  with_cudnn attention-cudnn "${check[@]}" attention "${options[@]}"
  section sanitizer bash -c sanitizer
  DASHLM_ATTENTION=own section train-own "${check[@]}" train "${options[@]}"
}

# Without cuDNN own kernels do its work: that is said, but is no failure.
with_cudnn() {  # NAME COMMAND...
  local before
  before=$(wc -l <"$out/results.tsv")
  DASHLM_ATTENTION=cudnn section "$@" && return
  if grep -q "DASHLM_ATTENTION asks for cuDNN's attention, but" "$out/$1.log"; then
    head -n "$before" "$out/results.tsv" >"$out/results.new" && mv "$out/results.new" "$out/results.tsv"
    line "$1" "$(reason "$1")" - - - info
    write_json
  fi
}

# Cases that are within their bounds are many, and only counted.
print_table() {
  local section name value unit reference status
  echo "| section | what | value | unit | published, data sheet or bound | |"
  echo "|---|---|---|---|---|---|"
  while IFS=$'\t' read -r section name value unit reference status; do
    if [ "$section" = parity ] && [ "$status" = ok ] && [[ "$name" != "of "* ]]; then continue; fi
    echo "| $section | $name | $value | $unit | $reference | $status |"
  done <"$out/results.tsv"
}

json_text() {  # TEXT
  local text=${1//\\/\\\\}
  echo -n "\"${text//\"/\\\"}\""
}

card() {
  sed -n 's/^devices\t\([^\t]*\).*/\1/p' "$out/results.tsv" | head -n 1
}

# Under another name first, so that a run that is killed leaves a whole file.
write_json() {
  {
    echo "{\"card\": $(json_text "$(card)"), \"date\": \"$(date -u +%Y-%m-%d)\", \"seconds\": $SECONDS, \"results\": ["
    sed -E 's/[\\"]/\\&/g
      s/^([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)$/  {"section": "\1", "name": "\2", "value": "\3", "unit": "\4", "reference": "\5", "status": "\6"}/
      $!s/$/,/' "$out/results.tsv"
    echo "]}"
  } >"$out/results.json.new" && mv "$out/results.json.new" "$out/results.json"
}

# Runs the section devices; false if there is nothing to check. Without a driver CUDA's libraries
# may be missing too, so that the program does not even start.
gpu_answers() {
  if ! section devices "$here/bin/gpu_check" devices && [ ! -e /dev/nvidiactl ]; then
    cat "$out/devices.log"
    return 1
  fi
  ! grep -q "no GPU answers" "$out/devices.txt"
}

run() {  # [--small] [OUT]
  small=
  [ "${1:-}" = --small ] && { small=yes; shift; }
  if [ $# -gt 1 ] || [[ "${1:-}" = -* ]]; then
    echo "gpu_check: run [--small] [OUT]; got: $*" >&2
    exit 1
  fi
  here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
  mkdir -p "${1:-results}" && out=$(cd "${1:-results}" && pwd) || exit 1
  [ -x "$here/bin/gpu_check" ] || { echo "gpu_check: there is no bundle here; see --help" >&2; exit 1; }
  rm -f "$out/results.json"  # of an earlier run
  : >"$out/results.tsv" || { echo "gpu_check: cannot write to $out" >&2; exit 1; }
  find_cuda
  find_cxx_run_time
  SECONDS=0

  if ! gpu_answers; then
    rm -f "$out/results.json"
    echo "gpu_check: no GPU answers: nothing was checked"
    [ -e /dev/nvidiactl ] || return 0
    echo "gpu_check: but there is a driver; is it new enough for CUDA 13?"
    return 1
  fi

  run_all
  echo
  echo "$(card), $(date -u +%Y-%m-%d), $SECONDS s"
  echo
  print_table
  echo
  local failed
  failed=$(grep -cP '\tFAIL$' "$out/results.tsv")
  echo "gpu_check: $failed failed; $out/results.json has every figure"
  [ "$failed" -eq 0 ]
}

case "${1:-}" in
  build) shift; build "$@" ;;
  pack) pack "${2:?pack BUILD BUNDLE}" "${3:?pack BUILD BUNDLE}" ;;
  run) shift; run "$@" ;;
  *) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; [[ "${1:-}" =~ ^(-h|--help)$ ]] ;;
esac
