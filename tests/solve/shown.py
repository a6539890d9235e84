"""Messages as tests compare them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ptxgen.errors import PtxgenError


def shown(error: type[PtxgenError], call: Callable[[], Any]) -> str:
    """What a call is refused with."""
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    return str(caught.value)
