"""A run-time file: which optimizer steps are timed, and what was published of them.

    {
      "base": "../configs/llama-953m-dash.json",
      "set": {"optimizer": {"start": -1}},
      "sizes": [{"name": "B=1024", "set": {"optimizer": {"block_size": 1024}}}],
      "rows": [{"name": "EVD f=1", "set": {...}, "published": {"B=1024": {"block": 3080, ...}}}],
      "published_on": "8 x H100-80GB",
      "headlines": [{"name": "5.6", "size": "B=1024",
                     "slow": {"row": "EVD f=1", "stacking": "block"},
                     "fast": {"row": "EVD f=1", "stacking": "rank"}}]
    }

Paths are relative to the file. Published figures are milliseconds by size and stacking.
"""
import dataclasses
import json
import pathlib

from experiments.configs import merged
from experiments.reader import Reader, is_number, load
from experiments.spec import read_sizes

# What `dashlm bench optimizer` times, with the names of the paper's columns.
STACKINGS = {"block": "Distributed Shampoo", "layer": "DASH per layer", "rank": "DASH per GPU"}


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    set: dict
    published: dict   # size -> stacking -> ms


@dataclasses.dataclass(frozen=True)
class Headline:
    """A ratio across rows: how many times as long `slow` takes as `fast`."""
    name: str
    size: str
    slow: tuple       # (row, stacking)
    fast: tuple


@dataclasses.dataclass(frozen=True)
class Runtimes:
    path: pathlib.Path
    base: pathlib.Path
    set: dict
    sizes: tuple      # of Size
    rows: tuple
    headlines: tuple
    published_on: str

    @property
    def name(self):
        return self.path.stem

    def config(self, size, row):
        """The base with the settings of all, the size's and the row's own."""
        config = {"extends": str(self.base)}
        for layer in (self.set, size.set, row.set):
            config = merged(config, layer)
        return config

    def published(self, size, row, stacking):
        """ms, or None."""
        return self.row(row).published.get(size, {}).get(stacking)

    def row(self, name):
        return next(row for row in self.rows if row.name == name)


def _check_name(reader, value, known, key):
    if value not in known:
        reader.fail(f'"{value}" is none of {", ".join(known)}', key)


def _published(entry, sizes):
    found = entry.get("published", dict, {})
    for size, times in found.items():
        where = f"published.{size}"
        _check_name(entry, size, sizes, where)
        if not isinstance(times, dict):
            entry.fail(f"must be an object, not {json.dumps(times)}", where)
        for stacking, ms in times.items():
            _check_name(entry, stacking, STACKINGS, where)
            if not is_number(ms) or not ms > 0:
                entry.fail(f"must be milliseconds, not {json.dumps(ms)}", f"{where}.{stacking}")
    return found


def _cell(entry, key, rows):
    reader = Reader(entry.path, f"{entry.where}.{key}", entry.get(key, dict, required=True))
    row, stacking = (reader.get(part, str, required=True) for part in ("row", "stacking"))
    _check_name(reader, row, rows, "row")
    _check_name(reader, stacking, STACKINGS, "stacking")
    reader.end()
    return row, stacking


def _headline(entry, name, sizes, rows):
    size = entry.get("size", str, required=True)
    _check_name(entry, size, sizes, "size")
    return Headline(name, size, _cell(entry, "slow", rows), _cell(entry, "fast", rows))


def read(path):
    """The Runtimes of a file; an ExperimentError says what is wrong with it."""
    path = pathlib.Path(path)
    reader = Reader(path, "", load(path))
    base = reader.file("base")
    sizes = read_sizes(reader)
    size_names = [size.name for size in sizes]
    rows = reader.named("rows", lambda entry, name: Row(
        name, entry.get("set", dict, {}), _published(entry, size_names)))
    for key, found in (("sizes", sizes), ("rows", rows)):
        if not found:
            reader.fail("must have at least one entry", key)
    row_names = [row.name for row in rows]
    headlines = reader.named(
        "headlines", lambda entry, name: _headline(entry, name, size_names, row_names))
    runtimes = Runtimes(path, base, reader.get("set", dict, {}), sizes, rows, headlines,
                        reader.get("published_on", str, ""))
    reader.end()
    return runtimes
