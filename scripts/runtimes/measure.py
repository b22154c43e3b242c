"""Times the optimizer steps of a run-time file, row by row, with `dashlm bench optimizer`."""
import json
import shlex
import subprocess

from experiments.reader import ExperimentError, last_words, slug


def _config_of(runtimes, out, size, row):
    """In a file that every rank can read, also those on other machines that share `out`."""
    path = out / "configs" / f"{slug(size.name)}-{slug(row.name)}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(runtimes.config(size, row), indent=2) + "\n", encoding="utf-8")
    return path


def measure(runtimes, out, size, row, dashlm, launcher="", steps=None):
    """(machine, {stacking: line}) as `dashlm bench optimizer --json` prints them."""
    command = [*shlex.split(launcher), str(dashlm), "bench", "optimizer",
               str(_config_of(runtimes, out, size, row)), "--json"]
    if steps:
        command += ["--steps", str(steps)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise ExperimentError(f"{runtimes.path}: {size.name} / {row.name}: "
                              f"{last_words(answer, 'dashlm bench optimizer failed')}")
    machine, *lines = [json.loads(line) for line in answer.stdout.splitlines()]
    return machine, {line["stacking"]: line for line in lines}
