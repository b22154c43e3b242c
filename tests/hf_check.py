#!/usr/bin/env python3
"""Asks transformers about a checkpoint: that AutoTokenizer gives the ids of `dashlm tokenize`, that
AutoModelForCausalLM has the loss of `dashlm eval`, and that it knows where a text ends. Exit code
77: torch or transformers is missing.

usage: hf_check.py DASHLM
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))
import hf_loss  # pylint: disable=wrong-import-position

try:
    import torch  # pylint: disable=unused-import
    from transformers import AutoConfig, AutoTokenizer
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

TEXTS = ["The quick brown fox", " a space in front", "  two", "two  between", "at the end ", "\n",
         "a\n\nb", "\t", "1024 and 3.14", "caf\u00e9 \u4f60\u597d \U0001f600", "\u2581", "a\u2581b",
         "\u00a0x", "\r\n x", "e\u0301 \ufb01", " ", "don't do , this ."]
CONFIG = {
    "model": {"n_layer": 2, "d_model": 32, "n_head": 4, "n_kv_head": 2, "d_ff": 48,
              "vocab_size": 300, "seq_len": 16},
    "train": {"steps": 5, "batch": 4, "lr": 0.01},
    "eval": {"every": 0},
    "device": "cpu",
}


def run(*command):
    """Standard output of a command that must succeed."""
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=200).stdout


def write_jsonl(path, texts):
    """One document a line."""
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))


def check_ids(dashlm, folder, checkpoint, flags):
    """Each text a document of its own; bos at its beginning if the data had it."""
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    for i, text in enumerate(TEXTS):
        write_jsonl(folder / "one.jsonl", [text])
        out = folder / f"one_{i}"
        run(dashlm, "tokenize", str(folder / "one.jsonl"), "--tokenizer",
            str(checkpoint / "tokenizer.model"), "--val-fraction", "0", "--out", str(out), *flags)
        ours = list(hf_loss.read_tokens(out / "train_00000.bin"))
        theirs = tokenizer(text)["input_ids"]
        assert ours == theirs, (flags, text, ours, theirs)
        decoded = tokenizer.decode(ours, skip_special_tokens=True)
        assert decoded == text.replace("\u2581", " "), (text, decoded)  # SentencePiece's sign
    config = AutoConfig.from_pretrained(checkpoint)
    assert (config.bos_token_id, config.eos_token_id) == (1, 2), config
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id) == (1, 2), tokenizer


def check_loss(dashlm, checkpoint, tokens):
    """To what fp32 sums in another order differ."""
    ours = json.loads(run(dashlm, "eval", str(checkpoint), "--data", str(tokens), "--json"))
    model = hf_loss.load_model(checkpoint)
    loss, count = hf_loss.mean_loss(model, hf_loss.read_tokens(tokens))
    assert count == ours["targets"], (count, ours)
    assert abs(loss - ours["val_loss"]) < 1e-5 * loss, (loss, ours)


def check(dashlm, folder, flags):
    """A run whose data was tokenized with these flags."""
    texts = [f"The quick brown fox number {i % 17} jumps over the lazy dog, and runs away into the "
             f"dark green forest of {i * i} trees.\n\n  Then it sleeps." for i in range(300)]
    write_jsonl(folder / "texts.jsonl", texts)
    data = folder / "data"
    run(dashlm, "tokenize", str(folder / "texts.jsonl"), "--train-tokenizer", "300", "--out",
        str(data), "--val-fraction", "0.02", *flags)
    config = dict(CONFIG, data={"train": str(data / "train_*.bin"), "val": str(data / "val_*.bin"),
                                "tokenizer": str(data / "tokenizer.model")})
    (folder / "config.json").write_text(json.dumps(config))
    run(dashlm, "train", str(folder / "config.json"), "--out", str(folder / "run"))
    checkpoint = folder / "run/checkpoints/step_00000005"
    check_ids(dashlm, folder, checkpoint, flags)
    check_loss(dashlm, checkpoint, data / "val_00000.bin")


def check_raw_tokens(dashlm, folder):
    """A run without a tokenizer has no token that ends a text."""
    (folder / "raw.bin").write_bytes(bytes(i * 7 % 256 * (i % 2 == 0) for i in range(2000)))
    config = dict(CONFIG, data={"train": str(folder / "raw.bin")})
    (folder / "raw.json").write_text(json.dumps(config))
    run(dashlm, "train", str(folder / "raw.json"), "--out", str(folder / "raw"))
    checkpoint = folder / "raw/checkpoints/step_00000005"
    model = hf_loss.load_model(checkpoint)
    for config in (model.config, model.generation_config):
        assert (config.bos_token_id, config.eos_token_id) == (None, None), config


def main():
    dashlm = os.path.abspath(sys.argv[1])
    for flags in ([], ["--no-bos"]):
        with tempfile.TemporaryDirectory() as name:
            check(dashlm, pathlib.Path(name), flags)
    with tempfile.TemporaryDirectory() as name:
        check_raw_tokens(dashlm, pathlib.Path(name))
    print("transformers reads checkpoints as they are meant")


if __name__ == "__main__":
    main()
