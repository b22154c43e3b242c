"""The pictures of a report, as specifications of Vega-Lite (vega.github.io/vega-lite), which draws
the same one in the page and as a file."""
import math
import statistics

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
    values = [point for row in rows for point in points(row, of)]
    if not values:
        return None
    lowest = min(point["low"] for point in values)
    first = max(row_values[0]["loss"] for row_values in
                ([p for p in values if p["optimizer"] == row.name] for row in rows) if row_values)
    y = {"type": "quantitative", "scale": {
        "domain": [lowest - 0.03 * (first - lowest), lowest + 0.6 * (first - lowest)],
        "nice": False}}
    x = {"field": "step", "type": "quantitative", "axis": {"format": "~s"}, "title": AXES["step"]}
    spec = {
        "height": 380, "data": {"values": values},
        "usermeta": {"axes": AXES},  # fields that x may show, for the page
        "encoding": {"x": x, "color": color(rows), "opacity": {
            "condition": {"param": "shown", "value": 1}, "value": 0.07}},
        "layer": [
            {"mark": {"type": "area", "opacity": 0.2, "clip": True},
             "encoding": {"y": {"field": "low", **y, "title": "loss in nats per token"},
                          "y2": {"field": "high"}}},
            {"mark": {"type": "line", "clip": True, "strokeWidth": 2},
             "params": [{"name": "shown", "bind": "legend",
                         "select": {"type": "point", "fields": ["optimizer"]}}],
             "encoding": {"y": {"field": "loss", **y}}},
            {"mark": {"type": "point", "filled": True, "size": 60, "clip": True},
             "params": [{"name": "near", "select": {
                 "type": "point", "on": "pointerover", "nearest": True, "clear": "pointerout"}}],
             "encoding": {
                 "y": {"field": "loss", **y},
                 "opacity": {"condition": {"param": "near", "empty": False, "value": 1},
                             "value": 0},
                 "tooltip": [{"field": "optimizer"}, {"field": "step", "format": ","},
                             {"field": "tokens", "format": ".3s"},
                             {"field": "loss", "format": ".4f"},
                             {"field": "low", "format": ".4f"}, {"field": "high", "format": ".4f"},
                             {"field": "seeds"}, {"field": "seconds", "format": ",.1f"},
                             {"field": "optimizer_seconds", "format": ",.1f"}]}}]}
    note = "Lines: means over the seeds; bands: from the lowest to the highest seed." \
        if any(point["seeds"] > 1 for point in values) else ""
    return chart(f"{kind}_loss", f"{kind.capitalize()} loss", spec, note)


def sweep(rows):
    """A heat map: every setting that was tried, for every row."""
    values = []
    for row in rows:
        seed = row.tried[0][0].seed
        for settings, one in row.tried:
            if settings.seed != seed or not settings.values:
                continue
            loss = one["val_loss"]
            values.append({
                "optimizer": row.name, "loss": loss,
                "text": "diverged" if one["ended"] == "diverged" else f"{loss or math.nan:.3f}",
                "settings": " · ".join(f"{key.split('.')[-1]} {value:g}" if isinstance(
                    value, float) else f"{key.split('.')[-1]} {value}"
                    for key, value in settings.values),
                "order": [f"{value:020.9f}" if isinstance(value, (int, float)) else value
                          for _, value in settings.values],
                "best": settings.values == row.best})
    if not values:
        return None
    losses = [one["loss"] for one in values if one["loss"] is not None]
    high = statistics.quantiles(losses, n=10)[-2] if len(losses) > 4 else max(losses, default=1)
    shade = {"domain": [min(losses, default=0), high], "clamp": True, "scheme": "viridis",
             "reverse": True}
    spec = {
        "height": {"step": 26}, "autosize": {"type": "fit-x"}, "data": {"values": values},
        "encoding": {
            "x": {"field": "settings", "type": "nominal", "title": None, "sort": in_order(values),
                  "axis": {"labelAngle": -40, "labelLimit": 220}},
            "y": {"field": "optimizer", "type": "nominal", "title": None,
                  "sort": [row.name for row in rows], "axis": {"labelLimit": 170}}},
        "layer": [
            {"mark": {"type": "rect", "stroke": "#888", "strokeWidth": 0.5}, "encoding": {
                "color": {"field": "loss", "type": "quantitative", "scale": shade,
                          "legend": {"orient": "bottom", "title": "loss"}},
                "tooltip": [{"field": "optimizer"}, {"field": "settings"},
                            {"field": "text", "title": "loss"}]}},
            {"transform": [{"filter": "datum.best"}],
             "mark": {"type": "rect", "filled": False, "stroke": "#e33", "strokeWidth": 2.5}},
            {"mark": {"type": "text", "fontSize": 10}, "encoding": {
                "text": {"field": "text"},
                "color": {"condition": [
                    {"test": "datum.loss === null", "value": GREY},
                    {"test": f"datum.loss > {(min(losses, default=0) + high) / 2}",
                     "value": "white"}], "value": "black"}}}]}
    return chart("sweeps", "Sweeps: final loss of each setting", spec,
                 "The best setting of each row has a frame.")


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
    y = {"field": "optimizer", "type": "nominal", "title": None, "sort": order,
         "axis": {"labelLimit": 170}}
    spec = {
        "height": {"step": 24}, "autosize": {"type": "fit-x"}, "data": {"values": values}, "encoding": {"y": y},
        "layer": [
            {"mark": {"type": "rule", "strokeWidth": 3, "color": BLUE, "opacity": 0.6}, "encoding": {
                "x": {"field": "low", "type": "quantitative",
                      "title": f"loss minus that of {base.name}, in nats"},
                "x2": {"field": "high"}}},
            {"mark": {"type": "point", "filled": True, "size": 70, "color": BLUE}, "encoding": {
                "x": {"field": "difference", "type": "quantitative"},
                "tooltip": [{"field": "optimizer"}, {"field": "difference", "format": "+.4f"},
                            {"field": "low", "format": "+.4f"}, {"field": "high", "format": "+.4f"},
                            {"field": "seeds"}]}},
            {"mark": {"type": "rule", "strokeDash": [4, 4], "color": GREY}, "encoding": {"x": {"datum": 0}}}]}
    return chart("differences", f"Difference from {base.name}", spec,
                 "Bars: 95% intervals of the mean paired difference.")
