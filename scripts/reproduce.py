#!/usr/bin/env python3
"""Runs an experiment: every training that is missing of it, as many workers as there are.

usage: reproduce.py EXPERIMENT.json [--dry-run | --time] [--launcher "mpirun -n 8"] [--jobs N]
                    [--out DIR] [--results DIR]

Start it again to go on where it stopped. It never repeats a finished run; a run that diverged is a
result. Several of them, on one machine or on several that share DIR, divide the runs among them.
"""
import argparse
import json
import pathlib
import shlex
import subprocess
import sys

from experiments import estimate, reader, spec, timing
from experiments.runs import Grid
from experiments.worker import Worker

ROOT = pathlib.Path(__file__).resolve().parent.parent


def built_program():
    answer = subprocess.run([ROOT / "scripts" / "preset.sh", "--program"], capture_output=True,
                            text=True, check=False)
    if answer.returncode != 0:
        raise reader.ExperimentError(answer.stderr.strip())
    return answer.stdout.strip()


def claim_folder(experiment, out):
    """A folder belongs to one experiment: its runs are told apart by their names alone."""
    mark = out / "experiment.json"
    mine = {"experiment": experiment.name, "base": str(experiment.base)}
    if mark.exists():
        found = reader.load(mark)
        if found != mine:
            raise reader.ExperimentError(
                f"{out} holds runs of the experiment {found.get('experiment')} on "
                f"{found.get('base')}, not of {experiment.name} on {experiment.base}; choose "
                "another --out")
    elif out.exists() and any(out.iterdir()):
        raise reader.ExperimentError(f"{out} holds other files; choose another --out")
    else:
        out.mkdir(parents=True, exist_ok=True)
        mark.write_text(json.dumps(mine, indent=2) + "\n", encoding="utf-8")


def say(line):
    print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("experiment", metavar="EXPERIMENT.json")
    parser.add_argument("--dry-run", action="store_true",
                        help="list runs with tokens, memory and time; run nothing")
    parser.add_argument("--time", action="store_true",
                        help="measure the time of a step of each row, in turn; on a quiet machine")
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR",
                        help="where the runs go (default: runs/EXPERIMENT)")
    parser.add_argument("--results", type=pathlib.Path, metavar="DIR",
                        help="where the records of finished runs go (default: results/EXPERIMENT "
                             "beside the file)")
    parser.add_argument("--launcher", default=[], type=shlex.split,
                        help="put before dashlm train, such as \"mpirun -n 8\"")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="trainings at a time")
    parser.add_argument("--dashlm", metavar="PATH", help="the program (default: the one built here)")
    options = parser.parse_args()
    if options.jobs < 1:
        parser.error("--jobs must be at least 1")
    try:
        experiment = spec.read(options.experiment)
        out = options.out or pathlib.Path("runs") / experiment.name
        dashlm = options.dashlm or built_program()
        grid = Grid(experiment, options.results or experiment.results)
        planner = estimate.Planner(experiment, dashlm)
        estimate.check(grid, planner)
        if options.dry_run:
            estimate.report(grid, planner, say)
            return 0
        if options.time:
            timing.measure(grid, [*options.launcher, dashlm], say)
            return 0
        claim_folder(experiment, out)
        return Worker(grid, out, dashlm, options.launcher, options.jobs, say).run()
    except (reader.ExperimentError, OSError) as error:
        print(f"reproduce: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
