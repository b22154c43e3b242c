"""What the records of an experiment say about each of its rows."""
import dataclasses
import functools
import math
import statistics

from experiments import record, runs, sweep

from . import stats

TRACK_MARGIN = 0.004  # of the modded-nanogpt track; for runs of one seed, whose spread is unknown


@dataclasses.dataclass(frozen=True)
class RowResult:
    """A row at one size: the runs of its sweep, and those of its best settings."""
    size: str
    name: str
    best: tuple         # ((key, value), ...); of the settings so far if the sweep is not complete
    at_edge: tuple      # keys whose best value is the first or the last one
    finals: dict        # seed -> record, of the best settings
    tried: tuple        # (Settings, record), of every run that there is
    expected: int       # runs that the row has in all
    published: dict     # figures of others, by name
    time: dict          # of a step, measured apart from the runs; empty if nobody did

    @property
    def complete(self):
        return len(self.tried) == self.expected

    @functools.cached_property
    def losses(self):
        """{seed: final loss} of the best settings."""
        return {seed: one["val_loss"] for seed, one in self.finals.items()
                if one["ended"] == "finished" and one["val_loss"] is not None}

    @property
    def diverged(self):
        return [(settings, one) for settings, one in self.tried if one["ended"] == "diverged"]

    @property
    def mean(self):
        return statistics.mean(self.losses.values()) if self.losses else None

    @property
    def spread(self):
        return statistics.stdev(self.losses.values()) if len(self.losses) > 1 else None

    def median(self, key):
        """Of a figure of the records of the best settings."""
        values = [one[key] for one in self.finals.values() if one.get(key) is not None]
        return statistics.median(values) if values else None

    def curve(self):
        """Steps of validation and the mean loss over the seeds; only where all have one."""
        ended = [one for seed, one in self.finals.items() if seed in self.losses]
        if not ended:
            return [], []
        by_step = [dict(zip(one["val"]["step"], one["val"]["loss"])) for one in ended]
        steps = sorted(set.intersection(*(set(one) for one in by_step)))
        return steps, [statistics.mean(one[step] for one in by_step) for step in steps]

    def any_ended(self):
        """The record of a seed that has a final loss; of the first one if none has."""
        return self.finals[next(iter(self.losses), next(iter(self.finals)))]

    def tokens_per_step(self):
        one = self.any_ended()
        return one["tokens"] / one["step"] if one["step"] else math.nan

    def milliseconds(self, key):
        """"step_ms" or "optimizer_ms": measured apart, or else during the runs."""
        return self.time[key] if self.time else self.median(key)


def of_experiment(grid):
    """A RowResult of every row at every size that has any run."""
    rows = []
    for size, row in grid.experiment.pairs():
        records = grid.records(size, row)
        loss = runs.final_loss(records)
        tried = tuple((one, records(one)) for one in sweep.all_settings(row, loss) if records(one))
        if not tried:
            continue
        state = sweep.state_of(row, loss)
        best = state.best or _best_so_far(tried)
        finals = {one.seed: found for one, found in tried if one.values == best}
        rows.append(RowResult(size.name, row.name, best, state.at_edge, finals, tried,
                              sweep.most_runs(row), row.published, grid.time(size, row)))
    return rows


def _best_so_far(tried):
    def loss(pair):
        found = pair[1]["val_loss"]
        return math.inf if found is None else found
    return min(tried, key=loss)[0].values


def of_folders(folders):
    """Each run directory as a row; runs that differ in nothing but their seed are one row."""
    groups = {}
    for folder, name in zip(folders, names_of(folders)):
        one = record.of_folder(folder, name)
        same = {key: value for key, value in one["config"].items() if key not in runs.SEED_KEYS}
        groups.setdefault(str(sorted(same.items())), []).append(one)
    return [_row_of_runs(group) for group in groups.values()]


def names_of(folders):
    """The last parts of each path, as many as tell all of them apart."""
    parts = [folder.resolve().parts for folder in folders]
    most = max(map(len, parts))
    for count in range(1, most + 1):
        names = ["/".join(one[-count:]) for one in parts]
        if len(set(names)) == len(set(parts)):
            break
    return names


def _row_of_runs(group):
    finals = {}
    for one in group:
        seed = one["config"].get("train.seed", 0)
        while seed in finals:  # the same run twice
            seed += 1
        finals[seed] = one
    tried = tuple((sweep.Settings((), seed), one) for seed, one in finals.items())
    return RowResult("", group[0]["run"], (), (), finals, tried, len(tried), {}, {})


@dataclasses.dataclass(frozen=True)
class Reached:
    """A target loss: the step at which the mean of a row's runs is below it, for certain."""
    target: float
    step: float | None   # None: never
    tokens: float | None
    margin: float        # by which the mean must lie below the target


def margin_of(rows):
    """By how much one run must lie below a target for it to count as reached: from the spread over
    seeds (one-sided, 95%), and where there is none the modded-nanogpt track's."""
    spread = stats.pooled_spread([list(row.losses.values()) for row in rows])
    return TRACK_MARGIN if spread is None else stats.ONE_SIDED * spread


def reached(row, target, margin):
    steps, losses = row.curve()
    least = margin / math.sqrt(max(len(row.losses), 1))
    step = stats.first_below(steps, losses, target - least)
    return Reached(target, step, None if step is None else step * row.tokens_per_step(), least)


def whole(row):
    """All of a row's training, to its own final loss."""
    one = row.any_ended()
    return Reached(row.mean, one["step"], one["tokens"], 0)


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Of a claim that one row is lower than another, or that both are the same."""
    text: str
    difference: stats.Difference | None


def judge(comparison, rows):
    """`comparison` of the experiment file on the rows of one size."""
    named = {row.name: row for row in rows}
    pair = [named.get(name) for name in (comparison.row, comparison.against)]
    if None in pair or not all(row.losses for row in pair):
        return Verdict("not run", None)
    found = stats.paired_difference(pair[0].losses, pair[1].losses)
    if found is None or found.low is None:
        return Verdict("one seed: cannot be told", found)
    if comparison.expect == "lower":
        if found.certain:
            return Verdict("holds" if found.mean < 0 else "does not hold: it is higher", found)
        return Verdict("cannot be told apart", found)
    within = comparison.within
    if -within <= found.low and found.high <= within:
        return Verdict(f"holds within ±{within:g}", found)
    outside = found.low > within or found.high < -within
    return Verdict("does not hold" if outside else f"cannot be told to within ±{within:g}", found)
