"""Tables for programs (CSV) and for people (Markdown, HTML) from one description.

A `Table` is a title, one or more `Section` of columns and rows, notes, and a line of provenance. Cells carry
their value and their text apart, so that the CSV keeps full precision while people read three digits. A cell
without a value always says why (``not run: ...``) or is a dash where there is nothing to say; "nan" and
"None" cannot appear.

The CSV holds the first section only: the others are excerpts of files that exist by themselves (fits.csv).
"""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from svmrepro.workflow.analysis.number_text import significant
from svmrepro.workflow.analysis.power_law import Interval

DASH = "–"

Value = float | int | str | None


@dataclass(frozen=True)
class Cell:
    """One cell: a value for the CSV, a text for people.

    Attributes
    ----------
    value : float, int, str or None
        As written to the CSV, in full precision.
    text : str
        What people read.
    interval : (float, float) or None
        Ends of the value's 95 % interval, for the CSV's ``_low`` and ``_high`` columns.
    detail : str
        The interval as people read it, set small beside or below the text.
    reason : str
        Why there is no value; CSV column ``_reason``.
    mark : str
        "" or one of "good", "bad", "open": a verdict's colour in HTML (its text says the same).
    """

    value: Value
    text: str
    interval: tuple[float, float] | None = None
    detail: str = ""
    reason: str = ""
    mark: str = ""


BLANK = Cell(None, DASH)


@dataclass(frozen=True)
class Column:
    """One column: CSV key, header, unit, spanning header, and whose numbers it holds.

    ``paper`` columns are set apart in HTML (tinted, slanted) and end in " (paper)" in Markdown.
    ``prose`` columns are left-aligned text, ``short`` ones a word or two; those not ``shown`` are for the CSV
    alone.
    """

    key: str
    header: str
    unit: str = ""
    group: str = ""
    paper: bool = False
    prose: bool = False
    short: bool = False
    shown: bool = True


@dataclass(frozen=True)
class Section:
    """Columns and rows under an optional heading; a row lacks the cells that it does not mention."""

    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Cell]]
    heading: str = ""


@dataclass(frozen=True)
class Table:
    """All that is rendered: title, one line of caption, sections, notes and provenance."""

    title: str
    sections: Sequence[Section]
    caption: str = ""
    notes: Sequence[str] = field(default_factory=tuple)
    provenance: str = ""


# -- cells ----------------------------------------------------------------------------------------------


def number(value: float | int | None, interval: Interval | None = None, *, digits: int = 3) -> Cell:
    """Cell of a measured number; with `interval`, its ends beside it."""
    if value is None:
        return BLANK
    if interval is None or interval.low is None or interval.high is None:
        return Cell(value, significant(float(value), digits))
    ends = (interval.low, interval.high)
    if interval.low == interval.high:
        return Cell(value, significant(float(value), digits), ends)
    detail = f"{significant(ends[0], digits)} … {significant(ends[1], digits)}"
    return Cell(value, significant(float(value), digits), ends, detail)


def exponent(interval: Interval | None, reason: str = "") -> Cell:
    """Cell of an exponent, two decimals, with its interval."""
    if interval is None:
        return missing(reason) if reason else BLANK
    text = f"{interval.value:.2f}"
    if interval.low is None or interval.high is None:
        return Cell(interval.value, text, None, "no interval")
    ends = (interval.low, interval.high)
    return Cell(interval.value, text, ends, f"{ends[0]:.2f} … {ends[1]:.2f}")


def count(value: float | int | None) -> Cell:
    """Cell of an exact count, thousands separated."""
    return BLANK if value is None else Cell(int(value), f"{int(value):,}")


def printed(text: str) -> Cell:
    """Cell of a number of the paper, with the digits that it prints, thousands separated; "" is a dash."""
    if not text:
        return BLANK
    whole, point, decimals = text.partition(".")
    return Cell(float(text), f"{int(whole):,}{point}{decimals}")


def percent(value: float | None, digits: int = 1) -> Cell:
    """Cell of a relative difference, with its sign: +1.2 %."""
    if value is None:
        return BLANK
    text = f"{100 * value:+.{digits}f} %"
    return Cell(value, "0 %" if value == 0 else text)


def prose(text: str, mark: str = "") -> Cell:
    """Cell of words."""
    return Cell(text, text, mark=mark) if text else Cell("", "")


def missing(reason: str, text: str = "") -> Cell:
    """Cell that says why there is no number."""
    return Cell(None, text or reason, reason=reason)


# -- forms ----------------------------------------------------------------------------------------------


