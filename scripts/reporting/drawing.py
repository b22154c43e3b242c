"""Draws charts, with vl-convert: Vega-Lite without a browser or a network."""
import copy
import pathlib
import sys

OWN = pathlib.Path(__file__).resolve().parent.parent.parent / ".deps" / "python"
INSTALL = f"python3 -m pip install --target {OWN} vl-convert-python==1.9.0.post1"
WIDTH = 640  # of a picture; in a page charts are as wide as their place


def library():
    """The module, also from .deps/python, where scripts/setup.sh puts it; None if there is none."""
    if str(OWN) not in sys.path:
        sys.path.append(str(OWN))
    try:
        import vl_convert
    except ImportError:
        return None
    return vl_convert


def as_picture(vl_convert, chart, suffix):
    """The bytes of a PNG or SVG file, on white."""
    spec = copy.deepcopy(chart.spec)
    spec.update({"width": WIDTH, "title": chart.title, "background": "white"})
    if suffix == ".svg":
        return vl_convert.vegalite_to_svg(spec).encode()
    return vl_convert.vegalite_to_png(spec, scale=1.5)
