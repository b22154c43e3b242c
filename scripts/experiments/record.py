"""What is kept of one run: a small JSON file, enough for every table and picture of a report.

    run        its name
    config     its whole config by dotted key, without paths and without the machine's settings
    asked      of an experiment: the config it asked for, whose other keys are defaults
    program    of an experiment: version and commit
    ended, step, tokens, wall_s, val_loss, reason, machine, parameters, bytes_per_rank
               as in the run's result.json (src/train/run_result.h); null if it does not say
    step_ms, optimizer_ms         of a step: the median, and the mean
    curve      lists of step, tokens, loss (mean of the steps since the point before), seconds and
               optimizer_seconds (of all steps so far, without validation)
    val        lists of step and loss
    evaluated  of an experiment: the answer of `dashlm eval` to each of its "evaluate" options
"""
import json
import math
import os
import pathlib
import statistics

from .configs import comparable
from .reader import ExperimentError

POINTS = 60  # of a training curve: as many as a picture can show
FROM_RESULT = ("ended", "step", "tokens", "wall_s", "val_loss", "reason", "machine", "parameters",
               "bytes_per_rank")

OF_STEP = ("tokens", "loss", "step_ms", "optimizer_ms")  # that a line of metrics.jsonl must have
KEYS = ("asked", "config", *FROM_RESULT, "step_ms", "optimizer_ms", "curve", "val")  # of a record


def read_json(path, keys=()):
    """An object that has these keys."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ExperimentError(f"{path}: {error}") from error
    if not isinstance(found, dict):
        raise ExperimentError(f"{path} is damaged: it holds no object")
    absent = [key for key in keys if key not in found]
    if absent:
        raise ExperimentError(f"{path} is damaged: it has no {absent[0]}")
    return found


def read_metrics(path):
    """Training steps and validations by step. The last line may be cut short: its run goes on."""
    steps, validations = {}, {}
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
            if entry["kind"] == "train":
                steps[entry["step"]] = {**entry, **{key: entry[key] for key in OF_STEP}}
            elif entry["kind"] in ("eval", "final") and entry.get("val_loss") is not None:
                validations[entry["step"]] = entry["val_loss"]
        except (ValueError, KeyError, TypeError) as error:
            raise ExperimentError(f"{path}: line {number} is damaged ({error})") from error
    return [steps[step] for step in sorted(steps)], dict(sorted(validations.items()))


def curve_of(steps):
    """At most POINTS points."""
    names = ("step", "tokens", "loss", "seconds", "optimizer_seconds")
    curve = {name: [] for name in names}
    stride = max(1, math.ceil(len(steps) / POINTS))
    seconds = optimizer = 0.0
    for begin in range(0, len(steps), stride):
        part = steps[begin:begin + stride]
        seconds += sum(one["step_ms"] for one in part) / 1000
        optimizer += sum(one["optimizer_ms"] for one in part) / 1000
        losses = [one["loss"] for one in part if one["loss"] is not None]
        point = (part[-1]["step"], part[-1]["tokens"],
                 round(statistics.mean(losses), 5) if losses else None,
                 round(seconds, 3), round(optimizer, 3))
        for name, value in zip(names, point):
            curve[name].append(value)
    return curve


def of_folder(folder, name):
    """The record of a run directory."""
    folder = pathlib.Path(folder)
    if not (folder / "config.json").is_file():
        raise ExperimentError(f"{folder} is no run directory: it has no config.json")
    metrics = folder / "metrics.jsonl"
    steps, validations = read_metrics(metrics) if metrics.is_file() else ([], {})
    result = folder / "result.json"
    found = read_json(result) if result.is_file() else {}
    last = steps[-1] if steps else {"step": 0, "tokens": 0}
    found = {"ended": "running", "step": last["step"], "tokens": last["tokens"], **found}
    if found["ended"] == "finished" and not math.isfinite(found.get("val_loss") or 0):
        found["ended"] = "diverged"
    return {
        "run": name,
        "config": comparable(read_json(folder / "config.json")),
        **{key: found.get(key) for key in FROM_RESULT},
        "step_ms": rounded(statistics.median, [one["step_ms"] for one in steps]),
        "optimizer_ms": rounded(statistics.mean, [one["optimizer_ms"] for one in steps]),
        "curve": curve_of(steps),
        "val": {"step": list(validations), "loss": [round(one, 6) for one in validations.values()]},
    }


def rounded(mean, values):
    return round(mean(values), 3) if values else None


def at_end(record):
    return record["ended"] in ("finished", "diverged")


def load(path, keys=()):
    """A record that was saved, or None."""
    try:
        return read_json(path, keys)
    except FileNotFoundError:
        return None


def save(path, record):
    """All of it or nothing, also when several workers write, or one is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_text(json.dumps(record, separators=(",", ":")) + "\n", encoding="utf-8")
    unfinished.replace(path)
