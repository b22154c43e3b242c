#!/usr/bin/env bash
# From nothing to a small Llama that has read English documentation: set-up, build, corpus and
# tokenizer; the same training with AdamW, Distributed Shampoo, DASH and DASH with exponent 1/2; then
# a comparison with a page of curves, and a sample of text. Run it again to go on where it stopped.
#
#   scripts/quickstart.sh [--short]
#
#   --short   150 steps instead of 600, in a run directory of its own, runs/quickstart-short
#
# Before it trains, it measures some steps of each optimizer and says how long all will take: on two
# cores with AVX-512 two and a half to five minutes, with AVX2 four or more, with --short a quarter
# of it.
set -euo pipefail
cd "$(dirname "$0")/.."

data=data/quickstart
runs=runs/quickstart
optimizers=(adamw shampoo dash dash-half)
steps=600  # as in configs/quickstart.json
settings=()
for argument in "$@"; do
  case "$argument" in
    --short)
      steps=150
      runs=runs/quickstart-short
      settings=(--set train.steps=150 --set eval.every=25 --set checkpoint.every=50)
      ;;
    -h | --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) echo "quickstart: unknown option '$argument'; see --help" >&2; exit 1 ;;
  esac
done

say() { printf '\n== %s\n' "$*"; }

minutes() {  # MILLISECONDS
  local tenths=$((($1 + 3000) / 6000))
  echo "$((tenths / 10)).$((tenths % 10)) min"
}

# --- how long it takes ----------------------------------------------------------------------------

finished() {  # OPTIMIZER
  grep -qs '"kind": *"final"' "$runs/$1/metrics.jsonl"
}

# That a run has still to make, from its newest checkpoint on.
steps_left() {  # OPTIMIZER
  local newest
  newest=$(find "$runs/$1/checkpoints" -maxdepth 1 -name 'step_????????' 2>/dev/null | sort | tail -n 1)
  newest=${newest##*step_}
  echo $((steps - 10#${newest:-0}))
}

# One step in whole milliseconds, measured.
measure() {  # OPTIMIZER [OPTION...]
  local optimizer=$1
  shift
  $dashlm bench step configs/quickstart-"$optimizer".json --steps 2 --json "$@" |
    sed -n 's/.*"step_ms": *\([0-9]*\).*/\1/p'
}

# The mean of steps with and without new inverse roots, which Shampoo computes at every tenth.
step_ms() {  # OPTIMIZER
  if [ "$1" = shampoo ]; then
    echo $((($(measure shampoo --set optimizer.frequency=1) + 9 * $(measure shampoo)) / 10))
  else
    measure "$1"
  fi
}

# Validation and checkpoints take about a tenth more.
estimate() {
  local optimizer ms each total=0 per_step=0
  for optimizer in "${optimizers[@]}"; do
    if finished "$optimizer"; then continue; fi
    ms=$(step_ms "$optimizer")
    each=$((ms * $(steps_left "$optimizer") * 11 / 10))
    printf '%-12s%s\n' "$optimizer" "$(minutes $each)"
    total=$((total + each))
    per_step=$((per_step + ms))
  done
  [ "$total" -gt 0 ] || { echo "none: all are trained already"; return 0; }
  printf '%-12s%s\n' "in all" "$(minutes $total)"
  if [ $((1000 * SECONDS + total)) -gt 600000 ] && [ "$steps" -eq 600 ]; then
    echo "With what came before that is more than ten minutes: scripts/quickstart.sh --short trains for" \
      "$(minutes $((per_step * 150 * 11 / 10)))."
  fi
}

# --- all of it ------------------------------------------------------------------------------------

echo "quickstart: set-up and build, corpus, tokenizer, an estimate of the time, ${#optimizers[@]} trainings, comparison"

say "Set-up and build"
scripts/build.sh auto dashlm
dashlm=$(scripts/preset.sh --program)

say "Corpus"
python3 scripts/make_corpus.py --out $data/corpus

say "Tokenizer and tokens"
if [ ! -f $data/tokens/dataset.json ]; then
  $dashlm tokenize $data/corpus --train-tokenizer 2048 --out $data/tokens
fi

say "Time that training will take on this machine"
estimate

for optimizer in "${optimizers[@]}"; do
  say "Training: $optimizer"
  $dashlm train configs/quickstart-"$optimizer".json --out "$runs/$optimizer" "${settings[@]}" --resume-or-start
done

say "Comparison, on the validation set"
python3 scripts/report.py "${optimizers[@]/#/$runs/}" --out "$runs/report"
echo "With curves: open the last file in a browser."

say "What the last of them writes"
for prompt in "The file system" "If you want to"; do
  $dashlm generate "$runs/dash-half" --prompt "$prompt" --tokens 80 --seed 3
  echo
done
