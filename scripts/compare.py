#!/usr/bin/env python3
"""Prints one line per run: perplexity, loss, optimizer time a step, wall time with all validation.

usage: compare.py [--markdown] RUN_DIRECTORY...
"""
import argparse
import json
import os
import statistics


def summarize(run):
    """The figures of one run, from its metrics.jsonl."""
    optimizer, step, final = [], [], {}
    with open(os.path.join(run, "metrics.jsonl"), encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            if entry["kind"] == "train":
                optimizer.append(entry["optimizer_ms"])
                step.append(entry["step_ms"])
            elif entry["kind"] == "final":
                final = entry
    if "val_ppl" not in final:
        raise SystemExit(f"compare.py: '{run}' has no final validation yet")
    return (os.path.basename(os.path.normpath(run)), f"{final['val_ppl']:.2f}",
            f"{final['val_loss']:.4f}", f"{statistics.mean(optimizer):.1f}",
            f"{statistics.mean(step):.1f}", f"{final['wall_s']:.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("runs", nargs="+", metavar="RUN_DIRECTORY")
    parser.add_argument("--markdown", action="store_true", help="as a Markdown table")
    arguments = parser.parse_args()
    rows = [("run", "perplexity", "loss", "optimizer ms/step", "ms/step", "seconds")]
    rows += [summarize(run) for run in arguments.runs]
    if arguments.markdown:
        rows.insert(1, ("---",) * len(rows[0]))
        print("\n".join("| " + " | ".join(row) + " |" for row in rows))
        return
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
        print("  ".join(cells))


if __name__ == "__main__":
    main()
