"""A report as one HTML page that needs no network: tables, and charts to point at."""
import html
import json
import pathlib
import re

from .parts import Chart, Table

LONG = 20  # rows of a table that is folded up
HERE = pathlib.Path(__file__).resolve().parent


def render(report, vl_convert):
    """`vl_convert` brings the JavaScript that draws the charts; it goes into the page."""
    charts = report.charts()
    body = [f"<h1>{html.escape(report.title)}</h1>", navigation(report)]
    for i, section in enumerate(report.sections):
        body.append(f'<h2 id="s{i}">{html.escape(section.title)}</h2>')
        body += [part_html(part, charts) for part in section.parts]
    data = json.dumps([chart.spec for chart in charts], separators=(",", ":"))
    return "\n".join([
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(report.title)}</title>",
        f"<style>{read('page.css')}</style></head><body>", *body,
        f'<script type="application/json" id="charts">{in_script(data)}</script>',
        f"<script type=\"module\">{in_script(vl_convert.javascript_bundle())}</script>",
        f"<script type=\"module\">{read('page.js')}</script></body></html>", ""])


def read(name):
    return (HERE / name).read_text(encoding="utf-8")


def in_script(text):
    """A closing tag in the text would end the script."""
    return re.sub("</(?=script)", r"<\\/", text, flags=re.IGNORECASE)


def navigation(report):
    links = [f'<a href="#s{i}">{html.escape(section.title)}</a>'
             for i, section in enumerate(report.sections)]
    return f"<nav>{' '.join(links)}</nav>"


def part_html(part, charts):
    if isinstance(part, Table):
        return table_html(part) + note_html(part.note)
    if isinstance(part, Chart):
        return (f"<h3>{html.escape(part.title)}</h3>"
                f'<div class="chart" data-chart="{charts.index(part)}"></div>'
                + note_html(part.note))
    return f"<p>{html.escape(part)}</p>"


def table_html(table):
    def cells(row, tag):
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) + "</tr>"
    body = "".join(cells(row, "td") for row in table.rows)
    whole = (f'<div class="scroll"><table><thead>{cells(table.header, "th")}</thead>'
             f"<tbody>{body}</tbody></table></div>")
    if len(table.rows) <= LONG:
        return whole
    return f"<details><summary>{len(table.rows)} rows</summary>{whole}</details>"


def note_html(note):
    return f'<p class="note">{html.escape(note)}</p>' if note else ""
