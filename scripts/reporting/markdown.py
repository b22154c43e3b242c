"""A report as Markdown, and its tables as CSV."""
import csv
import io
import textwrap

from .parts import Chart, Table


def render(report, pictures, top=""):
    """`pictures`: id() of a Chart -> the file to show; charts without one are left out."""
    lines = [f"# {report.title}", ""]
    if top:
        lines += [top, ""]
    for section in report.sections:
        lines += [f"## {section.title}", ""]
        for part in section.parts:
            lines += part_lines(part, pictures)
    return "\n".join(lines).rstrip() + "\n"


def part_lines(part, pictures):
    if isinstance(part, Table):
        return [*table_lines(part), "", *([*wrapped(part.note), ""] if part.note else [])]
    if isinstance(part, Chart):
        shown = pictures.get(id(part))
        return [f"![{part.title}]({shown})", "", *([*wrapped(part.note), ""] if part.note else [])] \
            if shown else []
    return [*wrapped(part), ""]


def wrapped(text):
    return textwrap.wrap(text, 100, break_long_words=False, break_on_hyphens=False)


def table_lines(table):
    def line(cells):
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    return [line(table.header), "|" + "---|" * len(table.header), *map(line, table.rows)]


def as_csv(table):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.header)
    writer.writerows([cell.replace("−", "-") for cell in row] for row in table.rows)
    return out.getvalue()


def as_text(table):
    """For a terminal: columns side by side."""
    widths = [max(len(row[i]) for row in (table.header, *table.rows))
              for i in range(len(table.header))]
    return "\n".join("  ".join(
        cell.ljust(width) if i == 0 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
        for row in (table.header, *table.rows))
