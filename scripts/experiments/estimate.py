"""What the runs of an experiment take, before any of it runs: from `dashlm plan`, whose complaints
about a config are those that training would have; and from runs that are finished."""
import dataclasses
import json
import subprocess
import tempfile

from . import sweep
from .reader import ExperimentError, last_words


@dataclasses.dataclass(frozen=True)
class Cost:
    """Of one run."""
    tokens: int
    bytes_per_rank: int
    seconds: float | None    # None: unknown
    source: str              # where the seconds come from


class Planner:
    """Asks dashlm about configs, about each only once."""

    def __init__(self, experiment, dashlm):
        self.experiment, self.dashlm, self.known = experiment, dashlm, {}

    def plan(self, run):
        text = json.dumps(run.config())
        if text not in self.known:
            self.known[text] = self._ask(run, text)
        return self.known[text]

    def _ask(self, run, text):
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            command = [str(self.dashlm), "plan", file.name, "--json"]
            if self.experiment.ranks > 1:
                command += ["--ranks", str(self.experiment.ranks)]
            if self.experiment.gpu:
                command += ["--gpu", self.experiment.gpu]
            answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            words = last_words(answer, "dashlm plan failed").replace(file.name, "its config")
            raise ExperimentError(f"{self.experiment.path}: {run.name}: {words}")
        return json.loads(answer.stdout)

    def check_evaluation(self, option):
        """Options are read before the run is looked for, so a good one ends in that error."""
        absent = "no-such-run"
        answer = subprocess.run([str(self.dashlm), "eval", absent, *option.split()],
                                capture_output=True, text=True, check=False)
        if absent not in answer.stderr:
            words = last_words(answer, "dashlm eval does not take it")
            raise ExperimentError(f'{self.experiment.path}: evaluate: "{option}": {words}')

    def cost(self, run, finished):
        """`finished`: seconds of a run of this row and size that is done, or None."""
        plan = self.plan(run)
        ranks = plan.get("ranks", {}).get("ranks", [])
        most = max((rank["total_bytes"] for rank in ranks), default=plan["bytes"]["total"])
        seconds, source = finished, "finished run"
        if seconds is None:
            lines = plan["estimate"]["lines"] if self.experiment.gpu else []
            step = next((line["step_ms"] for line in lines
                         if line["ranks"] == self.experiment.ranks), None)
            seconds = None if step is None else step * plan["steps"] / 1000
            source = f"plan for {self.experiment.gpu}" if seconds is not None else ""
        return Cost(plan["tokens"], most, seconds, source)


def check(grid, planner):
    """Asks about every setting before anything runs; raises ExperimentError for the first bad one."""
    for size, row in grid.experiment.pairs():
        for run in grid.all_runs(size, row):
            planner.plan(run)
            if grid.asked(run).get("eval.final") is False:
                raise ExperimentError(f"{grid.experiment.path}: {run.name}: eval.final is false, but "
                                      "rows are compared by their final loss; leave it out")
    for option in grid.experiment.evaluate:
        planner.check_evaluation(option)


def finished_seconds(records):
    """Wall time of one that is finished, or None."""
    return next((one["wall_s"] for one in records if one and one["ended"] == "finished"), None)


def hours(seconds):
    if seconds is None:
        return "?"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"


def report(grid, planner, say):
    """One line a run, then one a row and one for all."""
    experiment = grid.experiment
    lines, rows = [], []
    total_runs, total_tokens, total_seconds = 0, 0, 0.0
    for size, row in experiment.pairs():
        runs = grid.all_runs(size, row)
        records = [grid.record(run) for run in runs]
        done = finished_seconds(records)
        cost = None
        for run, found in zip(runs, records):
            cost = planner.cost(run, done)
            lines.append((run.name, f"{cost.tokens / 1e6:.1f}M", f"{cost.bytes_per_rank / 2**30:.2f}",
                          hours(cost.seconds), found["ended"] if found else "missing"))
        count = sweep.most_runs(row)
        seconds = None if cost.seconds is None else count * cost.seconds
        rows.append((" / ".join(part for part in (size.name, row.name) if part), str(count),
                     f"{count * cost.tokens / 1e9:.2f}G", f"{cost.bytes_per_rank / 2**30:.2f}",
                     hours(seconds), cost.source))
        total_runs += count
        total_tokens += count * cost.tokens
        total_seconds = None if seconds is None or total_seconds is None else total_seconds + seconds
    table(("run", "tokens", "GiB a rank", "time", "state"), lines, say)
    say("")
    table(("row", "runs", "tokens", "GiB a rank", "time", "estimated from"), rows, say)
    say(f"in all {total_runs} runs, {total_tokens / 1e9:.2f}G tokens, {hours(total_seconds)}"
        + (f" on {experiment.ranks} ranks" if experiment.ranks > 1 else ""))
    if total_seconds is None:
        say("time is known once one run of each row is finished, or for GPUs (\"gpu\" in the file)")


def table(header, rows, say):
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        cells = [row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
        say("  ".join(cells).rstrip())
