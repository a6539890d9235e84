"""One kernel three ways: what NumPy says, what the emulator computes, and what the GPU computes."""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np

from ptxgen.errors import PtxgenError
from ptxgen.testing.families.case import Case, difference
from ptxgen.testing.families.drawing import Drawn


def disagreement(drawn: Drawn, gpu: bool = False) -> str | None:
    """Everything that is wrong with a kernel: refused, reported, another result than NumPy's, other bits on the GPU. None if all agree."""
    try:
        case = drawn.build()
        case.kernel.ptx()
    except PtxgenError as error:
        return f"refused: {error}"
    except Exception:
        return f"an error of Python's while it is traced: {traceback.format_exc(limit=-4)}"
    try:
        arguments, wrong = case.emulated(drawn.seed)
    except Exception:
        return f"an error of the emulator: {traceback.format_exc(limit=-4)}"
    if not gpu:
        return wrong
    try:
        found = on_gpu(case)
    except Exception as error:
        return f"{wrong or 'the emulator agrees with NumPy'}; on the GPU: {type(error).__name__}: {error}"
    same = [
        f"argument {place}: the GPU's {other}"
        for place, (here, there) in enumerate(zip(arguments, found))
        if isinstance(here, np.ndarray) and (other := difference(there, here, "the emulator", exact=True)) is not None
    ]
    if wrong is None:
        return "; ".join(same) or None
    return f"{wrong}; the GPU {'agrees' if case.disagrees(found) is None else 'too disagrees'} with NumPy"


def on_gpu(case: Case) -> tuple[Any, ...]:
    """The arguments after a run on the GPU."""
    import torch

    def there(array: np.ndarray) -> Any:
        raw = torch.from_numpy(np.ascontiguousarray(array).reshape(-1).view(np.uint8).copy()).cuda()
        return raw.view(getattr(torch, array.dtype.name)).reshape(array.shape)

    moved = [there(one) if isinstance(one, np.ndarray) else one for one in case.arguments]
    case.kernel(*moved)
    torch.cuda.synchronize()
    found: list[Any] = []
    for one, before in zip(moved, case.arguments):
        if not isinstance(before, np.ndarray):
            found.append(one)
            continue
        raw = one.reshape(-1).view(torch.uint8).cpu().numpy()
        found.append(raw.view(before.dtype).reshape(before.shape))
    return tuple(found)
