#!/usr/bin/env bash
# From nothing to a small Llama that has read English documentation: set-up, build, corpus,
# tokenizer, two to three minutes of training on two cores, perplexity, a sample, a picture.
# Run it again to go on where it stopped.
set -euo pipefail
cd "$(dirname "$0")/.."

data=data/quickstart
run=runs/quickstart
dashlm=build/release/dashlm

say() { printf '\n== %s\n' "$*"; }

say "Set-up and build"
scripts/build.sh release dashlm

say "Corpus"
python3 scripts/make_corpus.py --out $data/corpus

say "Tokenizer and tokens"
if [ ! -f $data/tokens/dataset.json ]; then
  $dashlm tokenize $data/corpus --train-tokenizer 2048 --out $data/tokens
fi

say "Training"
$dashlm train configs/quickstart.json --resume

say "Result"
$dashlm eval $run
if python3 -c 'import matplotlib' 2>/dev/null; then
  echo "The loss: $(python3 scripts/plot.py $run -o $run/loss.png)"
fi
for prompt in "The file system" "If you want to"; do
  printf '\n> %s\n' "$prompt"
  $dashlm generate $run --prompt "$prompt" --tokens 80 --seed 3
done
