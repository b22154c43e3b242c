"""The tables of a report, from the RowResults of one size."""
import math

from experiments.estimate import hours
from experiments.sweep import text

from . import stats, summary
from .parts import Table

NONE = "–"


def number(value, digits):
    return NONE if value is None else f"{value:.{digits}f}"


def signed(value, digits=4):
    return f"{value:+.{digits}f}".replace("-", "−")


def interval(difference, digits=4):
    if difference is None:
        return NONE
    mean = signed(difference.mean, digits)
    if difference.low is None:
        return f"{mean} (one seed)"
    return f"{mean} [{signed(difference.low, digits)}, {signed(difference.high, digits)}]"


def settings_text(values):
    return ", ".join(f"{key.split('.')[-1]} {text(value)}" for key, value in values) or NONE


def state_text(row):
    """Why a row has no final loss, or that it lacks runs."""
    if not row.losses:
        one = next(iter(row.finals.values()))
        ended = {"finished": "no final validation", "running": "not at its end"}
        return f"{ended.get(one['ended'], one['ended'])} at step {one['step']}"
    if not row.complete:
        return f"{row.expected - len(row.tried)} of {row.expected} runs missing"
    lost = [one["ended"] for seed, one in row.finals.items() if seed not in row.losses]
    diverged, count = lost.count("diverged"), len(row.finals)
    words = [f"{diverged} of {count} seeds diverged"] if diverged else []
    if len(lost) > diverged:
        words.append(f"{len(lost) - diverged} of {count} seeds have no final loss yet")
    return "; ".join(words)


def verdict(row, base, difference):
    state = state_text(row)
    if row is base:
        word = "baseline"
    elif difference is None:
        word = ""
    elif difference.low is None:
        word = "one seed, so no interval"
    elif difference.certain:
        word = "lower" if difference.mean < 0 else "higher"
    else:
        word = "not told apart"
    return "; ".join(part for part in (word, state) if part)


def final_losses(rows, base, published):
    """Best settings, loss with its spread, and the difference from the baseline, by final loss."""
    own = sorted({name for row in rows for name in row.published})
    header = ["optimizer", "best settings", "seeds", "loss", "± sd", "perplexity",
              f"difference from {base.name} [95%]", "against it"]
    lines = []
    for row in sorted(rows, key=lambda one: math.inf if one.mean is None else one.mean):
        difference = None if row is base else stats.paired_difference(row.losses, base.losses)
        lines.append((row.name, settings_text(row.best), str(len(row.losses)), number(row.mean, 4),
                      number(row.spread, 4),
                      NONE if row.mean is None else f"{math.exp(row.mean):.2f}",
                      NONE if row is base else interval(difference),
                      verdict(row, base, difference),
                      *(number(row.published.get(name), 2) for name in own)))
    header += [f"{name.replace('_', ' ')} (published)" for name in own]
    note = f"Published figures: {published}." if own and published else ""
    return without_empty_columns(Table("loss", tuple(header), tuple(lines), note))


def without_empty_columns(table):
    full = [i for i in range(len(table.header))
            if i == 0 or any(row[i] not in (NONE, "") for row in table.rows)]
    return Table(table.name, tuple(table.header[i] for i in full),
                 tuple(tuple(row[i] for i in full) for row in table.rows), table.note)


def targets(rows, base, wanted):
    """Tokens and time to each target loss. The first target is the baseline's own final loss, which
    it needs all its tokens for."""
    margin = summary.margin_of(rows)
    header, lines = ["optimizer"], [[row.name] for row in rows]
    for target in (None, *wanted):
        of_base = summary.whole(base) if target is None else summary.reached(base, target, margin)
        header += [f"tokens to {of_base.target:.4f}", f"of {base.name}'s", "time"]
        for line, row in zip(lines, rows):
            found = of_base if row is base else summary.reached(row, of_base.target, margin)
            line += target_cells(row, found, of_base)
    source = "the modded-nanogpt track demands" if margin == summary.TRACK_MARGIN \
        else "the spread over seeds demands (95%)"
    note = (f"A target is reached where the mean over n seeds lies {margin:.4f}/√n below it, as "
            f"{source}; linear between validations. The first target is the final loss of "
            f"{base.name}, which takes all its tokens to it.")
    return Table("targets", tuple(header), tuple(map(tuple, lines)), note)


