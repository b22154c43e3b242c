"""Times of a step of every row, measured apart from the runs: on a machine that is quiet, and in
turn, so that what disturbs one row disturbs all of them."""
import json
import pathlib
import statistics
import subprocess
import tempfile

from . import record, sweep
from .configs import merged
from .reader import ExperimentError, last_words
from .runs import Run, final_loss

STEPS = 21   # the first one warms up; 20 hold as many refreshes of f = 10 as a long run does
ROUNDS = 5
QUICK = {"train": {"steps": STEPS}, "eval": {"every": 0, "final": False}, "checkpoint": {"every": 0}}


def best_run(grid, size, row):
    """A run of the row's best settings, or of the first ones while nothing is known."""
    loss = final_loss(grid.records(size, row))
    best = sweep.state_of(row, loss).best
    first = sweep.all_settings(row, loss)[0]
    values = first.values if best is None else best
    return Run(grid.experiment, size, row, sweep.Settings(values, row.seeds[0]))


def measure_once(run, command):
    """Milliseconds of one short training: of a step, of the optimizer; and the machine."""
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "config.json"
        config.write_text(json.dumps(merged(run.config(), QUICK)), encoding="utf-8")
        out = pathlib.Path(folder) / "run"
        done = subprocess.run([*command, "train", str(config), "--out", str(out), "--quiet"],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ExperimentError(f"{run.name}: cannot be timed: {last_words(done, '')}")
        steps, _ = record.read_metrics(out / "metrics.jsonl")
        machine = record.read_json(out / "result.json")["machine"]
    optimizer = statistics.mean(one["optimizer_ms"] for one in steps[1:])
    rest = statistics.median(one["step_ms"] - one["optimizer_ms"] for one in steps[1:])
    return rest + optimizer, optimizer, machine


def measure(grid, command, say, rounds=ROUNDS):
    """Writes time.json of every row: the medians over the rounds."""
    runs = [best_run(grid, size, row) for size, row in grid.experiment.pairs()]
    found = {run.path.parent: [] for run in runs}
    for number in range(1, rounds + 1):
        for run in runs:
            found[run.path.parent].append(measure_once(run, command))
        say(f"round {number} of {rounds}")
    for run in runs:
        steps, optimizers, machines = zip(*found[run.path.parent])
        time = {"step_ms": round(statistics.median(steps), 3),
                "optimizer_ms": round(statistics.median(optimizers), 3), "machine": machines[0]}
        record.save(grid.time_path(run.size, run.row), time)
        say(f"{run.size.name} {run.row.name}: {time['step_ms']:.1f} ms a step, of which the "
            f"optimizer takes {time['optimizer_ms']:.1f}".strip())
