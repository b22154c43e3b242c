"""What a report is made of, whatever it is written as."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Table:
    """The first column names the row; cells are texts."""
    name: str
    header: tuple
    rows: tuple
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Chart:
    """A picture: a specification of Vega-Lite with its data in it."""
    name: str
    title: str
    spec: dict
    note: str = ""


@dataclasses.dataclass(frozen=True)
class Section:
    title: str
    parts: tuple  # of texts, Tables and Charts


@dataclasses.dataclass(frozen=True)
class Report:
    title: str
    sections: tuple

    def tables(self):
        return [part for section in self.sections for part in section.parts
                if isinstance(part, Table)]

    def charts(self):
        return [part for section in self.sections for part in section.parts
                if isinstance(part, Chart)]
