"""One kernel three ways: what NumPy says, what the emulator computes, and what the GPU computes."""

from __future__ import annotations

import traceback
from typing import Any

import numpy as np

from ptxgen.errors import PtxgenError
from tests.random_kernels.case import Case
from tests.random_kernels.drawing import Drawn


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
        arguments, wrong = emulated(case, drawn.seed)
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
    return f"{wrong}; the GPU {'agrees' if disagrees(case, found) is None else 'too disagrees'} with NumPy"


def emulated(case: Case, seed: int) -> tuple[tuple[Any, ...], str | None]:
    """The arguments after a run in the emulator with all its checks, and what differs from NumPy or was reported."""
    arguments = copies(case.arguments)
    result = case.kernel.emulate(*arguments, seed=seed)
    if not result.ok:
        return arguments, "reported: " + "; ".join(str(report) for report in result.reports[:3])
    return arguments, disagrees(case, arguments)


def disagrees(case: Case, arguments: tuple[Any, ...]) -> str | None:
    """The first argument that does not hold what NumPy says: what it was, where nothing is said."""
    for place, (found, before) in enumerate(zip(arguments, case.arguments)):
        if isinstance(before, np.ndarray) and (wrong := difference(found, case.wanted.get(place, before), "NumPy")) is not None:
            return f"argument {place}: {wrong}"
    return None


def copies(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with arrays of their own, C-contiguous and aligned as an allocation is."""
    return tuple(_aligned(one) if isinstance(one, np.ndarray) else one for one in arguments)


def _aligned(array: np.ndarray, to: int = 256) -> np.ndarray:
    room = np.empty(array.nbytes + to, np.uint8)
    start = -room.ctypes.data % to
    found = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def difference(found: np.ndarray, wanted: np.ndarray, of: str, *, exact: bool = False) -> str | None:
    """Where two arrays differ, in value or, if `exact`, in bits."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype}{list(found.shape)}, {of} has {wanted.dtype}{list(wanted.shape)}"
    if exact:
        found, wanted = (np.ascontiguousarray(one).view(f"u{one.dtype.itemsize}") for one in (found, wanted))
    places = np.argwhere(found != wanted)
    if not len(places):
        return None
    first = tuple(int(one) for one in places[0])
    return f"{len(places)} of {found.size} elements differ, the first at {first}: {found[first]}, {of} says {wanted[first]}"


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
