"""An experiment file: what is compared, with what settings, and how often.

    {
      "base": "../configs/quickstart.json",
      "rows": [{"name": "AdamW", "set": {"optimizer": {"type": "adamw"}}}, ...],
      "sweep": {"train.lr": [1.5e-3, 3e-3, 6e-3], "optimizer.weight_decay": [0, 0.1]},
      "seeds": [1, 2, 3]
    }

Paths are relative to the file. A row may have "set", "sweep", "seeds" and "sizes" of its own.
"""
import dataclasses
import json
import pathlib
import re


class ExperimentError(Exception):
    """Something that the user can mend; the message names file and key."""


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


@dataclasses.dataclass(frozen=True)
class Experiment:
    path: pathlib.Path
    base: pathlib.Path
    rows: tuple
    sizes: tuple
    ranks: int        # that the runs are meant for
    gpu: str          # that time is estimated for; "" for this machine's CPU

    @property
    def name(self):
        return self.path.stem

    def pairs(self):
        """Every (size, row) that is to be run."""
        return [(size, row) for size in self.sizes for row in self.rows
                if not row.sizes or size.name in row.sizes]


def slug(name):
    """A name as that of a folder: "DASH, NDB f=1" -> "dash-ndb-f=1"."""
    return re.sub(r"[^a-z0-9.=+_]+", "-", name.lower()).strip("-")


def strip_comments(text):
    """JSON without its // comments; a string may hold //."""
    return re.sub(r'("(?:\\.|[^"\\\n])*")|//[^\n]*', lambda match: match[1] or "", text)


def unique_keys(pairs):
    seen = {}
    for key, value in pairs:
        if key in seen:
            raise ExperimentError(f'key "{key}" appears twice')
        seen[key] = value
    return seen


class _Reader:
    """Reads one object and knows where it stands, for messages."""

    def __init__(self, path, where, values):
        self.path, self.where, self.values = path, where, values
        self.known = set()
        if not isinstance(values, dict):
            self.fail(f"must be an object, not {json.dumps(values)}")

    def fail(self, message, key=None):
        place = ".".join(part for part in (self.where, key) if part)
        raise ExperimentError(f"{self.path}: {place + ': ' if place else ''}{message}")

    def get(self, key, kind, default=None, required=False):
        self.known.add(key)
        if key not in self.values:
            if required:
                self.fail("is missing", key)
            return default
        value = self.values[key]
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or isinstance(value, bool):
            names = {dict: "an object", list: "a list", str: "a text", int: "a whole number",
                     float: "a number"}
            self.fail(f"must be {names[kinds[0]]}, not {json.dumps(value)}", key)
        return value

    def end(self):
        for key in self.values:
            if key not in self.known:
                near = ", ".join(sorted(self.known))
                self.fail(f"unknown key; known ones are {near}", key)

    def sweep(self, key, default):
        axes = self.get(key, dict, default)
        for axis, values in axes.items():
            where = f"{key}.{axis}"
            if not isinstance(values, list) or not values:
                self.fail("must be a list of at least one value", where)
            if any(isinstance(value, (dict, list)) or value is None for value in values):
                self.fail("has a value that is neither number, text nor true or false", where)
            if len({json.dumps(value) for value in values}) != len(values):
                self.fail("has a value twice", where)
        short = [axis.split(".")[-1] for axis in axes]
        if len(set(short)) != len(short):
            self.fail("has two keys that end alike, which names of folders cannot tell apart", key)
        return axes

    def seeds(self, default):
        seeds = self.get("seeds", list, default)
        whole = all(isinstance(seed, int) and not isinstance(seed, bool) for seed in seeds)
        if not seeds or not whole or len(set(seeds)) != len(seeds):
            self.fail("must be a list of different whole numbers, at least one", "seeds")
        return tuple(seeds)


def _named(reader, key, make):
    """A list of objects with names that make folders apart."""
    found, folders = [], {}
    for index, values in enumerate(reader.get(key, list, [])):
        entry = _Reader(reader.path, f"{key}[{index}]", values)
        name = entry.get("name", str, required=True)
        if not slug(name):
            entry.fail("has neither letter nor digit", "name")
        if slug(name) in folders:
            entry.fail(f'"{name}" and "{folders[slug(name)]}" are alike', "name")
        folders[slug(name)] = name
        found.append(make(entry, name))
        entry.end()
    return tuple(found)


def _read_row(entry, name, sweep, seeds, sizes):
    row = Row(name=name, set=entry.get("set", dict, {}), sweep=entry.sweep("sweep", sweep),
              seeds=entry.seeds(list(seeds)), sizes=tuple(entry.get("sizes", list, [])))
    for wanted in row.sizes:
        if wanted not in sizes:
            entry.fail(f'"{wanted}" is none of the sizes {", ".join(sizes)}', "sizes")
    return row


def _check_rows(reader, rows):
    if not rows:
        reader.fail("must have at least one row", "rows")
    for index, row in enumerate(rows):
        for other in rows[:index]:
            if (row.set, row.sweep, row.seeds) == (other.set, other.sweep, other.seeds):
                reader.fail(f'"{row.name}" is the same as "{other.name}"', f"rows[{index}]")


def read(path):
    """The experiment of a file; an ExperimentError says what is wrong with it."""
    path = pathlib.Path(path)
    try:
        values = json.loads(strip_comments(path.read_text(encoding="utf-8")),
                            object_pairs_hook=unique_keys)
    except OSError as error:
        raise ExperimentError(f"{path}: {error.strerror}") from error
    except (ValueError, ExperimentError) as error:
        raise ExperimentError(f"{path}: {error}") from error
    reader = _Reader(path, "", values)
    base = path.parent / reader.get("base", str, required=True)
    if not base.is_file():
        reader.fail(f"no file {base}", "base")
    sweep, seeds = reader.sweep("sweep", {}), reader.seeds([1])
    sizes = _named(reader, "sizes", lambda entry, name: Size(name, entry.get("set", dict, {})))
    sizes = sizes or (Size("", {}),)
    size_names = [size.name for size in sizes]
    rows = _named(reader, "rows",
                  lambda entry, name: _read_row(entry, name, sweep, seeds, size_names))
    _check_rows(reader, rows)
    experiment = Experiment(
        path=path, base=base.resolve(), rows=rows, sizes=sizes,
        ranks=reader.get("ranks", int, 1), gpu=reader.get("gpu", str, ""))
    reader.end()
    return experiment
