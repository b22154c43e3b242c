"""Puts a report together: which tables and pictures, in which order, with which words."""
from experiments import record

from . import charts, evaluations, factors, stats, tables
from .parts import Report, Section


def of_experiment(experiment, rows):
    """`rows`: RowResults of every size."""
    sections = [Section("About", experiment.about)] if experiment.about else []
    for size in experiment.sizes:
        found = [row for row in rows if row.size == size.name]
        if found:
            base = next((row for row in found if row.name == experiment.baseline), found[0])
            sections += sections_of(found, base, experiment, size.name)
    sections += [factors.section(record.read_json(path, factors.KEYS)) for path in experiment.factors]
    absent = [f"{size.name} {row.name}".strip() for size, row in experiment.pairs()
              if not any((one.size, one.name) == (size.name, row.name) for one in rows)]
    if absent:
        sections.append(Section("Not run yet", (", ".join(absent) + ".",)))
    return Report(experiment.title, tuple(sections))


def of_runs(rows):
    """Of run directories that belong to no experiment; the first one is the baseline."""
    return Report("Runs", tuple(sections_of(rows, rows[0], None, "")))


def sections_of(rows, base, experiment, size):
    def titled(text):
        return f"{text} ({size})" if size else text
    wanted = experiment.targets if experiment else ()
    published = experiment.published if experiment else ""
    parts = {
        "Final loss": [tables.final_losses(rows, base, published), *warnings(rows),
                       charts.differences(rows, base), charts.curves(rows, "validation"),
                       charts.curves(rows, "training"), tables.seeds_needed(rows, base)],
        "Claims": [tables.claims(experiment.comparisons, rows) if experiment else None],
        "Tokens and time to a target": [tables.targets(rows, base, wanted)
                                        if base.losses else None],
        "Cost": [tables.costs(rows, base)],
        "Outliers and compression": evaluations.parts(rows, base),
        "Sweeps": [charts.sweep(rows), tables.sweeps(rows)],
        "Runs that diverged": [tables.divergences(rows)],
        "Settings that differ": [tables.differing_settings(rows)]}
    found = []
    for title, some in parts.items():
        some = tuple(part for part in some if part is not None and getattr(part, "rows", True))
        if some:
            found.append(Section(titled(title), some))
    return found


def warnings(rows):
    """Texts about what a reader must not miss."""
    found = []
    leading = [row for row in rows if row.losses]
    if len(leading) > 1:
        found.append(leaders(leading))
    at_edge = tables.edges(rows)
    if at_edge:
        found.append("The best value lies at the edge of the sweep, so a better one may lie beyond "
                     "it: " + "; ".join(at_edge) + ".")
    return found


def leaders(rows):
    """The lowest mean, and the rows that these seeds cannot tell from it."""
    best = min(rows, key=lambda row: row.mean)
    near = []
    for row in rows:
        found = None if row is best else stats.paired_difference(row.losses, best.losses)
        if found is not None and not found.certain:
            near.append(row.name)
    if len(best.losses) == 1:
        return (f"The lowest loss is that of {best.name}. It is one of a single seed, so a small "
                "difference may be chance.")
    text = f"The lowest mean is that of {best.name}"
    return f"{text}; these seeds cannot tell it from {', '.join(near)}." if near \
        else f"{text}; every other row is higher, with 95% certainty for each."
