#!/usr/bin/env python3
"""Times the optimizer steps of a run-time file and prints them beside the published ones.

usage: runtime_table.py experiments/FILE.json [--launcher "mpirun -n 8"] [--steps N] [--out DIR]
       runtime_table.py experiments/FILE.json --published

The table goes to the standard output, and with the figures behind it to DIR: runtime.md,
runtime.csv and runtime.json, written anew after each row. --published runs nothing and prints
what was published, with its ratios.
"""
import argparse
import pathlib
import sys

from experiments.reader import ExperimentError
from reproduce import built_program
from runtimes import spec
from runtimes.measure import measure
from runtimes.table import Table


def save(table, out):
    for name, text in (("md", table.markdown()), ("csv", table.csv()), ("json", table.json())):
        (out / f"runtime.{name}").write_text(text, encoding="utf-8")


def run(runtimes, options):
    out = options.out or pathlib.Path("runs") / runtimes.name
    dashlm = options.dashlm or built_program()
    measured, table = {}, None
    for size in runtimes.sizes:
        for row in runtimes.rows:
            print(f"runtime_table: {size.name}, {row.name}", file=sys.stderr, flush=True)
            machine, lines = measure(runtimes, out, size, row, dashlm, options.launcher,
                                     options.steps)
            measured[(size.name, row.name)] = lines
            table = Table(runtimes, measured, machine)
            save(table, out)
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("file", metavar="FILE.json")
    parser.add_argument("--published", action="store_true",
                        help="only the published figures, with their ratios; runs nothing")
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR",
                        help="where tables and configs go (default: runs/FILE)")
    parser.add_argument("--launcher", default="", help="put before dashlm, such as \"mpirun -n 8\"")
    parser.add_argument("--steps", type=int, metavar="N",
                        help="times to time each step, or f steps in a row (default: 5)")
    parser.add_argument("--dashlm", metavar="PATH", help="the program (default: the one built here)")
    options = parser.parse_args()
    if options.steps is not None and options.steps < 1:
        parser.error("--steps must be at least 1")
    try:
        runtimes = spec.read(options.file)
        table = Table(runtimes, {}) if options.published else run(runtimes, options)
        print(table.markdown(), end="")
        return 0
    except (ExperimentError, OSError) as error:
        print(f"runtime_table: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
