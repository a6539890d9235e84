"""Pictures of layouts: as SVG, in a notebook, and as a coloured table in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ptxgen.layouts.arguments import NAMES, TEXT, takes
from ptxgen.layouts.errors import LayoutError
from ptxgen.layouts.pictures.page import written
from ptxgen.layouts.pictures.sayings import WAYS
from ptxgen.layouts.pictures.sheet import Look, Sheet, arrange

if TYPE_CHECKING:
    from rich.console import Group

    from ptxgen.layouts.layout import Layout

__all__ = ["LIMIT", "WAYS", "repr_svg", "svg", "terminal"]

LIMIT = 32
"""Rows and columns of cells that are drawn where nothing else is asked for."""


@takes(names=NAMES, title=TEXT)
def svg(
    layout: Layout,
    by: str | None = None,
    *,
    bits: int | None = None,
    container: int | None = None,
    rows: int | None = None,
    names: Sequence[str] | None = None,
    title: str = "",
    limit: int = LIMIT,
) -> str:
    """See `Layout.svg`."""
    return written(arrange(layout, Look(by, bits, container, rows, names, title), (limit, limit)))


def repr_svg(layout: Layout) -> str | None:
    """The picture that a notebook shows of a layout, or None for one of which there is none, and whose text is shown then."""
    try:
        return svg(layout)
    except LayoutError:
        return None


@takes(names=NAMES, title=TEXT)
def terminal(
    layout: Layout,
    by: str | None = None,
    *,
    bits: int | None = None,
    container: int | None = None,
    rows: int | None = None,
    names: Sequence[str] | None = None,
    title: str = "",
    limit: int = LIMIT,
    width: int | None = None,
) -> Group:
    """The picture as a coloured table for `rich`.

    Parameters
    ----------
    width
        Letters in a line of the terminal, into which the table is to fit: columns are left out as in SVG where it would not.
    """
    from ptxgen.layouts.pictures.table import fitted

    look = Look(by, bits, container, rows, names, title)

    def sheet(columns: int) -> Sheet:
        return arrange(layout, look, (limit, columns))

    return fitted(sheet, limit, width)
