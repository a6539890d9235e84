"""Wrong programs and the messages that refuse them.

A program is a kernel, or a function without parameters; it must be refused while it is traced (or its arguments are bound), so nothing is
assembled, launched or emulated. The expected message is written in full, but for three tokens: ``<here>`` is the file and line of the one
line that carries the comment ``# <- here`` in the test, ``<source>`` that line's text, and ``<there>`` is ``<here>`` for ``# <- there``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from ptxgen.errors import InstructionError, PtxgenError, TraceError
from ptxgen.kernels.kernel import Kernel
from ptxgen.tracing.builder import active

MARK = "# <- "


def refused(error: type[PtxgenError], program: Kernel | Callable[[], Any], expected: str) -> None:
    """Assert that `program` is refused with exactly this class of error and this message, and that no trace is left open."""
    run = program.specialize if isinstance(program, Kernel) else program
    with pytest.raises(PtxgenError) as caught:
        run()
    frame = inspect.currentframe()
    assert frame is not None and frame.f_back is not None
    assert str(caught.value) == filled(expected.strip("\n"), frame.f_back)
    assert type(caught.value) is error
    if isinstance(caught.value, InstructionError):
        assert caught.value.rule and caught.value.legal
    if isinstance(caught.value, TraceError):
        assert caught.value.legal
    assert active() is None


def filled(expected: str, caller: FrameType) -> str:
    """The expected message with the places and texts of marked lines."""
    lines, first = inspect.getsourcelines(caller.f_code)
    for name in ("here", "there"):
        if f"<{name}>" not in expected:
            continue
        marked = [(number, line) for number, line in enumerate(lines, first) if MARK + name in line]
        assert len(marked) == 1, f"{len(marked)} lines are marked {MARK}{name}"
        number, line = marked[0]
        expected = expected.replace(f"<{name}>", f"{Path(caller.f_code.co_filename).name}:{number}")
        if name == "here":
            expected = expected.replace("<source>", line.strip())
    return expected
