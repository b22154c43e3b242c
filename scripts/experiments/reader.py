"""Reads objects from JSON files; messages name file and key."""
import json
import re


class ExperimentError(Exception):
    """Something that the user can mend; the message names file and key."""


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


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


def load(path):
    """An object in a file of JSON with comments."""
    try:
        values = json.loads(strip_comments(path.read_text(encoding="utf-8")),
                            object_pairs_hook=unique_keys)
    except OSError as error:
        raise ExperimentError(f"{path}: {error.strerror}") from error
    except (ValueError, ExperimentError) as error:
        raise ExperimentError(f"{path}: {error}") from error
    if not isinstance(values, dict):
        raise ExperimentError(f"{path}: must be an object, not {json.dumps(values)}")
    return values


def last_words(answer, otherwise):
    """Of a finished process: the last line of its errors."""
    lines = answer.stderr.strip().splitlines()
    return lines[-1] if lines else otherwise


def slug(name):
    """A name as that of a folder: "DASH, NDB f=1" -> "dash-ndb-f=1"."""
    return re.sub(r"[^a-z0-9.=+_]+", "-", name.lower()).strip("-")


class Reader:
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

    def file(self, key):
        """A file, relative to this one."""
        path = self.path.parent / self.get(key, str, required=True)
        if not path.is_file():
            self.fail(f"no file {path}", key)
        return path.resolve()

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

    def list_of(self, key, fits, what):
        values = self.get(key, list, [])
        for value in values:
            if not fits(value):
                self.fail(f"must be a list of {what}, not {json.dumps(values)}", key)
        return tuple(values)

    def texts(self, key):
        return self.list_of(key, lambda one: isinstance(one, str), "texts")

    def numbers(self, key):
        found = self.get(key, dict, {})
        for name, value in found.items():
            if not is_number(value):
                self.fail(f"must be a number, not {json.dumps(value)}", f"{key}.{name}")
        return found

    def choice(self, key, values, default):
        value = self.get(key, str, default)
        if value not in values:
            self.fail(f'"{value}" is none of {", ".join(values)}', key)
        return value

    def seeds(self, default):
        seeds = self.get("seeds", list, default)
        whole = all(isinstance(seed, int) and not isinstance(seed, bool) for seed in seeds)
        if not seeds or not whole or len(set(seeds)) != len(seeds):
            self.fail("must be a list of different whole numbers, at least one", "seeds")
        return tuple(seeds)

    def named(self, key, make):
        """What `make(entry, name)` makes of each object in a list; names make folders apart."""
        found, folders = [], {}
        for index, values in enumerate(self.get(key, list, [])):
            entry = Reader(self.path, f"{key}[{index}]", values)
            name = entry.get("name", str, required=True)
            if not slug(name):
                entry.fail("has neither letter nor digit", "name")
            if slug(name) in folders:
                entry.fail(f'"{name}" and "{folders[slug(name)]}" are alike', "name")
            folders[slug(name)] = name
            found.append(make(entry, name))
            entry.end()
        return tuple(found)
