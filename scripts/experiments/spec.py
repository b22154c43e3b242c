"""An experiment file: what is compared, with what settings, and how often.

    {
      "base": "../configs/quickstart.json",
      "rows": [{"name": "AdamW", "set": {"optimizer": {"type": "adamw"}}}, ...],
      "sweep": {"train.lr": [1.5e-3, 3e-3, 6e-3], "optimizer.weight_decay": [0, 0.1]},
      "seeds": [1, 2, 3]
    }

docs/experiments.md has all keys. Paths are relative to the file.
"""
import dataclasses
import functools
import pathlib

from .configs import config_with_parents
from .reader import Reader, is_number, load


@dataclasses.dataclass(frozen=True)
class Size:
    """A model size: settings that all its rows share."""
    name: str
    set: dict


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the tables: an optimizer with its settings."""
    name: str
    set: dict
    sweep: dict       # key -> values, in the order in which they are swept
    seeds: tuple      # the first one is the sweep's
    sizes: tuple      # names; empty: all
    published: dict   # figures of others, by name: {"perplexity": 11.68}


@dataclasses.dataclass(frozen=True)
class Comparison:
    """A claim about the final losses of two rows."""
    claim: str
    row: str
    against: str
    expect: str       # "lower" or "same"
    within: float     # nats; as far apart as "same" allows


@dataclasses.dataclass(frozen=True)
class Experiment:
    path: pathlib.Path
    title: str
    about: tuple      # paragraphs at the beginning of its report
    base: pathlib.Path
    rows: tuple
    sizes: tuple
    ranks: int        # that the runs are meant for
    gpu: str          # that time is estimated for; "" for this machine's CPU
    baseline: str     # the row that others are compared with
    targets: tuple    # losses, beside the baseline's own
    comparisons: tuple
    published: str    # whose the rows' published figures are
    evaluate: tuple   # options of `dashlm eval` for each finished run
    factors: tuple    # files of `dashlm bench roots --from`, for the report

    @property
    def name(self):
        return self.path.stem

    @functools.cached_property
    def base_config(self):
        """The base with all that it extends."""
        return config_with_parents(self.base)

    @property
    def results(self):
        """Where the records of its runs lie unless somebody says otherwise."""
        return self.path.parent / "results" / self.name

    def pairs(self):
        """Every (size, row) that is to be run."""
        return [(size, row) for size in self.sizes for row in self.rows
                if not row.sizes or size.name in row.sizes]


def _read_row(entry, name, sweep, seeds, sizes):
    row = Row(name=name, set=entry.get("set", dict, {}), sweep=entry.sweep("sweep", sweep),
              seeds=entry.seeds(list(seeds)), sizes=tuple(entry.get("sizes", list, [])),
              published=entry.numbers("published"))
    for wanted in row.sizes:
        if wanted not in sizes:
            entry.fail(f'"{wanted}" is none of the sizes {", ".join(sizes)}', "sizes")
    return row


def _read_rows(reader, sizes):
    sweep, seeds = reader.sweep("sweep", {}), reader.seeds([1])
    names = [size.name for size in sizes]
    rows = reader.named("rows", lambda entry, name: _read_row(entry, name, sweep, seeds, names))
    if not rows:
        reader.fail("must have at least one row", "rows")
    for index, row in enumerate(rows):
        for other in rows[:index]:
            if (row.set, row.sweep, row.seeds) == (other.set, other.sweep, other.seeds):
                reader.fail(f'"{row.name}" is the same as "{other.name}"', f"rows[{index}]")
    return rows


def _read_comparisons(reader, names):
    found = []
    for index, values in enumerate(reader.get("comparisons", list, [])):
        entry = Reader(reader.path, f"comparisons[{index}]", values)
        one = Comparison(claim=entry.get("claim", str, required=True),
                         row=entry.choice("row", names, ""),
                         against=entry.choice("against", names, ""),
                         expect=entry.choice("expect", ("lower", "same"), "lower"),
                         within=entry.get("within", (float, int), 0.01))
        if one.row == one.against:
            entry.fail("is the row that it is compared with", "against")
        entry.end()
        found.append(one)
    return tuple(found)


def read_sizes(reader):
    return reader.named("sizes", lambda entry, name: Size(name, entry.get("set", dict, {})))


def _existing(reader, key):
    """Files beside the experiment file."""
    files = [reader.path.parent / name for name in reader.texts(key)]
    for file in files:
        if not file.is_file():
            reader.fail(f"no file {file}", key)
    return tuple(files)


def read(path):
    """The experiment of a file; an ExperimentError says what is wrong with it."""
    path = pathlib.Path(path)
    reader = Reader(path, "", load(path))
    base = reader.file("base")
    sizes = read_sizes(reader) or (Size("", {}),)
    rows = _read_rows(reader, sizes)
    names = [row.name for row in rows]
    experiment = Experiment(
        path=path, base=base, rows=rows, sizes=sizes,
        title=reader.get("title", str, path.stem), about=reader.texts("about"),
        ranks=reader.get("ranks", int, 1), gpu=reader.get("gpu", str, ""),
        baseline=reader.choice("baseline", names, names[0]),
        targets=reader.list_of("targets", is_number, "losses"),
        comparisons=_read_comparisons(reader, names), published=reader.get("published", str, ""),
        evaluate=reader.texts("evaluate"), factors=_existing(reader, "factors"))
    if experiment.ranks < 1:
        reader.fail(f"must be at least 1, not {experiment.ranks}", "ranks")
    reader.end()
    return experiment