def to_csv(table: Table) -> str:
    """Return the first section as CSV with one header line.

    A column whose cells have intervals is followed by ``<key>_low`` and ``<key>_high``, one with reasons
    by ``<key>_reason``.
    """
    section = table.sections[0]
    fields: list[tuple[str, str]] = []
    for column in section.columns:
        cells = [row.get(column.key, BLANK) for row in section.rows]
        fields.append((column.key, "value"))
        if any(cell.interval is not None for cell in cells):
            fields += [(column.key, "low"), (column.key, "high")]
        if any(cell.reason for cell in cells):
            fields.append((column.key, "reason"))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([key if part == "value" else f"{key}_{part}" for key, part in fields])
    for row in section.rows:
        writer.writerow([_csv_part(row.get(key, BLANK), part) for key, part in fields])
    return out.getvalue()


def to_markdown(table: Table) -> str:
    """Return the table as GitHub-flavoured Markdown."""
    lines = [f"# {table.title}", ""]
    if table.caption:
        lines += [table.caption, ""]
    for section in table.sections:
        if section.heading:
            lines += [f"## {section.heading}", ""]
        columns = [column for column in section.columns if column.shown]
        headers = [_markdown_header(column) for column in columns]
        lines.append("| " + " | ".join(_escape_markdown(header) for header in headers) + " |")
        lines.append("| " + " | ".join(":--" if column.prose else "--:" for column in columns) + " |")
        for row in section.rows:
            cells = [row.get(column.key, BLANK) for column in columns]
            lines.append("| " + " | ".join(_markdown_cell(cell) for cell in cells) + " |")
        lines.append("")
    lines += [f"- {_escape_markdown(note)}" for note in table.notes]
    if table.notes:
        lines.append("")
    if table.provenance:
        lines += [f"*{_escape_markdown(table.provenance)}*", ""]
    return "\n".join(lines)


def to_html(table: Table) -> str:
    """Return one self-contained HTML page: no script, no external file, light background."""
    return html_page(table.title, [f"<h1>{html.escape(table.title)}</h1>", *html_body(table)])


def html_page(title: str, parts: Sequence[str], style: str = "") -> str:
    """Return a self-contained HTML page of these parts, which are HTML already; `style` is added CSS."""
    head = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(title)}</title>",
        f"<style>{STYLE}{style}</style></head><body><main>",
    ]
    return "\n".join([*head, *parts, "</main></body></html>"]) + "\n"


def html_body(table: Table) -> list[str]:
    """Return a table's caption, sections, notes and provenance as parts of a page, without its title."""
    parts: list[str] = []
    if table.caption:
        parts.append(f'<p class="caption">{html.escape(table.caption)}</p>')
    for section in table.sections:
        parts += _html_section(section)
    if table.notes:
        parts.append('<ul class="notes">')
        parts += [f"<li>{html.escape(note)}</li>" for note in table.notes]
        parts.append("</ul>")
    if table.provenance:
        parts.append(f"<footer>{html.escape(table.provenance)}</footer>")
    return parts


STYLE = """
:root { color-scheme: light; }
body { margin: 0; background: #fff; color: #1b1f24;
  font: 13.5px/1.4 system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
main { padding: 1rem 1.1rem 2rem; }
h1 { font-size: 1.25rem; margin: 0 0 .3rem; }
h2 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
p.caption { margin: .2rem 0 .9rem; max-width: 62rem; color: #3d444d; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums;
  border-top: 2px solid #1b1f24; border-bottom: 2px solid #1b1f24; }
th, td { padding: .2rem .5rem; text-align: right; vertical-align: top; white-space: nowrap; }
thead th { font-weight: 600; vertical-align: bottom; white-space: normal; border-bottom: 1px solid #1b1f24; }
thead th.group { text-align: center; border-bottom: 1px solid #9aa2ab; }
thead th .unit { display: block; font-weight: 400; color: #59636e; font-size: .82em; }
tbody tr + tr td { border-top: 1px solid #e4e7eb; }
tbody tr.start td { border-top: 1px solid #8b949e; }
tbody tr:hover td { background: #f3f6fa; }
td .detail { display: block; color: #59636e; font-size: .78em; font-weight: 400; }
td.prose, th.prose { text-align: left; white-space: normal; min-width: 9rem; }
td.prose { max-width: 30rem; }
td.prose.short, th.prose.short { min-width: 0; }
td.prose.first { min-width: 10.5rem; max-width: 14rem; }
td.first, th.first { position: sticky; left: 0; background: #fff; }
td.first { font-weight: 600; }
td.paper, th.paper { background: #f7f2e6; color: #5b4a1f; }
td.paper { font-style: italic; }
td.absent { color: #59636e; font-size: .85em; white-space: normal; min-width: 4.5rem; max-width: 14rem; }
td.dash { color: #9aa2ab; }
td.good { color: #0b6b2e; font-weight: 600; }
td.bad { color: #a3200d; font-weight: 600; }
td.open { color: #6b5600; font-weight: 600; }
ul.notes { margin: .9rem 0 0; padding-left: 1.1rem; color: #3d444d; font-size: .88em; max-width: 70rem; }
footer { margin-top: .9rem; color: #59636e; font-size: .82em; max-width: 70rem; }
@media print { .scroll { overflow: visible; } main { padding: 0; } }
""".strip()


