#!/usr/bin/env python3
"""Loads a checkpoint with Hugging Face transformers and prints its loss in fp32 on a token file in
any format of docs/data.md, to be compared with `dashlm eval CHECKPOINT --data TOKENS` (of a run
with train.precision = bf16 that computes in bf16, so the last digits differ). Needs the packages
torch and transformers, 4.36 or later.

usage: hf_loss.py CHECKPOINT_FOLDER TOKENS
"""
import argparse
import array
import struct
import sys

LLMC_HEADER = 1024
LLMC_TYPES = {20240520: ("H", 1), 20240801: ("I", 7)}  # magic: type of a token, version
OWN_HEADER = 64
OWN_MAGIC = b"\xff\xffDLTOK\n"


def layout(head):
    """(type of a token, bytes before the first, number of tokens or None) of a file's beginning."""
    if head.startswith(OWN_MAGIC):
        version, width, _, count = struct.unpack_from("<IIQQ", head, len(OWN_MAGIC))
        if version != 1 or width not in (2, 4):
            raise SystemExit(f"hf_loss.py: version {version} with {width} bytes a token is unknown")
        return "H" if width == 2 else "I", OWN_HEADER, count
    if len(head) >= LLMC_HEADER:
        magic, version, count = struct.unpack_from("<III", head)
        if magic in LLMC_TYPES and LLMC_TYPES[magic][1] == version:
            return LLMC_TYPES[magic][0], LLMC_HEADER, count
    return "H", 0, None


def read_tokens(path):
    """The tokens of a file in dashlm's format or llm.c's, or of raw 16-bit numbers."""
    with open(path, "rb") as file:
        content = file.read()
    kind, header, count = layout(content)
    tokens = array.array(kind)
    body = content[header:]
    if len(body) % tokens.itemsize or count not in (None, len(body) // tokens.itemsize):
        raise SystemExit(f"hf_loss.py: '{path}' has {len(body)} bytes of tokens after its header "
                         f"of {header}, which is not what that says")
    tokens.frombytes(body)
    if sys.byteorder == "big":
        tokens.byteswap()
    return tokens


def load_model(folder):
    """The model in fp32, whatever its weights are in: from version 5 on that is not the default."""
    import torch
    import transformers
    version = tuple(int(part) for part in transformers.__version__.split(".")[:2])
    name = "dtype" if version >= (4, 56) else "torch_dtype"
    return transformers.LlamaForCausalLM.from_pretrained(folder, **{name: torch.float32}).eval()


def mean_loss(model, tokens):
    """The mean over all tokens but the first, in the windows of `dashlm eval`; their number."""
    import torch
    length = model.config.max_position_embeddings
    total, count = 0.0, 0
    with torch.no_grad():
        for begin in range(0, len(tokens) - 1, length):
            window = torch.tensor(tokens[begin:begin + length + 1].tolist())
            logits = model(window[None, :-1]).logits[0].float()
            total += torch.nn.functional.cross_entropy(logits, window[1:], reduction="sum").item()
            count += len(window) - 1
    return total / count, count


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("checkpoint", metavar="CHECKPOINT_FOLDER")
    parser.add_argument("tokens", metavar="TOKENS")
    arguments = parser.parse_args()
    tokens = read_tokens(arguments.tokens)
    loss, count = mean_loss(load_model(arguments.checkpoint), tokens)
    print(f"loss {loss:.7f} over {count} tokens")


if __name__ == "__main__":
    main()
