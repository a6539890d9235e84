"""A sheet as SVG text: the same text for the same sheet, readable on light and dark pages, without fonts or scripts of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from math import ceil

from ptxgen.layouts.pictures.palette import INK
from ptxgen.layouts.pictures.sayings import Mark
from ptxgen.layouts.pictures.sheet import Band, Cell, Sheet

__all__ = ["written"]

_LETTER = 6.9  # width of a letter: 0.6 of their size in fonts of one width, and what renderers round
_SIZE, _LINE, _TITLE = 11, 13, 14
_MARGIN = 16
_GAPS = (0, 4, 10)
_OMITTED = 24
_LEAST_WIDTH, _WIDE = 460, 760  # the page is as wide as its cells, and as what stands above them up to the latter
_SWATCH = 11

_STYLE = (
    "@media (prefers-color-scheme: dark) {"
    " .ptxgen-card { fill: #1A1E26; stroke: #3A414D }"
    " .ptxgen-text { fill: #E8EBF0 }"
    " .ptxgen-quiet { fill: #AEB6C2 }"
    " .ptxgen-rule { stroke: #6B7480 } }"
)
_CARD = 'class="ptxgen-card" fill="#FFFFFF" stroke="#D5DAE1"'
_TEXT = 'class="ptxgen-text" fill="#14181F"'
_QUIET = 'class="ptxgen-quiet" fill="#57606C"'
_RULE = 'class="ptxgen-rule" stroke="#8A94A1" stroke-dasharray="2 3"'
_FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def written(sheet: Sheet) -> str:
    """The picture."""
    return _Page(sheet).text()


class _Page:
    """Where everything stands, in pixels from the upper left corner."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.marks = max(len(cell.marks) for row in sheet.cells for cell in row)
        self.mark_lines = max(len(self._lines(mark)) for row in sheet.cells for cell in row for mark in cell.marks)
        self.more = any(cell.more for row in sheet.cells for cell in row)
        self.mark_height = self.mark_lines * _LINE + 7
        self.cell_height = self.marks * self.mark_height + (_LINE if self.more else 0)
        letters = max(len(line) for row in sheet.cells for cell in row for mark in cell.marks for line in self._lines(mark))
        letters = max(letters, *(len(band.inner) for band in sheet.columns))
        self.cell_width = max(26, ceil(letters * _LETTER) + 8, self._below_outer())
        self._place()

    def _below_outer(self) -> int:
        """How wide cells must be for the outer coordinates above them to have room."""
        heads = [at for at, band in enumerate(self.sheet.columns) if band.outer] + [len(self.sheet.columns)]
        return max((ceil(len(self.sheet.columns[at].outer) * _LETTER / (end - at)) for at, end in pairwise(heads)), default=0)

    def _lines(self, mark: Mark) -> tuple[str, ...]:
        """What stands in a cell for one place: a line of it where there are several places."""
        return mark.lines if self.marks == 1 else (" ".join(mark.lines),)

    def _place(self) -> None:
        sheet = self.sheet
        outer, inner = (max(len(getattr(band, part)) for band in sheet.rows) for part in ("outer", "inner"))
        labels = ceil(outer * _LETTER) + (12 if outer else 0) + ceil(inner * _LETTER)
        down = ceil((len(sheet.down) + 2) * _LETTER) if sheet.down else 0
        self.left = _MARGIN + max(labels, down) + (8 if labels or down else 0)
        self.inner_right = self.left - 8
        self.outer_right = self.inner_right - ceil(inner * _LETTER) - 12
        self.x = _positions(sheet.columns, self.left, self.cell_width)
        self.right = self.x[-1] + self.cell_width
        bold = _LETTER * _TITLE / _SIZE
        words = ceil(max(len(sheet.title) * bold, len(sheet.layout) * _LETTER))
        self.width = max(_LEAST_WIDTH, self.right + _MARGIN, min(words + 2 * _MARGIN, _WIDE))
        letters = int((self.width - 2 * _MARGIN) / _LETTER)
        self.titles = _wrapped(sheet.title, int((self.width - 2 * _MARGIN) / bold)) if sheet.title else []
        self.head = _wrapped(sheet.layout, letters)
        self.foot = [line for note in (*sheet.legend.notes, *sheet.notes) for line in _wrapped(note, letters)]
        top = _MARGIN + len(self.titles) * 18 + len(self.head) * 15
        self.caption = top + 14  # the line that names the axes
        self.outer_line = self.caption + (15 if any(band.outer for band in sheet.columns) else 0)
        self.inner_line = self.outer_line + (15 if sheet.columns[0].inner else 0)
        self.top = self.inner_line + 7
        self.y = _positions(sheet.rows, self.top, self.cell_height)
        self.bottom = self.y[-1] + self.cell_height

    def text(self) -> str:
        legend, end = self._legend()
        height = end + len(self.foot) * 15 + _MARGIN - 4
        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{height}" '
            f'viewBox="0 0 {self.width} {height}" font-family="{_FONT}" font-size="{_SIZE}" role="img">',
            f"<title>{escape(self.sheet.title or self.sheet.layout)}</title>",
            f"<style>{_STYLE}</style>",
            f'<rect {_CARD} x="0.5" y="0.5" width="{self.width - 1}" height="{height - 1}" rx="8"/>',
            *self._heading(),
            *self._column_labels(),
            *self._row_labels(),
            *self._rules(),
            f'<g text-anchor="middle" fill="{INK}">',
            *self._cells(),
            "</g>",
            *legend,
            *(_text(_MARGIN, end + 11 + 15 * at, line, _QUIET) for at, line in enumerate(self.foot)),
            "</svg>",
        ]
        return "\n".join(lines) + "\n"

    def _heading(self) -> Iterator[str]:
        y = _MARGIN + 10
        for line in self.titles:
            yield _text(_MARGIN, y, line, f'{_TEXT} font-size="{_TITLE}" font-weight="600"')
            y += 18
        for line in self.head:
            yield _text(_MARGIN, y, line, _QUIET)
            y += 15

    def _column_labels(self) -> Iterator[str]:
        if self.sheet.across:
            yield _text(self.left, self.caption, f"{self.sheet.across} →", _TEXT)
        for band, x in zip(self.sheet.columns, self.x):
            if band.outer:
                yield _text(x, self.outer_line, band.outer, f'{_TEXT} font-weight="600"')
        yield f'<g {_QUIET} text-anchor="middle">'
        for band, x in zip(self.sheet.columns, self.x):
            if band.inner:
                yield _text(_middle(x, self.cell_width), self.inner_line, band.inner)
            if band.omitted:
                yield _text(x - _OMITTED // 2, self.inner_line, "…")
        yield "</g>"

    def _row_labels(self) -> Iterator[str]:
        if self.sheet.down:
            yield _text(self.inner_right, self.inner_line, f"{self.sheet.down} ↓", f'{_TEXT} text-anchor="end"')
        for band, y in zip(self.sheet.rows, self.y):
            if band.outer:
                yield _text(self.outer_right, y + self.cell_height // 2 + 4, band.outer, f'{_TEXT} font-weight="600" text-anchor="end"')
        yield f'<g {_QUIET} text-anchor="end">'
        for band, y in zip(self.sheet.rows, self.y):
            if band.inner:
                yield _text(self.inner_right, y + self.cell_height // 2 + 4, band.inner)
            if band.omitted:
                yield _text(self.inner_right, y - _OMITTED // 2 + 4, "…")
        yield "</g>"

    def _rules(self) -> Iterator[str]:
        """Dashed lines where rows and columns are left out."""
        for band, x in zip(self.sheet.columns, self.x):
            if band.omitted:
                at = x - _OMITTED // 2
                yield f'<line {_RULE} x1="{at}" x2="{at}" y1="{self.top}" y2="{self.bottom}"/>'
        for band, y in zip(self.sheet.rows, self.y):
            if band.omitted:
                at = y - _OMITTED // 2
                yield f'<line {_RULE} x1="{self.left}" x2="{self.right}" y1="{at}" y2="{at}"/>'

    def _cells(self) -> Iterator[str]:
        for cells, y in zip(self.sheet.cells, self.y):
            for cell, x in zip(cells, self.x):
                yield self._cell(cell, x, y)

    def _cell(self, cell: Cell, x: int, y: int) -> str:
        more = f" and {cell.more} more" if cell.more else ""
        sentence = f"{cell.at}: {', '.join(mark.sentence for mark in cell.marks)}{more}"
        parts = [f"<g><title>{escape(sentence)}</title>"]
        middle = _middle(x, self.cell_width)
        share = (self.cell_height - 1 - (_LINE if self.more else 0)) // len(cell.marks)
        for place, mark in enumerate(cell.marks):
            top = y + place * share
            parts.append(f'<rect x="{x}" y="{top}" width="{self.cell_width - 1}" height="{share}" fill="{mark.colour}"/>')
            words = self._lines(mark)
            base = top + (share - len(words) * _LINE) // 2 + _LINE - 3
            for line, text in enumerate(words):
                parts.append(_text(middle, base + line * _LINE, text))
        if cell.more:
            parts.append(_text(middle, y + self.cell_height - 4, f"+{cell.more}", _QUIET))
        return "".join((*parts, "</g>"))

    def _legend(self) -> tuple[list[str], int]:
        """The swatches, in as many lines as they need, and where the page goes on."""
        lines = []
        x, y = _MARGIN, self.bottom + 14
        for colours, text in self.sheet.legend.swatches:
            width = len(colours) * _SWATCH + 5 + ceil(len(text) * _LETTER) + 16
            if x + width - 16 > self.width - _MARGIN and x > _MARGIN:
                x, y = _MARGIN, y + 18
            for at, colour in enumerate(colours):
                lines.append(f'<rect x="{x + at * _SWATCH}" y="{y}" width="{_SWATCH}" height="{_SWATCH}" fill="{colour}"/>')
            lines.append(_text(x + len(colours) * _SWATCH + 5, y + 9, text, _TEXT))
            x += width
        return lines, y + (20 if lines else 0)


def _positions(bands: Sequence[Band], start: int, size: int) -> list[int]:
    """Where each band begins."""
    found, at = [], start
    for band in bands:
        at += _OMITTED if band.omitted else _GAPS[band.gap]
        found.append(at)
        at += size
    return found


def _middle(x: int, width: int) -> str:
    """The middle of a cell, whose last pixel is the space to the next one."""
    return f"{x + (width - 1) / 2:g}"


def _text(x: int | str, y: int, text: str, attributes: str = "") -> str:
    return f'<text x="{x}" y="{y}"{" " + attributes if attributes else ""}>{escape(text, quote=False)}</text>'


def _wrapped(text: str, letters: int) -> list[str]:
    """Lines of at most so many letters, broken behind blanks where there are any, else before a point or anywhere."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > letters:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
        while len(lines[-1]) > letters:
            cut = lines[-1].rfind(".", 1, letters + 1)
            cut = cut if cut > 0 else letters
            lines[-1:] = [lines[-1][:cut], lines[-1][cut:]]
    return lines
