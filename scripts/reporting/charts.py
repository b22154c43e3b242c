"""The pictures of a report, as specifications of Vega-Lite (vega.github.io/vega-lite), which draws
the same one in the page and as a file."""
import statistics

from experiments.reader import is_number

from . import stats
from .parts import Chart

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"  # a name; nothing is fetched from it
BLUE, GREY = "#4f8fd6", "#8a929a"  # to be seen on white and on black
AXES = {"step": "steps", "tokens": "tokens", "seconds": "training time in s",
        "optimizer_seconds": "optimizer time in s"}


def chart(name, title, spec, note=""):
    return Chart(name, title, {"$schema": SCHEMA, "width": "container", **spec}, note)


def color(rows):
    names = [row.name for row in rows]
    scheme = "category10" if len(names) <= 10 else "category20"
    return {"field": "optimizer", "type": "nominal", "sort": names,
            "scale": {"domain": names, "scheme": scheme},
            "legend": {"orient": "bottom", "columns": 2, "title": None, "labelLimit": 260}}


def at_steps(curve, steps, key):
    """A figure of a curve at other steps, linear between its points."""
    known, values = [0, *curve["step"]], [0, *curve[key]]
    found = []
    for step in steps:
        i = next((i for i, one in enumerate(known) if one >= step), len(known) - 1)
        width = known[i] - known[i - 1] if i else 1
        part = (step - known[i - 1]) / width if i else 0
        found.append(values[i - 1] + part * (values[i] - values[i - 1]) if i else 0)
    return found


def points(row, of):
    """The mean over seeds at each step that all of them have, with the range between them.
    `of(record)` gives the steps and losses of one."""
    each = []
    for one in row.finals.values():
        steps, losses = of(one)
        places = {key: at_steps(one["curve"], steps, key) for key in AXES if key != "step"}
        each.append({step: (loss, {key: places[key][i] for key in places})
                     for i, (step, loss) in enumerate(zip(steps, losses)) if loss is not None})
    found = []
    for step in sorted(set.intersection(*map(set, each))) if each else []:
        losses = [one[step][0] for one in each]
        place = {key: round(statistics.mean(one[step][1][key] for one in each), 3)
                 for key in AXES if key != "step"}
        found.append({"optimizer": row.name, "step": step, **place,
                      "loss": round(statistics.mean(losses), 5), "low": min(losses),
                      "high": max(losses), "seeds": len(losses)})
    return found


def curves(rows, kind):
    """Loss by step, tokens or time. `kind`: "validation" or "training"."""
    def of(record):
        part = record["val"] if kind == "validation" else record["curve"]
        return part["step"], part["loss"]
    each = [found for found in (points(row, of) for row in rows) if found]
    if not each:
        return None
    values = [point for found in each for point in found]
    scale = {"domain": loss_range(each), "nice": False}
    spec = {
        "height": 380, "data": {"values": values},
        "usermeta": {"axes": AXES},  # fields that x may show, for the page
        "encoding": {
            "x": {"field": "step", "type": "quantitative", "axis": {"format": "~s"},
                  "title": AXES["step"]},
            "color": color(rows),
            "opacity": {"condition": {"param": "shown", "value": 1}, "value": 0.07}},
        "layer": [band(scale), line(scale), pointed_at(scale)]}
    note = "Lines: means over the seeds; bands: from the lowest to the highest seed." \
        if any(point["seeds"] > 1 for point in values) else ""
    return chart(f"{kind}_loss", f"{kind.capitalize()} loss", spec, note)


def loss_range(each):
    """The first steps are high and tell little; the eye belongs on the rest."""
    lowest = min(point["low"] for found in each for point in found)
    first = max(found[0]["loss"] for found in each)
    first = max(first, lowest + 0.1)  # a loss that never moves would leave the axis no length
    return [lowest - 0.03 * (first - lowest), lowest + 0.6 * (first - lowest)]


def loss_axis(field, scale, **more):
    return {"field": field, "type": "quantitative", "scale": scale, **more}


def band(scale):
    return {"mark": {"type": "area", "opacity": 0.2, "clip": True},
            "encoding": {"y": loss_axis("low", scale, title="loss in nats per token"),
                         "y2": {"field": "high"}}}


def line(scale):
    """A click on a name in the legend singles its line out."""
    return {"mark": {"type": "line", "clip": True, "strokeWidth": 2},
            "params": [{"name": "shown", "bind": "legend",
                        "select": {"type": "point", "fields": ["optimizer"]}}],
            "encoding": {"y": loss_axis("loss", scale)}}


def pointed_at(scale):
    """The point that is nearest to the pointer, with its figures."""
    formats = {"step": ",", "tokens": ".3s", "loss": ".4f", "low": ".4f", "high": ".4f",
               "seeds": "d", "seconds": ",.1f", "optimizer_seconds": ",.1f"}
    return {"mark": {"type": "point", "filled": True, "size": 60, "clip": True},
            "params": [{"name": "near", "select": {
                "type": "point", "on": "pointerover", "nearest": True, "clear": "pointerout"}}],
            "encoding": {
                "y": loss_axis("loss", scale),
                "opacity": {"condition": {"param": "near", "empty": False, "value": 1}, "value": 0},
                "tooltip": tooltip(formats)}}


