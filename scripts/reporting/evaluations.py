"""What `dashlm eval --outliers` and `--quantize` found (docs/eval.md), as tables and a picture.
Figures are means over the seeds of a row's best settings."""
import statistics

from . import charts, stats
from .parts import Table
from .tables import NONE, interval, number

FIGURES = {"kurtosis": "kurtosis", "max_over_rms": "max/rms", "beyond_6_sigma": "beyond 6σ"}


def answers(row, key):
    """{seed: the part `key` of an answer}, for each option that was asked."""
    found = {}
    for seed, one in row.finals.items():
        for option, answer in one.get("evaluated", {}).items():
            if key in answer:
                found.setdefault(option, {})[seed] = answer[key]
    return found


def parts(rows, base):
    looked_at = {row.name: next(iter(answers(row, "outliers").values()), {}) for row in rows}
    rounded = {row.name: answers(row, "quantized") for row in rows}
    found = [outlier_table(looked_at), outlier_chart(rows, looked_at)] \
        if any(looked_at.values()) else []
    options = list(dict.fromkeys(option for each in rounded.values() for option in each))
    return found + [quantization_table(option, rounded, base.name) for option in options]


def worst(outliers, site, figure):
    """The largest over the layers, mean over the seeds; None if a figure is not finite (null)."""
    return mean_of(one["summary"][site][figure]["max"] for one in outliers.values())


def mean_of(values):
    """None of no values, and of values of which one is missing."""
    values = list(values)
    return statistics.mean(values) if values and None not in values else None


def sites_of(looked_at):
    first = next(one for each in looked_at.values() for one in each.values())
    return list(first["summary"])


def outlier_table(looked_at):
    sites = sites_of(looked_at)
    header = ["optimizer", *(f"{FIGURES[figure]}, {site}" for figure in ("kurtosis", "max_over_rms")
                             for site in sites), "beyond 6σ, all sites"]
    lines = []
    for name, outliers in looked_at.items():
        beyond = [worst(outliers, site, "beyond_6_sigma") for site in sites]
        lines.append((name, *(number(worst(outliers, site, figure), 2)
                              for figure in ("kurtosis", "max_over_rms") for site in sites),
                      NONE if None in beyond else f"{max(beyond):.1e}"))
    return Table("outliers", tuple(header), tuple(lines),
                 "Largest over the layers. A normal distribution has kurtosis 3.")


def outlier_chart(rows, looked_at):
    values = [{"optimizer": name, "site": site, "kurtosis": worst(outliers, site, "kurtosis")}
              for name, outliers in looked_at.items() for site in sites_of(looked_at)
              if worst(outliers, site, "kurtosis") is not None]
    spec = charts.by_row(26, values, mark={
        "type": "point", "filled": True, "size": 80, "opacity": 0.85}, encoding={
        "y": charts.row_axis([row.name for row in rows]),
        "x": {"field": "kurtosis", "type": "quantitative", "scale": {"type": "log"},
              "title": "kurtosis of activations, largest over the layers"},
        "color": {"field": "site", "type": "nominal", "sort": sites_of(looked_at),
                  "scale": {"scheme": "category10"}, "legend": {"orient": "bottom"}},
        "tooltip": [{"field": "optimizer"}, {"field": "site"},
                    {"field": "kurtosis", "format": ".3f"}]})
    return charts.chart("outliers", "Outliers of activations", spec)


def quantization_table(option, rounded, base_name):
    """How much rounding the weights costs, and whether it costs less than it costs the baseline."""
    costs = {name: {seed: one["val_loss_difference"] for seed, one in each.get(option, {}).items()
                    if one["val_loss_difference"] is not None}
             for name, each in rounded.items()}
    lines = []
    for name, each in costs.items():
        losses = [one["val_loss"] for one in rounded[name].get(option, {}).values()]
        difference = None if name == base_name \
            else stats.paired_difference(each, costs[base_name])
        mean = mean_of(each.values())
        lines.append((
            name, number(mean_of(losses), 4),
            NONE if mean is None else f"{mean:+.5f}",
            number(statistics.stdev(each.values()) if len(each) > 1 else None, 5),
            interval(difference, 5)))
    label = option.replace("--quantize ", "").replace("--group ", "groups of ")
    return Table(f"quantized_{label.split()[0]}",
                 ("optimizer", f"loss with {label} weights", "increase", "± sd",
                  f"increase minus that of {base_name} [95%]"), tuple(lines))
