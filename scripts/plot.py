#!/usr/bin/env python3
"""Draws the loss curves of one or more runs from their metrics.jsonl.

usage: plot.py [-o loss.png] [--smooth N] RUN_DIRECTORY...
"""
import argparse
import json
import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


def read_metrics(run):
    """Lists of (step, loss) for training, and (step, loss) for validation."""
    train, validation = [], []
    with open(os.path.join(run, "metrics.jsonl"), encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            if entry["kind"] == "train" and entry["loss"] is not None:
                train.append((entry["step"], entry["loss"]))
            elif entry.get("val_loss") is not None:
                validation.append((entry["step"], entry["val_loss"]))
    return train, validation


def moving_average(points, window):
    """Each loss replaced by the mean of the last `window` ones."""
    smooth, recent = [], []
    for step, loss in points:
        recent.append(loss)
        recent = recent[-window:]
        smooth.append((step, sum(recent) / len(recent)))
    return smooth


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("runs", nargs="+", metavar="RUN_DIRECTORY")
    parser.add_argument("-o", "--out", default="loss.png", help="the picture (default: %(default)s)")
    parser.add_argument("--smooth", type=int, default=20, help="steps to average training loss over")
    arguments = parser.parse_args()

    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    lowest, start = float("inf"), 0.0
    for run in arguments.runs:
        name = os.path.basename(os.path.normpath(run))
        train, validation = read_metrics(run)
        curve = moving_average(train, max(1, arguments.smooth))
        (line,) = axes.plot(*zip(*curve), linewidth=1.2, alpha=0.6, label=f"{name}: training")
        lowest = min(lowest, min(loss for _, loss in curve))
        start = max(start, curve[0][1])
        if validation:
            axes.plot(*zip(*validation), "o-", color=line.get_color(), markersize=5,
                      label=f"{name}: validation {validation[-1][1]:.3f}")
            lowest = min(lowest, min(loss for _, loss in validation))
    # The first steps are high and tell little; the eye belongs on the rest.
    axes.set_ylim(lowest - 0.05 * (start - lowest), lowest + 0.75 * (start - lowest))
    axes.set_xlabel("step")
    axes.set_ylabel("loss (nats per token)")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(arguments.out, dpi=120)
    print(arguments.out)


if __name__ == "__main__":
    main()