def target_cells(row, found, of_base):
    if found.tokens is None:
        return ["never", NONE, NONE]
    step_ms = row.milliseconds("step_ms")
    return [f"{found.tokens / 1e6:.3g}M",
            f"{found.tokens / of_base.tokens:.2f}×" if of_base.tokens else NONE,
            NONE if step_ms is None else hours(found.step * step_ms / 1000)]


def costs(rows, base):
    """Times of a step, the optimizer's share, memory."""
    header = ("optimizer", "ms/step", "of the baseline's", "optimizer ms/step", "share of the step",
              "GiB/rank", "parameters")
    base_ms = base.milliseconds("step_ms")
    lines = []
    for row in rows:
        step, optimizer = row.milliseconds("step_ms"), row.milliseconds("optimizer_ms")
        memory, size = row.median("bytes_per_rank"), row.median("parameters")
        lines.append((row.name, number(step, 1),
                      f"{step / base_ms:.2f}×" if step and base_ms else NONE,
                      number(optimizer, 1), f"{optimizer / step:.1%}" if step else NONE,
                      NONE if memory is None else f"{memory / 2**30:.3f}",
                      NONE if size is None else f"{size:,.0f}"))
    apart = all(row.time for row in rows)
    note = (f"Measured apart from the runs, in turn, on: {rows[0].time['machine']}." if apart else
            "Measured during the runs, which may have shared the machine with other work.")
    return Table("cost", header, tuple(lines), note)


def sweeps(rows):
    """The final loss of every setting that was tried, on the sweep's seed."""
    lines = []
    for row in rows:
        seed = row.tried[0][0].seed
        for settings, one in row.tried:
            if settings.seed == seed and settings.values:
                loss = one["val_loss"]
                lines.append((row.name, settings_text(settings.values),
                              f"diverged at step {one['step']}" if one["ended"] == "diverged"
                              else number(loss, 4),
                              "best" if settings.values == row.best and loss is not None
                              else ""))
    return Table("sweeps", ("optimizer", "settings", "loss", ""), tuple(lines))


def claims(comparisons, rows):
    lines = []
    for one in comparisons:
        found = summary.judge(one, rows)
        lines.append((one.claim, f"{one.row} − {one.against}", interval(found.difference),
                      found.text))
    return Table("claims", ("claim", "difference of", "mean [95%]", "here"), tuple(lines))


def seeds_needed(rows, base):
    """How many seeds tell differences of some sizes, from the spread of the paired differences."""
    found = [stats.paired_difference(row.losses, base.losses) for row in rows if row is not base]
    spreads = [one.spread for one in found if one is not None and one.spread is not None]
    if not spreads:
        return None
    spread = math.sqrt(sum(one**2 for one in spreads) / len(spreads))
    lines = []
    for difference in (0.02, 0.01, 0.007, 0.005, 0.003, 0.001):
        needed = stats.seeds_needed(difference, spread)
        lines.append((f"{difference:g} nats", "more than 1000" if needed is None else str(needed)))
    return Table("seeds", ("difference", "seeds needed"), tuple(lines),
                 f"Standard deviation of a paired difference here: {spread:.4f} nats.")


def differing_settings(rows):
    """Keys of the config that are not the same in all rows (the seeds apart)."""
    configs = [next(iter(row.finals.values()))["config"] for row in rows]
    keys = sorted({key for config in configs for key in config if not key.endswith("seed")})
    differ = [key for key in keys if len({str(config.get(key)) for config in configs}) > 1]
    lines = [(key, *(NONE if config.get(key) is None else text(config[key]) for config in configs))
             for key in differ]
    return Table("settings", ("key", *(row.name for row in rows)), tuple(lines))


def divergences(rows):
    lines = [(row.name, settings.name, str(one["step"]), one["reason"] or "")
             for row in rows for settings, one in row.diverged]
    return Table("divergences", ("optimizer", "run", "step", "reason"), tuple(lines))


def edges(rows):
    """Texts: the best value of a key may lie beyond the values that were tried."""
    found = {}
    for row in rows:
        for key in row.at_edge if row.losses else ():
            found.setdefault(f"{key} = {text(dict(row.best)[key])}", []).append(row.name)
    return [f"{setting} ({', '.join(names)})" for setting, names in found.items()]