def tooltip(formats):
    return [{"field": "optimizer"}, *({"field": field, "type": "quantitative", "format": text}
                                      for field, text in formats.items())]


def row_axis(names):
    return {"field": "optimizer", "type": "nominal", "title": None, "sort": names,
            "axis": {"labelLimit": 170}}


def by_row(step, values, **spec):
    """One line of the picture for each row, however many there are."""
    return {"height": {"step": step}, "autosize": {"type": "fit-x"}, "data": {"values": values},
            **spec}


def sweep(rows):
    """A heat map: every setting that was tried, for every row."""
    values = [value for row in rows for value in tried(row)]
    if not values:
        return None
    losses = [one["loss"] for one in values if one["loss"] is not None] or [0]
    low = min(losses)
    high = statistics.quantiles(losses, n=10)[-2] if len(losses) > 4 else max(losses)
    shade = {"domain": [low, high], "clamp": True, "scheme": "viridis", "reverse": True}
    cell = {"mark": {"type": "rect", "stroke": GREY, "strokeWidth": 0.5}, "encoding": {
        "color": {"field": "loss", "type": "quantitative", "scale": shade,
                  "legend": {"orient": "bottom", "title": "loss"}},
        "tooltip": [{"field": "optimizer"}, {"field": "settings"},
                    {"field": "text", "title": "loss"}]}}
    best = {"transform": [{"filter": "datum.best"}],
            "mark": {"type": "rect", "filled": False, "stroke": "#e33", "strokeWidth": 2.5}}
    text = {"mark": {"type": "text", "fontSize": 10}, "encoding": {
        "text": {"field": "text"},
        "color": {"condition": [{"test": "datum.loss === null", "value": GREY},
                                {"test": f"datum.loss > {(low + high) / 2}", "value": "white"}],
                  "value": "black"}}}
    spec = by_row(26, values, layer=[cell, best, text], encoding={
        "x": {"field": "settings", "type": "nominal", "title": None, "sort": in_order(values),
              "axis": {"labelAngle": -40, "labelLimit": 220}},
        "y": row_axis([row.name for row in rows])})
    return chart("sweeps", "Sweeps: final loss of each setting", spec,
                 "The best setting of each row has a frame.")


def tried(row):
    """The settings of a row's sweep, on the sweep's seed."""
    seed = row.tried[0][0].seed
    for settings, one in row.tried:
        if settings.seed != seed or not settings.values:
            continue
        loss = one["val_loss"]
        yield {"optimizer": row.name, "loss": loss, "best": settings.values == row.best and loss is not None,
               "text": f"{loss:.3f}" if loss is not None
               else "diverged" if one["ended"] == "diverged" else "–",
               "settings": " · ".join(f"{key.split('.')[-1]} {value:g}" if is_number(value) else
                                      f"{key.split('.')[-1]} {value}"
                                      for key, value in settings.values),
               "order": [f"{value:020.9f}" if is_number(value) else value
                         for _, value in settings.values]}


def in_order(values):
    """Names of settings by the values in them."""
    return [name for _, name in sorted({(str(one["order"]), one["settings"]) for one in values})]


def differences(rows, base):
    """Of each row from the baseline, with its interval."""
    values = []
    for row in rows:
        found = None if row is base else stats.paired_difference(row.losses, base.losses)
        if found is not None:
            low, high = (found.mean, found.mean) if found.low is None else (found.low, found.high)
            values.append({"optimizer": row.name, "difference": found.mean, "low": low,
                           "high": high, "seeds": found.seeds})
    if not values:
        return None
    order = [one["optimizer"] for one in sorted(values, key=lambda one: one["difference"])]
    formats = {"difference": "+.4f", "low": "+.4f", "high": "+.4f", "seeds": "d"}
    interval = {"mark": {"type": "rule", "strokeWidth": 3, "color": BLUE, "opacity": 0.6},
                "encoding": {"x": {"field": "low", "type": "quantitative",
                                   "title": f"loss minus that of {base.name}, in nats"},
                             "x2": {"field": "high"}}}
    mean = {"mark": {"type": "point", "filled": True, "size": 70, "color": BLUE},
            "encoding": {"x": {"field": "difference", "type": "quantitative"},
                         "tooltip": tooltip(formats)}}
    zero = {"mark": {"type": "rule", "strokeDash": [4, 4], "color": GREY},
            "encoding": {"x": {"datum": 0}}}
    spec = by_row(24, values, layer=[interval, mean, zero], encoding={"y": row_axis(order)})
    return chart("differences", f"Difference from {base.name}", spec,
                 "Bars: 95% intervals of the mean paired difference.")
