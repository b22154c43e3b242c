"""How inverse roots converge on factors recorded from training: the answers of
`dashlm bench roots --from` (src/cli/bench_factors.cpp), as a table and pictures."""
from . import charts
from .parts import Section, Table
from .tables import NONE

KEYS = ("step", "available", "exponent", "floor", "methods")
NEWTON = {"coupled_newton": "Coupled Newton", "newton_db": "Newton-DB"}


def section(answer):
    title = f"Roots of factors recorded at step {answer['step']}"
    text = (f"{answer['available']} factors of one run; exponent {answer['exponent']:g}. The error "
            f"of a root is taken on the eigenvectors above {answer['floor']:g} times the largest "
            "eigenvalue (docs/inverse_roots.md).")
    pictures = [convergence(answer, method) for method in NEWTON]
    return Section(title, (text, *(one for one in pictures if one), table(answer)))


def method_name(one):
    return one["method"].replace("_", " ")


def scaling_name(one):
    return (one["scaling"] or NONE).replace("_", " ")


def table(answer):
    def last(values):
        value = values[-1] if values else None
        return NONE if value is None else f"{value:.1e}"
    lines = [(method_name(one), scaling_name(one), one["precision"], last(one["error_median"]),
              last(one["error_max"]), str(one["failed"][-1])) for one in answer["methods"]]
    return Table("factors", ("method", "scaling", "precision", "median error", "largest error",
                             "factors that fail"), tuple(lines))


def convergence(answer, method):
    """The median error after each step, for every scaling and precision."""
    values = [{"scaling": scaling_name(one), "precision": one["precision"], "step": step,
               "median": median, "largest": largest, "failed": failed}
              for one in answer["methods"] if one["method"] == method
              for step, median, largest, failed in zip(
                  one["stages"], one["error_median"], one["error_max"], one["failed"])
              if median is not None]
    if not values:
        return None
    legend = {"orient": "bottom", "columns": 2, "title": None}
    spec = {
        "height": 320, "data": {"values": values},
        "mark": {"type": "line", "point": {"size": 30}},
        "encoding": {
            "x": {"field": "step", "type": "quantitative", "title": "Newton step",
                  "axis": {"tickMinStep": 1}},
            "y": {"field": "median", "type": "quantitative", "title": "median error of the root",
                  "scale": {"type": "log"}, "axis": {"format": ".0e"}},
            "color": {"field": "scaling", "type": "nominal", "legend": legend,
                      "scale": {"scheme": "category10"}},
            "strokeDash": {"field": "precision", "type": "nominal", "legend": legend,
                           "sort": ["fp32", "tf32", "fp16", "bf16"]},
            "tooltip": [{"field": "scaling"}, {"field": "precision"}, {"field": "step"},
                        {"field": "median", "format": ".2e"}, {"field": "largest", "format": ".2e"},
                        {"field": "failed", "title": "factors that fail"}]}}
    return charts.chart(method, f"{NEWTON[method]} on recorded factors", spec)