def _csv_part(cell: Cell, part: str) -> str:
    if part == "reason":
        return cell.reason
    if part == "value":
        return "" if cell.value is None else str(cell.value)
    if cell.interval is None:
        return ""
    return repr(cell.interval[0] if part == "low" else cell.interval[1])


def _markdown_header(column: Column) -> str:
    name = f"{column.group}: {column.header}" if column.group else column.header
    if column.unit:
        name += f" [{column.unit}]"
    return f"{name} (paper)" if column.paper and "paper" not in name.lower() else name


def _markdown_cell(cell: Cell) -> str:
    return _escape_markdown(f"{cell.text} ({cell.detail})" if cell.detail else cell.text)


def _escape_markdown(text: str) -> str:
    return (
        text.replace("\\", "\\\\")
        .replace("|", "\\|")
        .replace("\r", " ")
        .replace("\n", " ")
        .replace("*", "\\*")
    )


def _html_section(section: Section) -> list[str]:
    parts = [f"<h2>{html.escape(section.heading)}</h2>"] if section.heading else []
    columns = [column for column in section.columns if column.shown]
    parts.append('<div class="scroll"><table>')
    parts += _html_head(columns)
    parts.append("<tbody>")
    before = None
    for row in section.rows:
        first = row.get(columns[0].key, BLANK).text
        # A rule above each new group of rows that share their first words (an experiment).
        starts = columns[0].prose and before is not None and first != before
        repeats = columns[0].prose and first == before and not row.get(columns[0].key, BLANK).detail
        before = first
        opening = '<tr class="start">' if starts else "<tr>"
        # Said once for the group: the eye finds the next one sooner.
        shown = {**row, columns[0].key: prose("")} if repeats else row
        parts.append(f"{opening}{''.join(_html_cells(columns, shown))}</tr>")
    parts.append("</tbody></table></div>")
    return parts


def _html_head(columns: Sequence[Column]) -> list[str]:
    """Head of one or two lines: neighbours of the same group share a spanning header."""
    grouped = any(column.group for column in columns)
    lines = ["<thead>"]
    if grouped:
        spans: list[tuple[str, int]] = []
        for column in columns:
            if spans and spans[-1][0] == column.group:
                spans[-1] = (column.group, spans[-1][1] + 1)
            else:
                spans.append((column.group, 1))
        cells = [
            f'<th class="group" colspan="{width}" scope="colgroup">{html.escape(name)}</th>'
            if name
            else f'<td colspan="{width}"></td>'
            for name, width in spans
        ]
        lines.append("<tr>" + "".join(cells) + "</tr>")
    cells = []
    for place, column in enumerate(columns):
        names = (
            ("paper", column.paper),
            ("prose", column.prose),
            ("short", column.short),
            ("first", place == 0),
        )
        classes = " ".join(name for name, on in names if on)
        unit = f'<span class="unit">{html.escape(column.unit)}</span>' if column.unit else ""
        attribute = f' class="{classes}"' if classes else ""
        cells.append(f'<th{attribute} scope="col">{html.escape(column.header)}{unit}</th>')
    lines.append("<tr>" + "".join(cells) + "</tr></thead>")
    return lines


def _html_cells(columns: Sequence[Column], row: Mapping[str, Cell]) -> list[str]:
    """Cells of one row; neighbours of the same spanning header that lack a value alike are merged."""
    out: list[str] = []
    position = 0
    while position < len(columns):
        column = columns[position]
        cell = row.get(column.key, BLANK)
        width = 1
        if cell.reason and cell.text != DASH:
            while position + width < len(columns):
                following = columns[position + width]
                same = row.get(following.key, BLANK)
                if (
                    following.group != column.group
                    or same.text != cell.text
                    or following.paper != column.paper
                ):
                    break
                width += 1
        names = [
            ("paper", column.paper),
            ("prose", column.prose),
            ("short", column.short),
            ("first", position == 0),
            ("absent", bool(cell.reason) and cell.text != DASH),
            ("dash", cell.text == DASH),
            (cell.mark, bool(cell.mark)),
        ]
        classes = " ".join(name for name, on in names if on)
        attributes = (f' class="{classes}"' if classes else "") + (f' colspan="{width}"' if width > 1 else "")
        detail = f'<span class="detail">{html.escape(cell.detail)}</span>' if cell.detail else ""
        out.append(f"<td{attributes}>{html.escape(cell.text)}{detail}</td>")
        position += width
    return out
