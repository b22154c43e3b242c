#!/usr/bin/env bash
# Sets up, builds and runs every test: those of the CPU, with the kernels for this processor, and
# those that compute once more with the kernels for other processors; and, where the CUDA toolkit is
# installed, the CUDA sources under the layer that runs them on the CPU (tests/host_cuda), after
# compiling them for GPUs. The last line counts all of them.
#
#   scripts/test.sh [--cpu | --kernels | --asan | --clang | --preset NAME] [CTEST OPTION...]
#
#   --cpu     only the tests of the CPU
#   --kernels only those that compute, with the kernels for each kind of processor
#   --asan    those with AddressSanitizer and UndefinedBehaviorSanitizer
#   --clang   those built by clang
#
# Of ctest's options those are passed on that choose tests (-R, -E, -L, -LE, -I, --rerun-failed),
# repeat or end them (--repeat, --timeout, --stop-on-failure) or say how much is printed (-V, -Q, -N).
#
# For example: scripts/test.sh --asan -R '^io'
set -uo pipefail
cd "$(dirname "$0")/.."

presets=(release kernels cuda-host)
while [ $# -gt 0 ]; do
  case "$1" in
    --cpu) presets=(release kernels); shift ;;
    --kernels) presets=(kernels); shift ;;
    --asan) presets=(asan); shift ;;
    --clang) presets=(clang); shift ;;
    --preset) presets=("${2:?--preset needs a name}"); shift 2 ;;
    -h | --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) break ;;
  esac
done

# What is left is ctest's, which would say so only after the build.
takes_value=' -R -E -L -LE -I -j -O --timeout --repeat --repeat-until-fail '
takes_none=' -V -VV -Q -N -F --verbose --quiet --progress --rerun-failed '
takes_none+=' --output-on-failure --stop-on-failure --schedule-random '
value=no
for option in "$@"; do
  if [ "$value" = yes ] || [[ $option == -j[0-9]* ]] || [[ $takes_none == *" $option "* ]]; then
    value=no
  elif [[ $takes_value == *" $option "* ]]; then
    value=yes
  else
    echo "test: unknown option '$option'; see --help" >&2
    exit 1
  fi
done

# Two threads find what goes wrong between threads; waiting ones must not take the processor from
# the tests beside them.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

# Those whose last digits depend on the processor's kernels; OpenBLAS's and ours, for processors
# without AVX2, with it, and with AVX-512.
kernel_suites='^(ops|parity|inverse_root|optim|model|train|golden_runs)\.'
kernel_rows=(PRESCOTT:baseline HASWELL:avx2 ZEN:avx2 SKYLAKEX:avx512)

# What the CUDA backend is behind; the rest of the suite is the same as on the CPU.
cuda_suites='^(host_cuda_layer|ops|parity|gpu_check|optim|inverse_root|model|golden_runs|cuda_runs|ranks)\.'

passed=0 failed=0
run_tests() {  # PRESET [CTEST OPTION...]
  local preset=$1 log counts
  shift
  log=$(mktemp)
  ctest --preset "$preset" -j "$(nproc 2>/dev/null || echo 2)" "$@" 2>&1 | tee "$log"
  counts=$(sed -nE 's/.*, ([0-9]+) tests failed out of ([0-9]+).*/\1 \2/p' "$log" | tail -n 1)
  rm -f "$log"
  if [ -z "$counts" ]; then  # ctest itself failed
    failed=$((failed + 1))
    return
  fi
  failed=$((failed + ${counts% *}))
  passed=$((passed + ${counts#* } - ${counts% *}))
}

run_with_other_kernels() {  # [CTEST OPTION...]
  local row ours
  for row in "${kernel_rows[@]}"; do
    ours=${row#*:}
    if ! DASHLM_INSTRUCTION_SET=$ours build/release/dashlm devices >/dev/null 2>&1; then
      echo "test: this processor cannot run kernels for $ours"
      continue
    fi
    echo "test: kernels $row"
    OPENBLAS_CORETYPE=${row%:*} DASHLM_INSTRUCTION_SET=$ours run_tests release -R "$kernel_suites" "$@"
  done
}

for preset in "${presets[@]}"; do
  if [ "$preset" = cuda-host ] && [ ${#presets[@]} -gt 1 ] && ! scripts/setup.sh --has-cuda; then
    echo "test: no CUDA toolkit here: the CUDA backend is neither compiled nor tested"
    continue
  fi
  if [ "$preset" = kernels ]; then
    scripts/build.sh release || { failed=$((failed + 1)); continue; }
    run_with_other_kernels "$@"
  elif [ "$preset" = cuda-host ]; then
    scripts/build.sh cuda dashlm && scripts/build.sh cuda-host || { failed=$((failed + 1)); continue; }
    run_tests cuda-host -R "$cuda_suites" "$@"
  else
    [ "$preset" != release ] || scripts/setup.sh --checks
    scripts/build.sh "$preset" || { failed=$((failed + 1)); continue; }
    run_tests "$preset" "$@"
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
