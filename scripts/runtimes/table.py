"""Measured and published times of a run-time file, side by side."""
import csv
import io
import json

from .spec import STACKINGS

CSV_FIELDS = ("size", "row", "stacking", "frequency", "measured_ms", "peak_ms", "published_ms")


class Table:
    """`measured` is {(size, row): {stacking: line of dashlm bench optimizer}}, by names; it may
    lack any of them."""

    def __init__(self, runtimes, measured, machine=None):
        self.runtimes, self.measured, self.machine = runtimes, measured, machine or {}
        self.has_published = any(row.published for row in runtimes.rows)

    def line(self, size, row, stacking):
        return self.measured.get((size, row), {}).get(stacking)

    def measured_ms(self, size, row, stacking):
        line = self.line(size, row, stacking)
        return line and line["total_ms"]

    # --- As lists of cells: what JSON and CSV share

    def cells(self):
        for size in self.runtimes.sizes:
            for row in self.runtimes.rows:
                for stacking in STACKINGS:
                    line = self.line(size.name, row.name, stacking) or {}
                    yield dict(zip(CSV_FIELDS, (
                        size.name, row.name, stacking, line.get("frequency"), line.get("total_ms"),
                        line.get("peak_ms"),
                        self.runtimes.published(size.name, row.name, stacking))))

    def ratios(self):
        """Like for like: the same row, one block at a time, over all blocks of a rank at a time."""
        for size in self.runtimes.sizes:
            for row in self.runtimes.rows:
                slow, fast = (row.name, "block"), (row.name, "rank")
                yield {"size": size.name, "row": row.name, **self._ratio(size.name, slow, fast)}

    def headlines(self):
        for one in self.runtimes.headlines:
            yield {"name": one.name, "size": one.size, "slow": list(one.slow),
                   "fast": list(one.fast), **self._ratio(one.size, one.slow, one.fast)}

    def _ratio(self, size, slow, fast):
        def of(times):
            numbers = times(size, *slow), times(size, *fast)
            return None if None in numbers else numbers[0] / numbers[1]
        return {"measured": of(self.measured_ms), "published": of(self.runtimes.published)}

    # --- The three forms

    def json(self):
        return json.dumps({"experiment": self.runtimes.name, "machine": self.machine,
                           "published_on": self.runtimes.published_on,
                           "times": list(self.cells()), "ratios": list(self.ratios()),
                           "headlines": list(self.headlines()),
                           "lines": [{"size": size, "row": row, **line}
                                     for (size, row), lines in self.measured.items()
                                     for line in lines.values()]}, indent=2) + "\n"

    def csv(self):
        text = io.StringIO()
        writer = csv.DictWriter(text, CSV_FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.cells())
        return text.getvalue()

    def markdown(self):
        return "\n".join([self._heading(), *map(self._size, self.runtimes.sizes),
                          *self._headline_lines()])

    def _heading(self):
        parts = []
        if self.measured:
            ranks = self.machine.get("ranks", 1)
            place = f", slowest of {ranks} ranks" if ranks > 1 else ""
            parts.append(f"Measured on {self.machine.get('device', 'an unknown device')}{place}.")
        if self.has_published:
            parts.append(f"Published figures are of {self.runtimes.published_on or 'others'}.")
        return f"{' '.join(parts)} Milliseconds an optimizer step; with f > 1 the mean of f " \
               "steps, and in brackets the step with new roots.\n"

    def _columns(self, cells):
        """Of a pair (measured, published), those that there are."""
        return [cell for cell, wanted in zip(cells, (self.measured, self.has_published)) if wanted]

    def _size(self, size):
        names = [f"{title} (`{stacking}`)" for stacking, title in STACKINGS.items()]
        names.append("`block` / `rank`")
        head = [title for name in names
                for title in self._columns((name, f"{name}, published" if not self.measured
                                            else "published"))]
        lines = ["| " + " | ".join([size.name, *head]) + " |", "|---" * (1 + len(head)) + "|"]
        ratios = {ratio["row"]: ratio for ratio in self.ratios() if ratio["size"] == size.name}
        for row in self.runtimes.rows:
            pairs = [(_shown(self.line(size.name, row.name, stacking)),
                      _number(self.runtimes.published(size.name, row.name, stacking)))
                     for stacking in STACKINGS]
            ratio = ratios[row.name]
            pairs.append((_ratio_text(ratio["measured"]), _ratio_text(ratio["published"])))
            cells = [cell for pair in pairs for cell in self._columns(pair)]
            lines.append("| " + " | ".join([row.name, *cells]) + " |")
        return "\n".join(lines) + "\n"

    def _headline_lines(self):
        for one in self.headlines():
            sides = " over ".join(f"{row} `{stacking}`" for row, stacking in (one["slow"], one["fast"]))
            ratios = [f"{kind} {one[kind]:.2f}" for kind in ("measured", "published")
                      if one[kind] is not None]
            yield f"{one['name']}: {sides} at {one['size']}: {', '.join(ratios) or '-'}\n"


def _number(ms):
    return "-" if ms is None else f"{ms:.0f}" if ms >= 100 else f"{ms:.1f}"


def _shown(line):
    if line is None:
        return "-"
    peak = f" ({_number(line['peak_ms'])})" if line["frequency"] > 1 else ""
    return _number(line["total_ms"]) + peak


def _ratio_text(ratio):
    return "-" if ratio is None else f"{ratio:.2f}"
