#!/usr/bin/env python3
"""Compares the speed of two revisions on this machine.

usage: compare_revisions.py BASE [NEW] [--bench NAME]... [--rounds N] [--limit RATIO] [--json]
       compare_revisions.py --programs OLD NEW [...]

Both revisions are built in worktrees below build/compare, which a later call uses again. Their
benchmarks then run in turn, round by round, since the speed of a shared machine drifts. A ratio is
the time of NEW over that of BASE within one round: above 1, NEW is slower. The table has the median
of the ratios with the smallest and the largest.

  scripts/compare_revisions.py HEAD~5                    # what the last five commits changed
  scripts/compare_revisions.py v0.1.0 HEAD --limit 1.05  # exit code 1 if anything is 5% slower
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "compare"
CONFIGS = ROOT / "configs"


class CompareError(Exception):
    """What the user, or a program that failed, did wrong."""


def run(command, **options):
    """The standard output of a command that must succeed; its messages pass through."""
    answer = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True,
                            check=False, **options)
    if answer.returncode != 0:
        raise CompareError(f"{' '.join(map(str, command))} failed")
    return answer.stdout


# --- Benchmarks: from a folder with the programs to {figure: ms} ------------------------------------


def step(build):
    config = CONFIGS / "bench-small.json"
    figures = json.loads(run([build / "dashlm", "bench", "step", config, "--json"]))
    return {"step": figures["step_ms"]}


def optimizer(build):
    config = CONFIGS / "bench-optimizer.json"
    lines = run([build / "dashlm", "bench", "optimizer", config, "--json"]).splitlines()
    return {f"optimizer, stacking {line['stacking']}": line["total_ms"]
            for line in map(json.loads, lines) if "stacking" in line}


def roots(build):
    figures = json.loads(run([build / "dashlm", "bench", "roots", "--json", "--n", 128, 256]))
    return {f"roots, {row['method']} {row['n']}": row["ms"] for row in figures["roots"]}


def ops(build):
    text = run([build / "bench" / "bench_ops", "--benchmark_format=json"])
    unit = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}
    return {f"ops, {row['name']}": row["real_time"] * unit[row["time_unit"]]
            for row in json.loads(text)["benchmarks"]}


BENCHES = {bench.__name__: bench for bench in (step, optimizer, roots, ops)}
USUAL = ["step", "optimizer", "roots"]  # ops has some 60 figures, and needs more to be built


# --- Builds -----------------------------------------------------------------------------------------


def built(revision, benches):
    """The folder with the programs of a revision."""
    commit = run(["git", "-C", ROOT, "rev-parse", "--verify", revision + "^{commit}"]).strip()
    tree = FOLDER / commit[:12]
    if not tree.exists():
        run(["git", "-C", ROOT, "worktree", "prune"])
        run(["git", "-C", ROOT, "worktree", "add", "--detach", tree, commit],
            stderr=subprocess.DEVNULL)
    print(f"building {revision} ({commit[:12]})", file=sys.stderr)
    run(["cmake", "--preset", "release", "-Wno-dev", "--log-level=WARNING"], cwd=tree)
    targets = ["dashlm"] + (["bench_ops"] if "ops" in benches else [])
    run(["cmake", "--build", "--preset", "release", "--target", *targets], cwd=tree)
    return tree / "build" / "release"


# --- Comparison -------------------------------------------------------------------------------------


def measured(builds, benches, rounds):
    """[({figure: ms} of BASE, the same of NEW)], one pair a round."""
    pairs = []
    for index in range(rounds):
        print(f"round {index + 1} of {rounds}", file=sys.stderr)
        pair = [{}, {}]
        for bench in benches:
            for side in (0, 1) if index % 2 == 0 else (1, 0):  # neither always comes first
                pair[side].update(BENCHES[bench](builds[side]))
        pairs.append(tuple(pair))
    return pairs


def compared(pairs):
    """A row for each figure that both have."""
    rows = []
    for figure in pairs[0][0]:
        if not all(figure in side for pair in pairs for side in pair):
            continue
        ratios = [new[figure] / base[figure] for base, new in pairs]
        rows.append({"figure": figure,
                     "base_ms": statistics.median(base[figure] for base, _ in pairs),
                     "new_ms": statistics.median(new[figure] for _, new in pairs),
                     "ratio": statistics.median(ratios),
                     "least": min(ratios), "most": max(ratios)})
    if not rows:
        raise CompareError("the two have no figure in common")
    return rows


def table(rows, limit):
    width = max(len(row["figure"]) for row in rows)
    lines = [f"{'':{width}}{'base ms':>12}{'new ms':>12}{'ratio':>8}  {'spread':<13}"]
    for row in rows:
        slow = "  slower" if limit and row["ratio"] > limit else ""
        lines.append(f"{row['figure']:{width}}{row['base_ms']:12.3f}{row['new_ms']:12.3f}"
                     f"{row['ratio']:8.3f}  {row['least']:.3f}-{row['most']:.3f}{slow}")
    return "\n".join(line.rstrip() for line in lines)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("revisions", nargs="*", metavar="BASE [NEW]",
                        help="revisions of git; default of NEW: HEAD")
    parser.add_argument("--programs", nargs=2, type=pathlib.Path, metavar=("OLD", "NEW"),
                        help="folders with built programs, in place of revisions")
    parser.add_argument("--bench", action="append", choices=BENCHES, metavar="NAME",
                        help=f"one of {', '.join(BENCHES)}; default: {', '.join(USUAL)}")
    parser.add_argument("--rounds", type=int, default=5, help="default: 5")
    parser.add_argument("--limit", type=float,
                        help="exit code 1 if the median ratio of any figure is above it")
    parser.add_argument("--json", action="store_true", help="as JSON")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    if bool(options.programs) == bool(options.revisions) or len(options.revisions) > 2:
        parser.error("name one or two revisions, or --programs OLD NEW")
    return options


def main():
    options = arguments()
    benches = options.bench or USUAL
    try:
        builds = options.programs or [
            built(revision, benches) for revision in (*options.revisions, "HEAD")[:2]]
        rows = compared(measured(builds, benches, options.rounds))
    except (CompareError, OSError) as error:
        print(f"compare_revisions: {error}", file=sys.stderr)
        return 2
    print(json.dumps(rows, indent=1) if options.json else table(rows, options.limit))
    return int(bool(options.limit) and any(row["ratio"] > options.limit for row in rows))


if __name__ == "__main__":
    sys.exit(main())
