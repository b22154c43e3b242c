"""The runs of an experiment: where each lies, its config, and what became of it."""
import copy
import dataclasses
import json
import math
import pathlib

from . import sweep
from .spec import ExperimentError, slug

SEED_KEYS = ("data.seed", "train.seed")  # a seed is that of the data's order and of the weights


@dataclasses.dataclass(frozen=True)
class Run:
    """One training run."""
    experiment: object
    size: object
    row: object
    settings: object
    folder: pathlib.Path

    @property
    def name(self):
        parts = (self.size.name, self.row.name, self.settings.name)
        return " / ".join(part for part in parts if part)

    def config(self):
        """Its config: the base with the size's, the row's and its own settings."""
        config = {"extends": str(self.experiment.base)}
        for layer in (self.size.set, self.row.set):
            config = merged(config, layer)
        for key, value in self.settings.values:
            config = merged(config, nested(key, value))
        for key in SEED_KEYS:
            config = merged(config, nested(key, self.settings.seed))
        return config


def nested(key, value):
    """"a.b", 1 -> {"a": {"b": 1}}"""
    for part in reversed(key.split(".")):
        value = {part: value}
    return value


def merged(below, above):
    """As `extends` merges: objects key by key, everything else replaced."""
    result = copy.copy(below)
    for key, value in above.items():
        old = result.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        result[key] = merged(old, value) if both else value
    return result


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a run ended, from its result.json."""
    ended: str     # "finished" or "diverged"
    step: int
    val_loss: float   # infinite if it diverged
    seconds: float    # wall time of training, over all its processes

    @property
    def diverged(self):
        return self.ended == "diverged"


def run_of(experiment, out, size, row, settings):
    folder = pathlib.Path(out)
    for part in (slug(size.name), slug(row.name), settings.name):
        folder = folder / part if part else folder
    return Run(experiment, size, row, settings, folder)


def outcome_of(run):
    """None while a run is not at its end: not begun, cut short, or under way."""
    path = run.folder / "result.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise ExperimentError(f"{path}: {error}; remove it, and the run goes on") from error
    if found.get("ended") not in ("finished", "diverged"):
        return None
    loss = found.get("val_loss")
    diverged = found["ended"] == "diverged" or loss is None or not math.isfinite(loss)
    return Outcome("diverged" if diverged else "finished", found["step"],
                   math.inf if diverged else loss, found["wall_s"])


def losses_of(experiment, out, size, row):
    """The function of settings that sweep.state_of() asks for."""
    def loss(settings):
        outcome = outcome_of(run_of(experiment, out, size, row, settings))
        return None if outcome is None else outcome.val_loss
    return loss


def all_runs(experiment, out, size, row):
    """Every run that a row needs, as far as results tell."""
    loss = losses_of(experiment, out, size, row)
    return [run_of(experiment, out, size, row, one) for one in sweep.all_settings(row, loss)]
