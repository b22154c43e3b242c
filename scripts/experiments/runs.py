"""The runs of an experiment: the config of each, where it lies, and what became of it."""
import dataclasses
import functools
import math
import pathlib

from . import record, sweep
from .configs import comparable, merged, nested
from .reader import ExperimentError, slug

SEED_KEYS = ("data.seed", "train.seed")  # a seed is that of the data's order and of the weights


@dataclasses.dataclass(frozen=True)
class Run:
    """One training run."""
    experiment: object
    size: object
    row: object
    settings: object

    @property
    def name(self):
        parts = (self.size.name, self.row.name, self.settings.name)
        return " / ".join(part for part in parts if part)

    @functools.cached_property
    def path(self):
        """Below the folders of runs and of results."""
        parts = (slug(self.size.name), slug(self.row.name), self.settings.name)
        return pathlib.Path(*(part for part in parts if part))

    def changes(self):
        """What its config changes of the experiment's base."""
        config = {}
        for layer in (self.size.set, self.row.set):
            config = merged(config, layer)
        for key, value in self.settings.values:
            config = merged(config, nested(key, value))
        for key in SEED_KEYS:
            config = merged(config, nested(key, self.settings.seed))
        return config

    def config(self):
        return {"extends": str(self.experiment.base), **self.changes()}


class Grid:
    """The runs of an experiment with their records in the folder `results`.

    A record ends its run: it is written once the run is at its end, and nothing asks for the run's
    own folder any more.
    """

    def __init__(self, experiment, results):
        self.experiment, self.results = experiment, pathlib.Path(results)
        self.known = {}  # a record stays as it is, but for evaluations that are added

    def record_path(self, run):
        return self.results / run.path.parent / (run.path.name + ".json")

    def asked(self, run):
        return comparable(merged(self.experiment.base_config, run.changes()))

    def record(self, run):
        """None while it is missing. A record of other settings is an error."""
        if run.path not in self.known:
            found = self._load(run)
            if found is None:
                return None
            self.known[run.path] = found
        return self.known[run.path]

    def save(self, run, found):
        record.save(self.record_path(run), found)
        self.known[run.path] = found

    def _load(self, run):
        path = self.record_path(run)
        found = record.load(path, record.KEYS)
        if found is None:
            return None
        self.check(run, found["asked"], path, "the file")
        return found

    def check(self, run, asked_then, path, what):
        """That what lies at `path` was made with the settings that the run has now."""
        asked = self.asked(run)
        for key in sorted(asked.keys() | asked_then.keys()):
            then, now = asked_then.get(key), asked.get(key)
            if then != now:
                raise ExperimentError(
                    f"{path}: made with {key} = {then}, but {self.experiment.path} says {now}; "
                    f"rename the row, or remove {what} to make the run again")

    def records(self, size, row):
        """The record of each of a row's settings, as a function."""
        return lambda settings: self.record(Run(self.experiment, size, row, settings))

    def time_path(self, size, row):
        """Of the times of a step that were measured apart from the runs (timing.py)."""
        parts = [slug(part) for part in (size.name, row.name) if part]
        return self.results.joinpath(*parts) / "time.json"

    def time(self, size, row):
        return record.load(self.time_path(size, row), ("step_ms", "optimizer_ms", "machine")) or {}

    def all_runs(self, size, row):
        """Every run that a row needs, as far as records tell."""
        loss = final_loss(self.records(size, row))
        return [Run(self.experiment, size, row, one) for one in sweep.all_settings(row, loss)]

    def missing(self, size, row):
        state = sweep.state_of(row, final_loss(self.records(size, row)))
        return [Run(self.experiment, size, row, one) for one in state.missing]


def final_loss(records):
    """The function of settings that sweep.state_of() asks for."""
    def loss(settings):
        found = records(settings)
        if found is None:
            return None
        return math.inf if found["val_loss"] is None else found["val_loss"]
    return loss
