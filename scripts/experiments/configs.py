"""Configs as objects: merged as dashlm merges the files, and compared."""
import copy

from .reader import load

NOT_COMPARABLE = {"data.train", "data.val", "data.tokenizer", "out", "device", "threads", "extends"}


def nested(key, value):
    """"a.b", 1 -> {"a": {"b": 1}}"""
    for part in reversed(key.split(".")):
        value = {part: value}
    return value


def merged(below, above):
    """As `extends` merges: objects key by key, everything else replaced; an object of another
    "type" drops the keys of the one below."""
    if "type" in above and above["type"] != below.get("type", above["type"]):
        below = {}
    result = copy.copy(below)
    for key, value in above.items():
        old = result.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        result[key] = merged(old, value) if both else value
    return result


def config_with_parents(path):
    """A config file over the one it extends."""
    config = load(path)
    parent = config.pop("extends", None)
    return merged(config_with_parents(path.parent / parent), config) if parent else config


def flat(config, prefix=""):
    """{"a": {"b": 1}} -> {"a.b": 1}"""
    found = {}
    for key, value in config.items():
        if isinstance(value, dict):
            found.update(flat(value, f"{prefix}{key}."))
        else:
            found[prefix + key] = value
    return found


def comparable(config):
    """By dotted key, without paths and the machine's settings."""
    return {key: value for key, value in flat(config).items() if key not in NOT_COMPARABLE}
