#!/usr/bin/env python3
"""Reports what runs came to: as a table here, and with --out as Markdown, CSV, pictures and a page.

usage: report.py RUN_DIRECTORY... [--out DIR] [--open]
       report.py EXPERIMENT.json [--results DIR] [--out DIR] [--markdown FILE] [--open]

An experiment's report is made from its records alone, so it needs neither the runs nor a build.
"""
import argparse
import pathlib
import shlex
import sys
import webbrowser

from experiments import reader, spec
from experiments.runs import Grid
from reporting import content, drawing, markdown, page, summary


def report_of(paths, results):
    if paths[0].suffix == ".json":
        if len(paths) > 1:
            raise reader.ExperimentError("one experiment at a time, or run directories")
        experiment = spec.read(paths[0])
        grid = Grid(experiment, results or experiment.results)
        rows = summary.of_experiment(grid)
        if not rows:
            raise reader.ExperimentError(f"{grid.results} has no records; make the runs with "
                                         f"scripts/reproduce.py {paths[0]}")
        return content.of_experiment(experiment, rows)
    return content.of_runs(summary.of_folders(paths))


def draw(report, folder, suffixes):
    """Writes every chart into the folder; {id(chart): name of the first file}."""
    vl_convert = drawing.library()
    if not vl_convert:
        print(f"report: no pictures and no page without vl-convert; {drawing.INSTALL}",
              file=sys.stderr)
        return {}
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {}
    for i, chart in enumerate(report.charts()):
        for suffix in suffixes:
            path = folder / f"{i + 1:02}_{chart.name}{suffix}"
            path.write_bytes(drawing.as_picture(vl_convert, chart, suffix))
            pictures.setdefault(id(chart), path.name)
    return pictures


def write_all(report, out):
    """report.md, one CSV file a table, and, where charts can be drawn, pictures and report.html.
    Returns the last file."""
    out.mkdir(parents=True, exist_ok=True)
    pictures = draw(report, out, (".png", ".svg"))
    for i, table in enumerate(report.tables()):
        (out / f"{i + 1:02}_{table.name}.csv").write_text(markdown.as_csv(table), encoding="utf-8")
    (out / "report.md").write_text(markdown.render(report, pictures), encoding="utf-8")
    if not drawing.library():
        return out / "report.md"
    (out / "report.html").write_text(page.render(report, drawing.library()), encoding="utf-8")
    return out / "report.html"


def write_markdown(report, path, command):
    """One page of documentation, with its pictures in a folder beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pictures = draw(report, path.with_suffix(""), (".png",))
    pictures = {chart: f"{path.stem}/{name}" for chart, name in pictures.items()}
    path.write_text(markdown.render(report, pictures, f"Made by `{command}`."), encoding="utf-8")
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("paths", nargs="+", type=pathlib.Path, metavar="RUN_OR_EXPERIMENT")
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR",
                        help="write Markdown, CSV, pictures and the page here")
    parser.add_argument("--markdown", type=pathlib.Path, metavar="FILE",
                        help="write Markdown alone here, its pictures in a folder of that name")
    parser.add_argument("--results", type=pathlib.Path, metavar="DIR",
                        help="an experiment's records (default: results/EXPERIMENT beside it)")
    parser.add_argument("--open", action="store_true", help="show the page in a browser")
    options = parser.parse_args()
    try:
        report = report_of(options.paths, options.results)
        print(markdown.as_text(report.tables()[0]))
        if options.markdown:
            results = ["--results", options.results] if options.results else []
            words = [*options.paths, *results, "--markdown", options.markdown]
            command = shlex.join(map(str, ["scripts/report.py", *words]))
            print(write_markdown(report, options.markdown, command))
        if options.out:
            last = write_all(report, options.out)
            print(last)
            if options.open:
                webbrowser.open(last.resolve().as_uri())
        return 0
    except (reader.ExperimentError, OSError) as error:
        print(f"report: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
