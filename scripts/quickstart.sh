#!/usr/bin/env bash
# From nothing to a small Llama that has read English documentation: set-up, build, corpus and
# tokenizer; the same training with AdamW, Distributed Shampoo, DASH and DASH with exponent 1/2,
# about a minute each on two cores; then a comparison, a picture and a sample of text.
# Run it again to go on where it stopped.
set -euo pipefail
cd "$(dirname "$0")/.."

data=data/quickstart
runs=runs/quickstart
dashlm=build/release/dashlm
optimizers=(adamw shampoo dash dash-half)

say() { printf '\n== %s\n' "$*"; }

say "Set-up and build"
scripts/build.sh release dashlm

say "Corpus"
python3 scripts/make_corpus.py --out $data/corpus

say "Tokenizer and tokens"
if [ ! -f $data/tokens/dataset.json ]; then
  $dashlm tokenize $data/corpus --train-tokenizer 2048 --out $data/tokens
fi

for optimizer in "${optimizers[@]}"; do
  say "Training: $optimizer"
  $dashlm train configs/quickstart-$optimizer.json --resume
done

say "Comparison, on the validation set"
python3 scripts/compare.py "${optimizers[@]/#/$runs/}"
if python3 -c 'import matplotlib' 2>/dev/null; then
  echo "The curves: $(python3 scripts/plot.py "${optimizers[@]/#/$runs/}" -o $runs/loss.png)"
fi

say "What the last of them writes"
for prompt in "The file system" "If you want to"; do
  $dashlm generate $runs/dash-half --prompt "$prompt" --tokens 80 --seed 3
  echo
done
