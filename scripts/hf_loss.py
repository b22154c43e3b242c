#!/usr/bin/env python3
"""Loads a checkpoint with Hugging Face transformers and prints its loss on raw uint16 tokens, to be
compared with `dashlm eval CHECKPOINT --data TOKENS`. Needs the packages torch and transformers.

usage: hf_loss.py CHECKPOINT_FOLDER TOKENS.bin
"""
import argparse
import array

import torch
from transformers import LlamaForCausalLM


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("checkpoint", metavar="CHECKPOINT_FOLDER")
    parser.add_argument("tokens", metavar="TOKENS.bin")
    arguments = parser.parse_args()

    model = LlamaForCausalLM.from_pretrained(arguments.checkpoint).eval()
    length = model.config.max_position_embeddings
    tokens = array.array("H")
    with open(arguments.tokens, "rb") as file:
        tokens.frombytes(file.read())
    total, count = 0.0, 0
    with torch.no_grad():
        for begin in range(0, len(tokens) - 1, length):
            window = torch.tensor(tokens[begin:begin + length + 1].tolist())
            logits = model(window[None, :-1]).logits[0]
            total += torch.nn.functional.cross_entropy(logits, window[1:], reduction="sum").item()
            count += len(window) - 1
    print(f"loss {total / count:.7f} over {count} tokens")


if __name__ == "__main__":
    main()
