"""A sheet as a coloured table in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.columns import Columns
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from ptxgen.layouts.pictures.palette import INK
from ptxgen.layouts.pictures.sheet import Band, Cell, Sheet

__all__ = ["fitted"]

_LEAST = 4
"""Columns that are drawn however narrow the terminal is."""


def fitted(sheet: Callable[[int], Sheet], columns: int, width: int | None) -> Group:
    """The table of the sheet that `sheet` makes for at most `columns` columns, with fewer where a line has only `width` letters."""
    found = _drawn(sheet(columns))
    if width is None or _width(found) <= width:
        return found
    few, many = min(_LEAST, columns), columns  # of the first there are no fewer, of the second too many
    found = _drawn(sheet(few))
    while many - few > 1:
        middle = (few + many) // 2
        drawn = _drawn(sheet(middle))
        if _width(drawn) <= width:
            few, found = middle, drawn
        else:
            many = middle
    return found


def _width(drawn: Group) -> int:
    wide = Console(width=10_000)
    return max(wide.measure(part).maximum for part in drawn.renderables if isinstance(part, Table))


def _drawn(sheet: Sheet) -> Group:
    head = [Text(sheet.title, style="bold")] if sheet.title else []
    axes = ", ".join(filter(None, (sheet.down and f"{sheet.down} ↓", sheet.across and f"{sheet.across} →")))
    legend = Columns([_swatch(colours, text) for colours, text in sheet.legend.swatches], padding=(0, 2))
    notes = [Text(note, style="dim") for note in (*sheet.legend.notes, *sheet.notes)]
    return Group(*head, Text(sheet.layout), Text(axes, style="dim"), _table(sheet), legend, *notes)


def _table(sheet: Sheet) -> Table:
    table = Table(box=None, padding=(0, 0), pad_edge=False, show_header=False)
    outer = any(band.outer for band in sheet.rows)
    lines = [_header(sheet.columns, "outer")] if any(band.outer for band in sheet.columns) else []
    lines += [_header(sheet.columns, "inner")] if sheet.columns[0].inner else []
    for line in lines:
        table.add_row(*([""] if outer else []), "", *line)
    widths = [max(len(" ".join(mark.lines)) for cell in column for mark in cell.marks) for column in zip(*sheet.cells)]
    widths = [max(width, len(band.inner)) for width, band in zip(widths, sheet.columns)]
    label = max(len(band.inner) for band in sheet.rows)
    for band, cells in zip(sheet.rows, sheet.cells):
        if band.omitted:
            table.add_row(*([""] if outer else []), Text(f"{'…':>{label}} ", style="dim"))
        elif band.gap == 2:
            table.add_row()
        before = [Text(f"{band.outer} ", style="bold")] if outer else []
        table.add_row(*before, Text(f"{band.inner:>{label}} ", style="dim"), *_line(sheet.columns, cells, widths))
    return table


def _header(columns: Sequence[Band], part: str) -> list[Text]:
    found: list[Text] = []
    for band in columns:
        found += _space(band, mark=part == "inner")
        found.append(Text(getattr(band, part), style="dim" if part == "inner" else "bold", justify="center"))
    return found


def _line(columns: Sequence[Band], cells: Sequence[Cell], widths: Sequence[int]) -> list[Text]:
    found: list[Text] = []
    for band, cell, width in zip(columns, cells, widths):
        found += _space(band, mark=False)
        found.append(_cell(cell, width))
    return found


def _space(band: Band, mark: bool) -> list[Text]:
    """The column of blanks before a column of cells."""
    return [Text(" … " if mark else "   ")] if band.omitted else [Text(" ")] if band.gap else []


def _cell(cell: Cell, width: int) -> Text:
    """The marks of a cell, one below the other."""
    found = Text("\n").join(Text(f" {' '.join(mark.lines):^{width}} ", style=f"{INK} on {mark.colour}") for mark in cell.marks)
    return found.append(f"\n+{cell.more}", style="dim") if cell.more else found


def _swatch(colours: Sequence[str], text: str) -> Text:
    found = Text()
    for colour in colours:
        found.append("  ", style=f"on {colour}")
    return found.append(f" {text}")
