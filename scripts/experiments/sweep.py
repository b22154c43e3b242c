"""Which runs an experiment still needs: a function of the results that there are.

Each row is swept one key after the other, in the order of the file, with the others at their best
so far (coordinate-wise, as in arXiv 2509.02046), on the first seed. The best settings then run with
all seeds. Nothing but results on disk decides, so any number of workers come to the same runs.
"""
import dataclasses
import json


@dataclasses.dataclass(frozen=True)
class Settings:
    """What tells the runs of a row apart: swept keys with their values, and the seed."""
    values: tuple  # ((key, value), ...), in the order of the sweep
    seed: int

    @property
    def name(self):
        """That of the run's folder: "lr=0.003_weight_decay=0.1_seed=1"."""
        parts = [f"{key.split('.')[-1]}={text(value)}" for key, value in self.values]
        return "_".join(parts + [f"seed={self.seed}"])


def text(value):
    return value if isinstance(value, str) else json.dumps(value)


@dataclasses.dataclass(frozen=True)
class RowState:
    """Where a row stands: runs to make now, and once they are known the best settings."""
    missing: tuple            # of Settings
    best: tuple | None        # values, once the sweep is done
    at_edge: tuple            # keys whose best value is the first or last of several


def _walk(row, loss):
    """The settings that each key's values make, key by key, then those of the seeds; with the best
    values known by then. A key whose losses are not all known stays at the middle of its values."""
    best = {key: values[len(values) // 2] for key, values in row.sweep.items()}
    for key, values in row.sweep.items():
        tried = [Settings(tuple({**best, key: value}.items()), row.seeds[0]) for value in values]
        losses = [loss(one) for one in tried]
        if None not in losses:
            best[key] = values[losses.index(min(losses))]
        yield tried, best
    yield [Settings(tuple(best.items()), seed) for seed in row.seeds], best


def state_of(row, loss):
    """`loss(settings)` is the final loss of a run, infinite if it diverged, None if it is missing."""
    for count, (settings, best) in enumerate(_walk(row, loss)):
        missing = tuple(one for one in settings if loss(one) is None)
        if count == len(row.sweep):  # the seeds
            edges = tuple(key for key, values in row.sweep.items() if at_edge(best[key], values))
            return RowState(missing, tuple(best.items()), edges)
        if missing:
            return RowState(missing, None, ())


def at_edge(best, values):
    """Whether a better value may lie beyond those that were tried. Nothing lies below a zero."""
    return len(values) > 1 and best in (values[0], values[-1]) and best != 0


def all_settings(row, loss):
    """Those of every run of a row, as far as results tell, each once."""
    return list(dict.fromkeys(one for settings, _ in _walk(row, loss) for one in settings))


def most_runs(row):
    """How many runs a row takes: later keys' values meet earlier keys' best only once."""
    swept = 0
    for index, values in enumerate(row.sweep.values()):
        swept += len(values) - (1 if index > 0 else 0)
    return max(swept, 1) + len(row.seeds) - 1
